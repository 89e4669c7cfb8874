//! Cuts: the best `k`, and all above a threshold.
//!
//! # The k-th largest score
//!
//! A bound of it (see `bound`) brings out little more than `k` scores, among which it is selected. Where the bound is likely the
//! k-th score itself, what is above is counted, and of those that equal it the first stay, without being moved.
//!
//! If `k` is a good part of the row, no maxima help: see `deep`.
//!
//! A limit that is met within float32 rounding (2^-20, relative) counts as met.

use super::bound::NEAR;
use super::floor::Floor;
use super::{BLOCK, Candidates, LANES, Scratch, View, grow};
use crate::kernels::WORD;

/// A limit counts as met when this part of it is.
pub(crate) const MET: f64 = 1.0 - 1.0 / 1_048_576.0;

/// The k-th largest score.
pub(super) struct Kth {
    pub(super) score: f32,
    /// How many of those that equal it belong to the `k` best, and whether there are more.
    pub(super) inside: usize,
    pub(super) more: bool,
}

impl Candidates<'_> {
    /// Keeps the `k` best, of equals the lower ids. `k` is at least 1.
    pub(crate) fn keep_best(&mut self, k: usize) {
        if k == 1 && self.places() > 1 {
            return self.keep_first();
        }
        if let Some(Kth { score, inside, more }) = self.kth(k) {
            self.keep_down_to(score, inside, more);
        }
    }

    /// Keeps the best one, of equals the lowest.
    fn keep_first(&mut self) {
        self.carry_out_cut();
        let found = if self.view == View::Edited {
            self.first_of_edited()
        } else {
            let start = BLOCK * self.block_of_max();
            let scores = self.scores();
            let place = start + self.kernels.position(scores.slice(start..scores.len()), self.max).unwrap_or(0);
            (place, scores.get(place).unwrap_or(self.max))
        };
        grow(&mut self.store.ids, 1);
        grow(&mut self.store.scores, 1);
        (self.store.ids[0], self.store.scores[0]) = (self.id(found.0), found.1);
        self.view = View::List(1);
        self.floor = Floor::NONE;
        self.total = None;
        self.scratch.blocks.truncate(1);
        self.scratch.blocks[0].max = self.max;
        self.refresh();
    }

    /// The first place of an edited row that has the best score, and that score.
    fn first_of_edited(&mut self) -> (usize, f32) {
        let (at, max) = (self.block_of_max(), self.max);
        let start = BLOCK * at;
        let row = self.input.slice(start..self.input.len().min(start + BLOCK));
        let Scratch { blocks, values, indices, edits, .. } = &mut *self.scratch;
        grow(values, BLOCK + LANES);
        grow(indices, BLOCK + LANES);
        let except = &edits.words()[start / WORD..];
        let count = self.kernels.gather(row, &blocks[at..=at], max, except, values, indices);
        let first = indices[..count].first().map(|&place| (start + place as usize, values[0]));
        let changed = edits.list().iter().filter(|entry| entry.1 == max).map(|&(place, x)| (place as usize, x));
        changed.chain(first).min_by_key(|found| found.0).unwrap_or((start, max))
    }

    /// Keeps the `k` best and all that equal the last of them.
    pub(crate) fn keep_best_and_ties(&mut self, k: usize) {
        if let Some(Kth { score, .. }) = self.kth(k) {
            self.keep_at_least(score, 1);
        }
    }

    /// The k-th largest score, if there are more than `k`. Of others that are no candidates for it few are left after.
    fn kth(&mut self, k: usize) -> Option<Kth> {
        self.carry_out_cut();
        // Where the best stand side by side, a bound by parts of the row is a bad one; but it leaves a shorter row.
        let mut before = usize::MAX;
        while k < self.places() {
            if let Some(kth) = self.deep_kth(k) {
                return Some(kth);
            }
            if let View::List(count) = self.view
                && (count <= NEAR * k || count == before)
            {
                return Some(self.kth_of_list(k));
            }
            let bound = self.bound(k);
            if bound.ties > 0 {
                self.whole();
                let above = self.count_from(bound.score.next_up());
                if above < k {
                    // If there are not, looking for where they end does no harm.
                    return Some(Kth { score: bound.score, inside: k - above, more: true });
                }
            }
            let bound = self.raised(bound, k);
            before = self.places();
            let count = self.gather(bound.without_ties());
            self.adopt(count);
        }
        None
    }

    /// How many scores reach this one.
    pub(super) fn count_from(&self, score: f32) -> usize {
        let row = self.scores();
        let blocks = self.scratch.blocks.iter().zip((0..).step_by(BLOCK)).filter(|(block, _)| block.max >= score);
        let counts = blocks.map(|(_, start)| self.kernels.count(row.slice(start..row.len().min(start + BLOCK)), score));
        counts.sum()
    }

    /// The number of the first block that has the best score.
    pub(super) fn block_of_max(&self) -> usize {
        self.scratch.blocks.iter().position(|block| block.max == self.max).unwrap_or(0)
    }

    /// Keeps the scores of at least `threshold`, but no fewer than the `min_keep` best.
    pub(crate) fn keep_at_least(&mut self, threshold: f32, min_keep: usize) {
        let threshold = threshold.min(self.max).max(f32::MIN);
        if min_keep == 1 && self.floor == Floor::with_ties(threshold) {
            // Already cut there, by the first read or by an equal cut; or nothing is below.
            return;
        }
        self.carry_out_cut();
        if min_keep > 1 {
            self.whole();
        }
        if min_keep > 1 && self.kernels.count(self.scores(), threshold) < min_keep {
            return self.keep_best(min_keep);
        }
        self.cut(Floor::with_ties(threshold));
    }

    /// The k-th largest score of the list.
    fn kth_of_list(&mut self, k: usize) -> Kth {
        let scores = &self.store.scores[..self.places()];
        let score = nth_largest_of(scores.iter().copied(), k, &mut self.scratch.floats);
        let [above, reaching] = [score.next_up(), score].map(|x| self.kernels.count(scores, x));
        Kth { score, inside: k - above, more: reaching > k }
    }

    /// The `k` best tokens and their log-probabilities, best first; those that are impossible come last, by id.
    pub(crate) fn top(&mut self, k: usize) -> Vec<(u32, f64)> {
        if k == 0 {
            return Vec::new();
        }
        let length = self.places();
        let (max, log_sum) = (f64::from(self.max), self.total().log());
        let temperature = self.temperature;
        self.keep_best(k);
        let ranked = self.ranked();
        let logprob = |x: f32| (f64::from(x) - max) / temperature - log_sum;
        let mut top: Vec<_> = ranked.iter().map(|&(id, x)| (id, logprob(x))).collect();
        if top.len() < k.min(length) {
            let mut left: Vec<_> = ranked.iter().map(|&(id, _)| id).collect();
            left.sort_unstable();
            let impossible = (0..).filter(|id| left.binary_search(id).is_err());
            top.extend(impossible.take(k.min(length) - left.len()).map(|id| (id, f64::NEG_INFINITY)));
        }
        top
    }

    /// The candidates, best first, of equals the lower id: `(id, score)`.
    pub(crate) fn ranked(&mut self) -> Vec<(u32, f32)> {
        let mut ranked = self.list();
        ranked.sort_unstable_by_key(|&(id, x)| u64::from(descending(x)) << 32 | u64::from(id));
        ranked
    }
}

/// The k-th largest, selected in a buffer. That never becomes shorter: another use of it would then fill it up for nothing.
///
/// Selected as integers: comparing those takes no branch.
pub(super) fn nth_largest_of(xs: impl ExactSizeIterator<Item = f32>, k: usize, buffer: &mut Vec<f32>) -> f32 {
    let length = xs.len();
    grow(buffer, length);
    for (place, x) in buffer.iter_mut().zip(xs) {
        *place = f32::from_bits(descending(x));
    }
    let nth = buffer[..length].select_nth_unstable_by_key(k - 1, |x| x.to_bits()).1;
    ascending(nth.to_bits())
}

/// The score that [`descending`] made the integer of.
pub(super) fn ascending(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key } else { !key & !(1 << 31) })
}

/// An integer that ascends as `x` descends; -0 and +0 have the same.
pub(super) fn descending(x: f32) -> u32 {
    let bits = (x + 0.0).to_bits();
    if bits >> 31 == 1 { bits } else { !(bits | 1 << 31) }
}

/// The least finite score that reaches something which all above reach as well; +inf, if none does.
pub(super) fn least(reaches: impl Fn(f32) -> bool) -> f32 {
    let (mut yes, mut no) = (descending(f32::INFINITY), descending(f32::NEG_INFINITY));
    while no - yes > 1 {
        let middle = yes.midpoint(no);
        *(if reaches(ascending(middle)) { &mut yes } else { &mut no }) = middle;
    }
    ascending(yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::{Kernels, available};

    const LENGTH: u16 = 40_000;

    fn row(score: impl Fn(u16) -> f32) -> Vec<f32> {
        (0..LENGTH).map(score).collect()
    }

    /// The k-th largest score of a row, as sorting finds it, and what was left of the row when it was found.
    fn left_by_kth(row: &[f32], k: usize) -> Vec<View> {
        let mut sorted = row.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let last = sorted[k - 1];
        let inside = sorted[..k].iter().filter(|&&x| x == last).count();
        let expected = (last, inside, sorted.get(k) == Some(&last));
        let left = |kernels: &'static Kernels| {
            with_workspace(|workspace| {
                let mut candidates = Candidates::new(kernels, row.into(), workspace, Sums::None).expect("good scores");
                if let Some(Kth { score, inside, more }) = candidates.kth(k) {
                    assert_eq!(expected, (score, inside, more), "{k}");
                } else {
                    assert_eq!(expected.0, kernels.least(candidates.scores()), "the list has others than {k}");
                    assert_eq!(k, candidates.places());
                }
                candidates.view
            })
        };
        available().map(left).collect()
    }

    /// Whether nothing was moved, or not much more than the best `k`; to move a thousand takes no time.
    fn is_little(view: View, k: usize) -> bool {
        const QUARTER: usize = LENGTH as usize / 4;
        view == View::Input || matches!(view, View::List(count) if count <= (16 * k.max(64)).min(QUARTER))
    }

    /// Neither moved into a list nor selected among, wherever they stand; above them there may be others.
    #[test]
    fn equal_scores_are_counted() {
        let rows = [
            row(|_| 1.5),
            row(|at| if at == 30_000 { 9.0 } else { 1.5 }),
            row(|at| if at % 1_000 == 7 { 3.0 } else { -0.0 }),
            row(|at| if at < 900 { f32::from(at) } else { -2.0 }),
            row(|at| f32::from(at % 2)),
            row(|at| if at % 2 == 0 { f32::NEG_INFINITY } else { f32::MIN }),
        ];
        for row in &rows {
            for k in [2, 49, 50, 60, 200, 1_000, 6_000, 15_000, 19_999] {
                let left = left_by_kth(row, k);
                assert!(left.iter().all(|&view| is_little(view, k)), "{left:?} for {k}");
            }
        }
    }

    /// Of a sorted row the best stand side by side, in one part or a few, and not much more than they is left.
    #[test]
    fn the_best_may_stand_side_by_side() {
        let rows = [
            row(f32::from),
            row(|at| -f32::from(at)),
            row(|at| f32::from(at.min(LENGTH - 1 - at))),
            row(|at| f32::from(at / 3)),
            row(|at| if (20_000..20_600).contains(&at) { f32::from(at) } else { f32::from(at % 7) }),
        ];
        for row in &rows {
            for k in [2, 50, 100, 300, 1_000] {
                let left = left_by_kth(row, k);
                assert!(left.iter().all(|&view| is_little(view, k)), "{left:?} for {k}");
            }
        }
    }

    #[test]
    fn keys_ascend_as_scores_descend() {
        let xs = [f32::MAX, 1.0, f32::from_bits(1), 0.0, -f32::from_bits(1), -1.0, f32::MIN, f32::NEG_INFINITY];
        assert!(xs.map(descending).is_sorted());
        assert_eq!(descending(0.0), descending(-0.0));
    }

    #[test]
    fn the_least_score_that_reaches_something_is_found() {
        let tiny = f32::from_bits(1);
        for x in [f32::MAX, 1.0, tiny, 0.0, -tiny, -1.0, f32::MIN] {
            assert_eq!(x, least(|y| y >= x));
        }
        assert_eq!((f32::INFINITY, f32::MIN), (least(|_| false), least(|_| true)));
    }
}
