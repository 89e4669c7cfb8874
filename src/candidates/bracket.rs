//! A deep nucleus: thousands of tokens, found without sorting them.
//!
//! A sample of the scores tells between which two the mass is likely reached (as in selection by Floyd and Rivest, with
//! weights). One pass sums all weights and those above that bracket, and takes out the scores inside, some hundredths of
//! the row, where the same is done again, until little is left to sort. If the cut is not inside after all, a wider bracket is
//! tried, and then the caller's other ways.

use super::cuts::{MET, descending};
use super::edge::{Edge, fill_keys, halved, repeated};
use super::floor::Floor;
use super::mass::{Precision, Total, join};
use super::nucleus::Heavy;
use super::sample::{Aim, CONFIDENCE, SAMPLE, Sample, Target};
use super::{BLOCK, Candidates, LANES, Scratch, grow, scores};
use crate::kernels::{Base, Block, Bracket, Kernels, Part};

/// Scores of a sample of what is inside a bracket: there weights hardly vary.
pub(super) const INNER: usize = SAMPLE / 8;

/// What is left inside a bracket is selected from if it is no more than this.
const LAST: usize = 512;

/// A prefix in order of score: all above `threshold`, and the first `ties` that equal it, but not the `surplus` of others.
struct Prefix {
    threshold: f32,
    ties: usize,
    surplus: usize,
    edge: Edge,
    /// The mass above the bracket.
    above: f64,
}

/// What is left inside a bracket.
struct Left {
    count: usize,
    /// Whether these are too many to be selected from, and all the same.
    are_equal: bool,
    /// The mass of all that is better.
    better: f64,
}

impl Prefix {
    /// By how much `share · total - edge.before` may be wrong: what is better inside was summed once more, with an error of its
    /// own.
    fn doubt(&self, share: f64, total: Total) -> f64 {
        total.doubt(share, self.above) + total.doubt(0.0, self.edge.before - self.above)
    }
}

impl Candidates<'_> {
    /// Cuts a row in which what is `heavy` is not enough. Returns `false`, and changes only the total, if a sample misled.
    pub(super) fn keep_flat(&mut self, p: f64, min_keep: usize, heavy: Heavy) -> bool {
        // A second pass is much cheaper than all else that finds the cut.
        [CONFIDENCE, 4.0 * CONFIDENCE].into_iter().any(|confidence| self.keep_sampled(p, min_keep, heavy, confidence))
    }

    /// The same, by a bracket that allows for so many standard errors of a sample.
    fn keep_sampled(&mut self, p: f64, min_keep: usize, heavy: Heavy, confidence: f64) -> bool {
        let Heavy { bound, mass: heavy, .. } = heavy;
        let target = Target::Nucleus { p, heavy };
        let base = Base::new(self.temperature);
        // The largest that is sampled: from it on octaves are told apart.
        let mut largest = [0.0];
        self.kernels.weights(&[bound.min(self.max)], base, self.max, &mut largest);
        let [largest] = largest;
        let row = scores(self.input, self.store, self.view);
        let sample = Sample { kernels: self.kernels, base, max: self.max, floats: &mut self.scratch.floats };
        let aim = Aim { target, range: [largest, 0.0], confidence };
        let bracket = sample.bracket(row, bound, SAMPLE, aim);
        bracket.is_some_and(|bracket| self.keep_bracketed(bracket, p, min_keep))
    }

    /// The same, by a bracket.
    fn keep_bracketed(&mut self, bracket: Bracket, p: f64, min_keep: usize) -> bool {
        let mut total = self.read(bracket, Precision::Rough);
        let Some(mut prefix) = self.prefix_inside(bracket, total, p) else { return false };
        if prefix.edge.in_doubt(p * total.sum * MET, prefix.doubt(p * MET, total)) {
            total = self.read(bracket, Precision::Exact);
            let Some(exact) = self.prefix_inside(bracket, total, p) else { return false };
            prefix = exact;
        }
        self.keep_prefix_inside(&prefix, total, min_keep);
        true
    }

    /// One pass by a bracket, with sums of this precision: exact or rough.
    fn read(&mut self, bracket: Bracket, precision: Precision) -> Total {
        let base = Base::new(self.temperature);
        let row = scores(self.input, self.store, self.view);
        let Scratch { blocks, parts, values, .. } = &mut *self.scratch;
        parts.resize(blocks.len(), Part::default());
        grow(values, row.len() + LANES);
        let read = if precision == Precision::Exact { Kernels::bracket_exact } else { Kernels::bracket };
        read(self.kernels, row, base, bracket, blocks, parts, values);
        let total = join(self.kernels, base, self.max, blocks, precision);
        self.total = Some(total);
        total
    }

    /// The prefix of mass `p`, if the bracket holds its last score.
    fn prefix_inside(&mut self, bracket: Bracket, total: Total, p: f64) -> Option<Prefix> {
        let base = Base::new(self.temperature);
        let needed = p * total.sum * MET;
        let Left { count, are_equal, better } = self.narrow(bracket, needed, total.precision)?;
        let Scratch { parts, floats, shifted, keys, .. } = &mut *self.scratch;
        let (above, left) = (above(parts), &shifted[..count]);
        if are_equal {
            let (threshold, mut weight) = (left[0], [0.0]);
            self.kernels.weights(&[threshold], base, self.max, &mut weight);
            let edge = repeated(weight[0], count, better, needed)?;
            let (ties, surplus) = (edge.rank, count - edge.rank);
            return Some(Prefix { threshold, ties, surplus, edge, above });
        }
        grow(floats, count);
        self.kernels.weights(left, base, self.max, &mut floats[..count]);
        fill_keys(keys, left, &floats[..count]);
        let edge = halved(keys, better, needed)?;
        let (inside, others) = keys.split_at(edge.rank);
        let last = inside.iter().max()? >> 32;
        let equal = |keys: &[u64]| keys.iter().filter(|&&key| key >> 32 == last).count();
        let threshold = *left.iter().find(|&&x| u64::from(descending(x)) == last)?;
        Some(Prefix { threshold, ties: equal(inside), surplus: equal(others), edge, above })
    }

    /// Narrows a bracket until few are inside, or all of those are equal, or most of them do not part. Leaves them in
    /// `shifted`. `None` if what is `needed` is not reached inside.
    fn narrow(&mut self, mut bracket: Bracket, needed: f64, precision: Precision) -> Option<Left> {
        let base = Base::new(self.temperature);
        let Scratch { parts, inner, inner_parts, values, floats, shifted, narrowed, .. } = &mut *self.scratch;
        let mut better = above(parts);
        let mut left = &values[..count(parts)];
        // These two change places.
        for buffer in [&mut *shifted, &mut *narrowed] {
            grow(buffer, left.len() + LANES);
        }
        let are_many_equal = |left: &[f32]| left.len() > LAST && are_equal(self.kernels, left);
        let mut are_equal = are_many_equal(left);
        if are_equal || left.len() <= LAST {
            shifted[..left.len()].copy_from_slice(left);
        }
        while better < needed && !are_equal && left.len() > LAST {
            let sample = Sample { kernels: self.kernels, base, max: self.max, floats };
            let mut range = [0.0; 2];
            self.kernels.weights(&[bracket.high.min(self.max), bracket.low], base, self.max, &mut range);
            let aim = Aim { target: Target::Mass(needed - better), range, confidence: CONFIDENCE };
            bracket = sample.bracket(left.into(), f32::INFINITY, INNER, aim)?;
            inner.resize(left.len().div_ceil(BLOCK), Block::default());
            inner_parts.resize(inner.len(), Part::default());
            let read = if precision == Precision::Exact { Kernels::bracket_exact } else { Kernels::bracket };
            read(self.kernels, left, base, bracket, inner, inner_parts, narrowed);
            better += above(inner_parts);
            let (before, narrower) = (left.len(), count(inner_parts));
            std::mem::swap(shifted, narrowed);
            left = &shifted[..narrower];
            are_equal = are_many_equal(left);
            // Equal scores stay together, however narrow the bracket is.
            if narrower > before / 2 {
                break;
            }
        }
        (better < needed).then_some(Left { count: left.len(), are_equal, better })
    }

    /// Notes a cut that is inside the bracket: the blocks' sums are those above the bracket and what is left inside.
    fn keep_prefix_inside(&mut self, prefix: &Prefix, total: Total, min_keep: usize) {
        let &Prefix { threshold, ties, surplus, .. } = prefix;
        if min_keep > 1 {
            let scores = scores(self.input, self.store, self.view);
            if self.kernels.count(scores, threshold) - surplus < min_keep {
                return self.keep_best(min_keep);
            }
        }
        self.floor = Floor::with_ties(threshold);
        if surplus > 0 {
            self.floor.end = self.end_of_ties(threshold, ties);
            self.drop_ties_inside();
        }
        let base = Base::new(self.temperature);
        let Scratch { blocks, parts, values, .. } = &mut *self.scratch;
        for (block, part) in blocks.iter_mut().zip(&*parts) {
            block.sum = part.above;
        }
        self.kernels.add_inside(&*values, base, self.max, threshold, parts, blocks);
        let sum = blocks.iter().map(|block| block.sum).sum();
        self.total = Some(Total { sum, ..total });
    }

    /// Makes those scores inside the bracket impossible that equal the floor and are gone.
    fn drop_ties_inside(&mut self) {
        let Floor { score, end } = self.floor;
        let row = scores(self.input, self.store, self.view);
        let Scratch { parts, values, .. } = &mut *self.scratch;
        // The block with the last tie that stays.
        let block = (end - 1) / BLOCK;
        let stay = row.slice(block * BLOCK..end).iter().filter(|&x| x == score).count();
        let start = block.checked_sub(1).map_or(0, |before| parts[before].end as usize);
        let inside = &mut values[start..count(parts)];
        let last = inside.iter().enumerate().filter(|&(_, &x)| x == score).nth(stay - 1);
        let behind = last.map_or(inside.len(), |(at, _)| at + 1);
        for x in &mut inside[behind..] {
            *x = if *x == score { f32::NEG_INFINITY } else { *x };
        }
    }
}

/// Whether all scores, of which there is one, are the same: then no bracket is narrower.
pub(super) fn are_equal(kernels: &Kernels, scores: &[f32]) -> bool {
    let first = scores[0];
    scores.last() == Some(&first)
        && kernels.count(scores, first) == scores.len()
        && kernels.count(scores, first.next_up()) == 0
}

fn above(parts: &[Part]) -> f64 {
    parts.iter().map(|part| part.above).sum()
}

/// How many scores are inside.
fn count(parts: &[Part]) -> usize {
    parts.last().map_or(0, |part| part.end as usize)
}

#[cfg(test)]
mod tests {
    use super::super::sample::take;
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::{ROUGH, available};

    /// Twenty scores far above a bell of others, in which the cut is: what those weigh differs by octaves that nothing is left of
    /// beside the best one.
    #[test]
    fn a_tail_under_a_few_peaks_is_told_apart() {
        let peak = |at: u16| if at % 3_001 == 17 { 16.0 - 0.5 * f32::from(at / 3_001) } else { f32::NEG_INFINITY };
        // The mean of twelve uniform numbers is as good as normal.
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            f32::from(u16::try_from(state >> 48).expect("16 bits")) / 65_536.0
        };
        let row: Vec<f32> = (0..60_000).map(|at| peak(at).max((0..12).map(|_| uniform()).sum::<f32>() - 6.0)).collect();
        for kernels in available() {
            with_workspace(|workspace| {
                let mut candidates =
                    Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                let heavy = candidates.heaviest(64);
                assert!(candidates.keep_flat(0.9995, 1, heavy));
                let inside = count(&candidates.scratch.parts);
                assert!(inside < row.len() / 10, "{inside} inside");
            });
        }
    }

    /// A row that is not as its sample says: of that every eighth score is lifted if it is low, which makes some six standard
    /// errors.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places, which came as scores")]
    fn a_wider_bracket_holds_what_a_narrow_one_misses() {
        let places: Vec<f32> = (0..60_000_u16).map(f32::from).collect();
        let uniform = |at: u32| f32::from(u16::try_from(at * 40_503 % 8_191).unwrap()) / 8_191.0;
        for kernels in available() {
            let mut sample = vec![0.0; SAMPLE];
            take(kernels, (&places).into(), &mut sample);
            let mut row: Vec<f32> = (0..60_000).map(uniform).collect();
            for at in sample.iter().step_by(8) {
                let score = &mut row[*at as usize];
                *score += if *score < 0.5 { 0.5 } else { 0.0 };
            }
            let keeps = |keep: fn(&mut Candidates<'_>) -> bool| {
                with_workspace(|workspace| {
                    keep(&mut Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores"))
                })
            };
            assert!(!keeps(|candidates| candidates.keep_sampled(0.5, 1, Heavy::NONE, CONFIDENCE)));
            assert!(keeps(|candidates| candidates.keep_flat(0.5, 1, Heavy::NONE)));
        }
    }

    /// Whichever way the sums err of what is above the bracket, of what is better inside, as it is summed with all and once
    /// more, and of all others.
    #[test]
    fn doubt_is_the_worst_that_two_sums_can_do() {
        let total = Total { sum: 1.0, largest: 1.0, shift: None, precision: Precision::Rough, exponent: 0 };
        for (share, above, better) in [(0.5, 0.0, 0.5), (0.5, 0.2, 0.3), (0.9, 0.9, 0.0), (0.9, 0.1, 0.8)] {
            let edge = Edge { rank: 1, before: above + better, mass: 1.0 };
            let doubt = Prefix { threshold: 0.0, ties: 1, surplus: 0, edge, above }.doubt(share, total);
            let error = |mass: f64, up: bool| if up { ROUGH * mass } else { -ROUGH * mass };
            let wrong = (0..16).map(|signs| {
                let up = [1, 2, 4, 8].map(|bit| signs & bit > 0);
                let [above, first, again, others] =
                    [(above, up[0]), (better, up[1]), (better, up[2]), (1.0 - above - better, up[3])]
                        .map(|(mass, up)| error(mass, up));
                (share * (above + first + others) - (above + again)).abs()
            });
            let wrong = wrong.fold(0.0, f64::max);
            assert!(wrong <= doubt && doubt <= wrong + 2.01 * total.rounding(), "{wrong} for {doubt}");
        }
    }

    /// However steep: a sample is spread over all of the row, so its order is none of those that mislead it.
    #[test]
    fn a_sorted_row_does_not_mislead_a_sample() {
        let length = 60_000_u16;
        for steep in [0.5, 4.0, 12.0] {
            let score = |at: u16| steep * f32::from(at) / f32::from(length);
            let rows: [Vec<f32>; 3] = [
                (0..length).map(score).collect(),
                (0..length).rev().map(score).collect(),
                (0..length).map(|at| score(at.min(length - 1 - at))).collect(),
            ];
            for (row, p) in rows.iter().flat_map(|row| [0.1, 0.5, 0.9, 0.999].map(|p| (row, p))) {
                for kernels in available() {
                    with_workspace(|workspace| {
                        let mut candidates =
                            Candidates::new(kernels, row.into(), workspace, Sums::None).expect("good scores");
                        assert!(candidates.keep_flat(p, 1, Heavy::NONE), "{p} of a row as steep as {steep}");
                    });
                }
            }
        }
    }
}
