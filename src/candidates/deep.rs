//! The k-th largest score where `k` is a good part of the row, found without moving the row.
//!
//! A sample of the scores, sorted, tells between which two the k-th lies (selection by Floyd and Rivest). Those above are
//! counted, those between are gathered, some hundredths of the row, and among these alone it is selected. Where many
//! of the sample equal one of the two, the k-th likely does as well, and those are only counted. If it is not there after all,
//! nothing is lost but time.

use super::cuts::{Kth, nth_largest_of};
use super::sample::{SAMPLE, take};
use super::{Candidates, Scratch, grow, scores};

/// The error that is allowed for, in standard deviations of the rank in the sample.
const CONFIDENCE: u64 = 3;

/// If so many times the error of the sample are in the range, many of them are equal.
const HEAVY: u64 = 4;

impl Candidates<'_> {
    /// `None` if `k` is not deep in a long row, or if a sample misled.
    pub(super) fn deep_kth(&mut self, k: usize) -> Option<Kth> {
        self.carry_out_cut();
        if k >= self.places() || self.is_bounded(k) || self.places() < 2 * SAMPLE {
            return None;
        }
        self.whole();
        let Likely { mut low, mut high, ends_are_heavy } = self.likely_between(k);
        let count = |x: f32| self.kernels.count(self.scores(), x);
        if ends_are_heavy {
            // Among equal ones nothing is to be selected.
            for end in [high, low] {
                let [above, reaching] = [end.next_up(), end].map(count);
                if above < k && k <= reaching {
                    return Some(Kth { score: end, inside: k - above, more: reaching > k });
                }
            }
            low = low.next_up();
        } else {
            high = high.next_up();
        }
        let rank = k.checked_sub(count(high))?;
        let found = if low < high { self.gather_between([low, high]) } else { 0 };
        if !(1..=found).contains(&rank) {
            return None;
        }
        let Scratch { values, floats, .. } = &mut *self.scratch;
        let score = nth_largest_of(values[..found].iter().copied(), rank, floats);
        let reach = |x: f32| self.kernels.count(&values[..found], x);
        let (better, reaching) = (reach(score.next_up()), reach(score));
        Some(Kth { score, inside: rank - better, more: reaching > rank })
    }

    /// Two scores between which a sample says that the k-th largest lies, or that it equals.
    fn likely_between(&mut self, k: usize) -> Likely {
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
        let high = rank.checked_sub(error).and_then(at).unwrap_or(f32::INFINITY);
        let low = at(rank + error).map_or(f32::MIN, |low| low.max(f32::MIN));
        let inside = sample.partition_point(|&x| x >= low) - sample.partition_point(|&x| x > high);
        Likely { low, high, ends_are_heavy: inside as u64 > HEAVY * error }
    }
}

/// What a sample says of the k-th largest score.
struct Likely {
    low: f32,
    high: f32,
    /// Whether many more than are in doubt equal one of them.
    ends_are_heavy: bool,
}
