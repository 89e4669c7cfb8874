//! The steepest drop in the order of scores, found without sorting them.
//!
//! A drop counts by its rank: it is divided by how many scores are before it. So it is at most what is left of the range over
//! the rank, and the best few usually settle which is the steepest. Where the scores are spread evenly they do not. Then a
//! sample is sorted: between two neighbours of it no drop is longer than they are apart. Only where that might still be
//! steeper are the scores between the two taken out, and those that are before counted; in the end few are.

use super::bound::Bound;
use super::sample::{SAMPLE, take};
use super::{Candidates, Scratch, grow};

/// The best candidates that are sorted at once, and if those do not settle it.
const BEST: [usize; 2] = [32, 256];

/// Neighbours in the sample between which scores are taken out.
const LOOKS: usize = 16;

/// The steepest drop so far.
#[derive(Debug, Clone, Copy)]
struct Steepest {
    /// What a drop must exceed.
    slope: f64,
    /// How many scores are before it.
    rank: usize,
}

impl Steepest {
    /// Looks at the drops between scores, best first, of which the first is the last of `before`.
    fn look(&mut self, scores: &[f32], before: usize) {
        for (rank, pair) in (before..).zip(scores.windows(2)) {
            #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
            let over = rank as f64;
            let drop = f64::from(pair[0]) - f64::from(pair[1]);
            // Few are divided: rounding is not more than this.
            if drop > self.slope * over * (1.0 - f64::EPSILON) && drop / over > self.slope {
                *self = Self { slope: drop / over, rank };
            }
        }
    }

    /// Whether a drop from `high` to `low`, or a part of it, might be steeper, with at least so many scores before it.
    fn may_be_between(&self, high: f32, low: f32, before: usize) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
        let before = before as f64;
        (f64::from(high) - f64::from(low)) / before > self.slope
    }
}

impl Candidates<'_> {
    /// Keeps those before the steepest drop, the first of equals, but no fewer than `fewest`. Scores go down to `bottom`, and
    /// are not all equal.
    pub(crate) fn keep_before_steepest(&mut self, bottom: f32, fewest: usize) {
        self.carry_out();
        let mut steepest = Steepest { slope: 0.0, rank: 1 };
        let mut count = 0;
        for parts in BEST {
            let bound = self.bound_or_all(parts);
            count = self.rank_down_to(bound);
            steepest.look(&self.scratch.values[..count], 1);
            let known_to = self.scratch.values[count - 1];
            if !steepest.may_be_between(known_to, bottom, count) {
                return self.keep_of_ranked(count, steepest.rank.max(fewest));
            }
        }
        let known_to = self.scratch.values[count - 1];
        let steepest = self.steepest_behind(steepest, [known_to, bottom], count).unwrap_or_else(|| {
            let all = self.rank_down_to(Bound::NONE);
            steepest.look(&self.scratch.values[..all], 1);
            steepest
        });
        self.keep_best(steepest.rank.max(fewest));
    }

    /// The steepest drop, of which that is known down to `top`, which has at least so many `before` it and itself; `None` if a
    /// sample does not help.
    fn steepest_behind(&mut self, known: Steepest, [top, bottom]: [f32; 2], before: usize) -> Option<Steepest> {
        if self.places() < 2 * SAMPLE {
            return None;
        }
        let mut sample = std::mem::take(&mut self.scratch.floats);
        grow(&mut sample, SAMPLE);
        take(self.kernels, self.scores(), &mut sample[..SAMPLE]);
        self.scratch.radix.sort(&mut sample[..SAMPLE]);
        let (mut steepest, mut before, mut high) = (known, before, top);
        let mut looks = 0;
        for low in sample[..SAMPLE].iter().map(|x| x.max(bottom)).chain([bottom]).filter(|&low| low < top) {
            if low < high && steepest.may_be_between(high, low, before) {
                before = self.kernels.count(self.scores(), high);
                if steepest.may_be_between(high, low, before) {
                    looks += 1;
                    if looks > LOOKS {
                        break;
                    }
                    let between = self.rank_between(high, low);
                    steepest.look(&self.scratch.values[..between], before);
                }
            }
            high = low;
        }
        self.scratch.floats = sample;
        (looks <= LOOKS).then_some(steepest)
    }

    /// Leaves two scores and all between them, best first, in the scratch buffer; returns how many these are.
    fn rank_between(&mut self, high: f32, low: f32) -> usize {
        let between = if low.next_up() < high { self.gather_between([low.next_up(), high]) } else { 0 };
        let Scratch { values, radix, .. } = &mut *self.scratch;
        (values[between], values[between + 1]) = (high, low);
        radix.sort(&mut values[..between + 2]);
        between + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::available;

    const LENGTH: u16 = 40_000;

    /// As the definition says it, of all finite scores in order.
    fn rank_of(row: &[f32]) -> usize {
        let mut sorted: Vec<f32> = row.iter().copied().filter(|x| x.is_finite()).collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut steepest = (0.0, 1);
        for (rank, pair) in (1_u32..).zip(sorted.windows(2)) {
            let slope = (f64::from(pair[0]) - f64::from(pair[1])) / f64::from(rank);
            steepest = if slope > steepest.0 { (slope, rank as usize) } else { steepest };
        }
        steepest.1
    }

    /// The first drop behind counts by the rank of what is before.
    #[test]
    fn a_drop_right_behind_may_be_steeper() {
        let known = Steepest { slope: 1.0, rank: 1 };
        assert!(known.may_be_between(10.5, 0.0, 10) && !known.may_be_between(10.0, 0.0, 10));
    }

    /// Whatever a product of slope and rank is rounded to: here it is more than the drop, and the slope is less.
    #[test]
    fn slopes_are_compared_as_they_are_rounded() {
        let small = f32::EPSILON * f32::EPSILON / 64.0;
        let row = [2.0, 6.0 * small, -16.0 * small, -6.0];
        let mut steepest = Steepest { slope: 0.0, rank: 1 };
        steepest.look(&row, 1);
        assert_eq!((3, 3), (rank_of(&row), steepest.rank));
    }

    /// Even ones, rounded or not, in order or not, with a step at the end or none, which may be a single score; some impossible.
    #[test]
    fn evenly_spread_scores_are_not_sorted() {
        let uniform = |at: u16| f32::from(at.wrapping_mul(40_503)) / 65_536.0;
        let scores: [&dyn Fn(u16) -> f32; 11] = [
            &uniform,
            &|at| uniform(at) * uniform(at / 2 + 7),
            &|at| -uniform(at),
            &|at| (uniform(at) * 40.0).round(),
            &|at| f32::from(at % 2),
            &|at| if uniform(at) < 0.99 { 0.0 } else { 1.0 },
            &|at| f32::from(at) / 7.0,
            &|at| -f32::from(at),
            &|at| uniform(at) - if at % 4 == 0 { 9.0 } else { 0.0 },
            &|at| if at == 31_000 { -1e9 } else { uniform(at) },
            &|at| if at % 2 == 0 { f32::NEG_INFINITY } else { uniform(at) },
        ];
        for (number, score) in scores.into_iter().enumerate() {
            let row: Vec<f32> = (0..LENGTH).map(score).collect();
            let finite = row.iter().copied().filter(|x| x.is_finite());
            let (least, expected) = (finite.fold(f32::INFINITY, f32::min), rank_of(&row));
            for kernels in available() {
                with_workspace(|workspace| {
                    let mut candidates =
                        Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                    candidates.keep_before_steepest(least, 1);
                    assert_eq!(expected, candidates.len(), "{number}");
                });
                with_workspace(|workspace| {
                    let mut candidates =
                        Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                    let known = Steepest { slope: 0.0, rank: 1 };
                    let max = candidates.max();
                    let found = candidates.steepest_behind(known, [max, least], 1);
                    assert_eq!(Some(expected), found.map(|steepest| steepest.rank), "{number}");
                });
            }
        }
    }

    /// Each drop as steep as the last: no sample helps, and all are sorted.
    #[test]
    fn a_row_of_equal_slopes_is_sorted() {
        let row: Vec<f32> = (0..LENGTH).map(|at| -f32::from(at) * f32::from(at)).collect();
        let (least, expected) = (row[row.len() - 1], rank_of(&row));
        for kernels in available() {
            with_workspace(|workspace| {
                let mut candidates =
                    Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                candidates.keep_before_steepest(least, 1);
                assert_eq!(expected, candidates.len());
            });
        }
    }
}
