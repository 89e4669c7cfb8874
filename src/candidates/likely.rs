//! Limits on probabilities, and what is measured of a whole distribution.
//!
//! `P >= limit` is `x >= max + T · (ln limit + ln Z)`, where `Z` is the sum of the weights relative to the largest. Limits
//! come as logarithms, so that none is too small to be told from zero.

use super::cuts::descending;
use super::{Candidates, MET, Scratch, View};
use crate::math::{self, ceil};

/// Candidates are removed one by one if they are no more than one in so many.
const FEW: usize = 16;

impl Candidates<'_> {
    /// The logarithm of the sum of all weights relative to the largest: `-ln` of the best one's probability.
    pub(crate) fn log_mass(&mut self) -> f64 {
        self.total().log()
    }

    /// The same at the temperature `T / q`: the sum of the weights to the power of `q`.
    pub(crate) fn log_mass_at(&mut self, q: f64) -> f64 {
        let temperature = self.temperature();
        self.set_temperature(temperature / q);
        let log = self.log_mass();
        self.set_temperature(temperature);
        log
    }

    /// How many tokens the row has.
    pub(crate) fn vocabulary(&self) -> usize {
        self.input.len()
    }

    /// The standard deviation of the scores, as that of a population.
    pub(crate) fn deviation(&mut self) -> f64 {
        self.carry_out();
        #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
        let count = self.len() as f64;
        // Relative to the largest, which is at most √n deviations from the mean: the difference keeps its digits.
        let [sum, squares] = self.kernels.spread(self.scores(), self.max);
        let mean = sum / count;
        (squares / count - mean * mean).max(0.0).sqrt()
    }

    /// The least score.
    pub(crate) fn least(&mut self) -> f32 {
        self.carry_out();
        self.kernels.least(self.scores())
    }

    /// Keeps what has at least the probability `e^log_limit`, but no fewer than the best `min_keep`: in that case, with
    /// `ties`, also all that equal the last of them. Returns the limit.
    pub(crate) fn keep_likely(&mut self, log_limit: f64, min_keep: usize, ties: bool) -> f64 {
        match self.threshold(log_limit) {
            Some(threshold) if !ties || self.kernels.count(self.scores(), threshold) >= min_keep => {
                self.keep_at_least(threshold, min_keep);
            }
            _ if ties => self.keep_best_and_ties(min_keep),
            _ => self.keep_best(min_keep),
        }
        math::exp(log_limit)
    }

    /// Removes what has at least the probability `e^log_limit`, but for the protected ids and the least likely, of equals
    /// the lowest id; nothing, if that is only one. If fewer than `min_keep` would be left, the best `min_keep` are kept; or
    /// nothing is done, with `or_nothing`. Returns the limit.
    pub(crate) fn exclude_likely(&mut self, log_limit: f64, protect: &[u32], min_keep: usize, or_nothing: bool) -> f64 {
        let Some(threshold) = self.threshold(log_limit) else { return math::exp(log_limit) };
        let likely = self.gather(threshold);
        let staying = self.note_staying(likely, protect);
        if self.len() - likely + staying >= min_keep {
            self.exclude(likely, threshold);
        } else if !or_nothing {
            self.keep_best_and_protected(protect, min_keep);
        }
        math::exp(log_limit)
    }

    /// Notes, with their places, which of the first `likely` that were gathered stay; returns how many.
    fn note_staying(&mut self, likely: usize, protect: &[u32]) -> usize {
        let ids = if let View::List(length) = self.view { &self.store.ids[..length] } else { &[] };
        let Scratch { values, indices, risen: staying, .. } = &mut *self.scratch;
        let (values, places) = (&values[..likely], &indices[..likely]);
        let least = self.kernels.least(values);
        let least = values.iter().position(|&x| x == least);
        let protected = protect.iter().filter_map(|&id| {
            let place = if ids.is_empty() { id } else { u32::try_from(ids.binary_search(&id).ok()?).ok()? };
            places.binary_search(&place).ok()
        });
        staying.clear();
        staying.extend(least.into_iter().chain(protected).map(|at| (places[at], values[at])));
        staying.sort_unstable_by_key(|&(place, _)| place);
        staying.dedup_by_key(|&mut (place, _)| place);
        staying.len()
    }

    /// Removes the first `likely` that were gathered, which are those from `threshold` on, but for the noted ones.
    fn exclude(&mut self, likely: usize, threshold: f32) {
        let staying = std::mem::take(&mut self.scratch.risen);
        if likely * FEW > self.places() {
            let scores = self.owned();
            for x in &mut *scores {
                *x = if *x < threshold { *x } else { f32::NEG_INFINITY };
            }
            for &(place, score) in &staying {
                scores[place as usize] = score;
            }
            self.scratch.stale.fill(true);
        } else {
            let mut gone = std::mem::take(&mut self.scratch.gone);
            let stays = |place: &u32| staying.binary_search_by_key(place, |&(place, _)| place).is_ok();
            let places = self.scratch.indices[..likely].iter().filter(|place| !stays(place));
            gone.clear();
            gone.extend(places.map(|&place| self.id(place as usize)));
            self.ban(&gone);
            self.scratch.gone = gone;
        }
        self.scratch.risen = staying;
        self.settle();
    }

    /// Keeps the best `min_keep` and the protected ids.
    fn keep_best_and_protected(&mut self, protect: &[u32], min_keep: usize) {
        let count = self.gather(f32::MIN);
        if min_keep >= count {
            return;
        }
        let mut gone = std::mem::take(&mut self.scratch.gone);
        let Scratch { values, indices, .. } = &*self.scratch;
        gone.clear();
        gone.extend((0_u32..).take(count));
        gone.select_nth_unstable_by_key(min_keep, |&at| (descending(values[at as usize]), at));
        gone.drain(..min_keep);
        for at in &mut gone {
            *at = self.id(indices[*at as usize] as usize);
        }
        gone.retain(|id| !protect.contains(id));
        self.ban(&gone);
        self.settle();
        self.scratch.gone = gone;
    }

    /// The least score that has at least the probability `e^log_limit`, within rounding; `None` if no candidate has it,
    /// which beside a huge score the threshold itself would not show.
    fn threshold(&mut self, log_limit: f64) -> Option<f32> {
        self.carry_out();
        let below = log_limit + math::ln(MET) + self.log_mass();
        (below <= 0.0).then(|| ceil(f64::from(self.max) + self.temperature() * below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::available;

    /// Few or nearly all, of the row or of a list: the least likely, of equals the first, stays, and the protected do. Many are not
    /// changed one by one, and for few the row is not copied. Numbers are so large that a limit is a score.
    #[test]
    fn likely_ones_are_removed_together() {
        let length = 20_000_u16;
        let row: Vec<f32> = (0..length).map(|at| 1_024.0 + f32::from(at % 1_000) / 128.0).collect();
        let protect = [3, 3, 998, 1_500, 1_501, 19_998, 70_000];
        for (above, listed) in [0_u16, 1, 500, 900, 998].into_iter().flat_map(|above| [(above, false), (above, true)]) {
            let threshold = 1_024.0 + f32::from(above) / 128.0;
            let lowest = if listed { 300 } else { 0 };
            let expected: Vec<u32> = (0..length)
                .filter(|&at| at % 1_000 >= lowest)
                .filter(|&at| at % 1_000 < above || at == above.max(lowest) || protect.contains(&u32::from(at)))
                .map(u32::from)
                .collect();
            for kernels in available() {
                with_workspace(|workspace| {
                    let mut candidates =
                        Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                    if listed {
                        let count = candidates.gather(1_024.0 + 300.0 / 128.0);
                        candidates.adopt(count);
                    }
                    let log_limit = f64::from(threshold - candidates.max()) - candidates.log_mass();
                    candidates.exclude_likely(log_limit, &protect, 1, false);
                    assert_eq!(above < 990 && !listed, candidates.view == View::Copy);
                    let best = expected.iter().map(|&id| row[id as usize]).fold(f32::MIN, f32::max);
                    assert_eq!(best, candidates.max());
                    let left: Vec<u32> = candidates.list().iter().map(|&(id, _)| id).collect();
                    assert_eq!(expected, left, "from {threshold}");
                    let changed = candidates.scratch.edits.list().len();
                    assert!(changed * FEW <= row.len(), "{changed} changed one by one");
                });
            }
        }
    }

    /// Who is protected twice, or the least likely as well, stays once.
    #[test]
    fn as_many_are_left_as_must_be() {
        let row: Vec<f32> = (0..40_u8).map(f32::from).collect();
        // The eight best are likely; the last of them stays, and of the others one or two do.
        for (protect, staying) in [(&[][..], 1), (&[39, 39, 39][..], 2), (&[32, 32][..], 1), (&[39, 38, 3, 70][..], 3)]
        {
            let left = 32 + staying;
            for (min_keep, or_nothing) in [left, left + 1].into_iter().flat_map(|least| [(least, false), (least, true)])
            {
                let goes = |id: u32| match (min_keep > left, or_nothing) {
                    (false, _) => id > 32 && !protect.contains(&id),
                    (true, false) => id < 40 - u32::try_from(min_keep).unwrap() && !protect.contains(&id),
                    (true, true) => false,
                };
                let expected: Vec<u32> = (0..40).filter(|&id| !goes(id)).collect();
                for kernels in available() {
                    with_workspace(|workspace| {
                        let mut candidates =
                            Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                        let log_limit = -7.0 - candidates.log_mass();
                        candidates.exclude_likely(log_limit, protect, min_keep, or_nothing);
                        let left: Vec<u32> = candidates.list().iter().map(|&(id, _)| id).collect();
                        assert_eq!(expected, left, "{protect:?} and {min_keep}");
                    });
                }
            }
        }
    }
}
