//! All scores anew: the temperature written into them, a function of each, or a function of the probabilities.

use super::{Candidates, View, grow};
use crate::kernels::Base;

/// How scores that are gone became log-probabilities.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    temperature: f64,
    max: f32,
    log_mass: f64,
}

impl Candidates<'_> {
    /// Writes the temperature into the scores, so that a stage can change them as they are seen.
    pub(crate) fn write_temperature(&mut self) {
        let (max, temperature) = (self.max, self.temperature);
        self.rewrite(|x| scaled(x, max, temperature));
    }

    /// Replaces every score by a finite function of it, in which the temperature is.
    pub(crate) fn rewrite(&mut self, score: impl Fn(f32) -> f32) {
        for x in self.owned() {
            // Also of what is impossible, so that there is no branch.
            let changed = score(*x);
            *x = if *x > f32::NEG_INFINITY { changed } else { *x };
        }
        self.rewritten();
    }

    /// Replaces the score of every candidate by that in a whole row. Call [`Self::settle`] after.
    pub(crate) fn rescore(&mut self, scores: &[f32]) {
        self.owned();
        match self.view {
            View::List(length) => {
                for (x, &id) in self.store.scores[..length].iter_mut().zip(&self.store.ids) {
                    *x = scores[id as usize];
                }
            }
            View::Input | View::Edited | View::Copy => self.store.copy.copy_from_slice(&scores[..self.input.len()]),
        }
        self.scratch.stale.fill(true);
    }

    /// Replaces every score by a finite function of its probability. [`Self::remembered`] knows the log-probabilities.
    pub(crate) fn score_probabilities(&mut self, score: impl Fn(f64) -> f64) {
        self.carry_out();
        let total = self.total();
        let length = self.scores().len();
        let (temperature, max, log_mass) = (self.temperature, self.max, total.log());
        let mut weights = std::mem::take(&mut self.scratch.floats);
        grow(&mut weights, length);
        let (scores, top) = self.weighed(total);
        self.kernels.weights(scores, Base::new(temperature), top, &mut weights[..length]);
        let mut before = std::mem::take(&mut self.scratch.before);
        before.clear();
        let owned = self.owned();
        before.extend_from_slice(owned);
        for (x, &weight) in owned.iter_mut().zip(&weights) {
            #[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
            let changed = score(f64::from(weight) / total.sum) as f32;
            *x = if *x > f32::NEG_INFINITY { changed } else { *x };
        }
        (self.scratch.floats, self.scratch.before) = (weights, before);
        self.before = Some(Before { temperature, max, log_mass });
        self.rewritten();
    }

    /// The log-probability of a candidate before [`Self::score_probabilities`]; zero without.
    pub(crate) fn remembered(&self, id: u32) -> f64 {
        let place = match self.view {
            View::List(length) => self.store.ids[..length].binary_search(&id).unwrap_or(length),
            View::Input | View::Edited | View::Copy => id as usize,
        };
        let score = self.scratch.before.get(place).copied();
        self.before.zip(score).map_or(0.0, |(Before { temperature, max, log_mass }, x)| {
            (f64::from(x) - f64::from(max)) / temperature - log_mass
        })
    }

    /// The scores are what they say: no temperature is beside them.
    fn rewritten(&mut self) {
        self.scratch.stale.fill(true);
        self.temperature = 1.0;
        self.settle();
    }
}

/// `(x - max) / T`, finite; `x` itself at `T = 1`.
pub(crate) fn scaled(x: f32, max: f32, temperature: f64) -> f32 {
    if temperature == 1.0 {
        return x;
    }
    finite((f64::from(x) - f64::from(max)) / temperature)
}

/// The nearest finite `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounds, and the range is clamped first")]
pub(crate) fn finite(x: f64) -> f32 {
    x.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}
