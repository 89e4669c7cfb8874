//! Questions that the best few candidates can answer.
//!
//! A cut by the shape of the sorted distribution needs a prefix of it, rarely all. The prefix is brought out by a bound on
//! scores, as for the nucleus, sorted, and shown to the question; if that cannot be told yet, the bound is lowered.

use super::{Candidates, Scratch, cuts::SPARE};

/// A candidate in a sorted prefix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) score: f32,
    /// Zero, if no weights were asked for.
    pub(crate) weight: f32,
}

impl Candidates<'_> {
    /// What `answer` says of a prefix of the candidates, best first. It is asked again with a longer one while it says
    /// `None`; of all of them, which the second argument tells, it must answer.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub(crate) fn settled_by_prefix<R>(&mut self, weigh: bool, answer: impl Fn(&[Ranked], bool) -> Option<R>) -> R {
        self.carry_out();
        let mut parts = 32;
        loop {
            let whole = parts * SPARE > self.scratch.blocks.len();
            self.rank_best(parts, whole, weigh);
            if let Some(answer) = answer(&self.scratch.ranked, whole) {
                return answer;
            }
            assert!(!whole, "a question that all candidates cannot answer");
            parts *= 8;
        }
    }

    /// The weights of the best, at most `count` of them, best first; those of zero left out.
    pub(crate) fn best_weights(&mut self, count: usize) -> Vec<f64> {
        self.carry_out();
        let whole = count * SPARE > self.scratch.blocks.len();
        self.rank_best(count, whole, true);
        let weights = self.scratch.ranked.iter().map(|ranked| f64::from(ranked.weight));
        weights.take(count).take_while(|&weight| weight > 0.0).collect()
    }

    /// Sorts at least the best `parts` candidates into the scratch buffer; all, if `whole`.
    fn rank_best(&mut self, parts: usize, whole: bool, weigh: bool) {
        let bound = if whole { f32::MIN } else { self.bound(parts) };
        let count = self.gather(bound);
        if weigh {
            let total = self.total();
            self.weigh_gathered(count, total);
        }
        let Scratch { values, floats, ranked, .. } = &mut *self.scratch;
        ranked.clear();
        let weight = |at: usize| if weigh { floats[at] } else { 0.0 };
        ranked.extend(values[..count].iter().enumerate().map(|(at, &score)| Ranked { score, weight: weight(at) }));
        ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    }
}
