//! The k-th largest score where `k` is a good part of the row, found without moving the row.
//!
//! A sample of the scores, sorted, tells between which two the k-th lies (selection by Floyd and Rivest). Those above are
//! counted, those between are gathered, some hundredths of the row, and among these alone it is selected. If it is not there
//! after all, nothing is lost but time.

use super::cuts::nth_largest_of;
use super::sample::{SAMPLE, take};
use super::{Candidates, Scratch, grow, scores};

/// The error that is allowed for, in standard deviations of the rank in the sample.
const CONFIDENCE: u64 = 3;

/// The k-th largest score.
pub(super) struct Kth {
    pub(super) score: f32,
    /// How many of those that equal it belong to the `k` best, and how many do not.
    pub(super) inside: usize,
    pub(super) surplus: usize,
}

impl Candidates<'_> {
    /// `None` if `k` is not deep in a long row, or if a sample misled.
    pub(super) fn deep_kth(&mut self, k: usize) -> Option<Kth> {
        self.carry_out_cut();
        if k >= self.places() || self.is_bounded(k) || self.places() < 2 * SAMPLE {
            return None;
        }
        self.whole();
        let [low, high] = self.likely_between(k);
        let above = self.kernels.count(self.scores(), high);
        let rank = k.checked_sub(above)?;
        if high == low.next_up() {
            // All of them are equal.
            let found = self.kernels.count(self.scores(), low) - above;
            return (1..=found).contains(&rank).then(|| Kth { score: low, inside: rank, surplus: found - rank });
        }
        let found = self.gather_between([low, high]);
        if !(1..=found).contains(&rank) {
            return None;
        }
        let Scratch { values, floats, .. } = &mut *self.scratch;
        let score = nth_largest_of(values[..found].iter().copied(), rank, floats);
        let reach = |x: f32| self.kernels.count(&values[..found], x);
        let (better, reaching) = (reach(score.next_up()), reach(score));
        Some(Kth { score, inside: rank - better, surplus: reaching - rank })
    }

    /// A range of scores in which a sample says that the k-th largest lies.
    fn likely_between(&mut self, k: usize) -> [f32; 2] {
        let row = scores(self.input, self.store, self.view);
        let Scratch { floats, radix, .. } = &mut *self.scratch;
        grow(floats, SAMPLE);
        let sample = &mut floats[..SAMPLE];
        take(self.kernels, row, sample);
        radix.sort(sample);
        let [size, all, better] = [SAMPLE, row.len(), k].map(|count| count as u64);
        let rank = better * size / all;
        let error = CONFIDENCE * size.isqrt() * (better * (all - better)).isqrt() / all + 1;
        let at = |rank: u64| sample.get(usize::try_from(rank).ok()?).copied();
        let high = rank.checked_sub(error).and_then(at).map_or(f32::INFINITY, f32::next_up);
        let low = at(rank + error).map_or(f32::MIN, |low| low.max(f32::MIN));
        [low, high]
    }
}
