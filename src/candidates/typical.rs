//! Candidates by how close their surprise is to the entropy.
//!
//! `|H + ln P|` is the distance of a score from the mean of all scores, each counted by its probability, over `T`: the
//! logarithm of the mass is in both terms, and no digit need be lost to it. So the most typical are a band of scores around
//! the mean. `crossing` finds how wide it is. At its edge stand those that are as far as the last one within rounding, of
//! which the lower ids stay.

use super::crossing::{Crossing, Item, Question, Sums, add, distance};
use super::{Candidates, MET, Scratch};
use crate::math;

impl Candidates<'_> {
    /// Keeps those closest to the entropy whose mass is at least `p` (or exceeds it), but no fewer than `min_keep`; with
    /// `ties` also all that are as close as the last of them. Returns the distance of the last, in nats.
    pub(crate) fn keep_typical(&mut self, p: f64, min_keep: usize, exceed: bool, ties: bool) -> f64 {
        let center = self.mean();
        let slack = self.temperature * -math::ln(MET);
        let goal = if exceed { p / MET } else { p * MET } * self.total().sum;
        #[expect(clippy::cast_precision_loss, reason = "more than any vocabulary is all")]
        let min_keep = min_keep as f64;
        let adds = |item: Item| [f64::from(item.weight), 1.0];
        let short = |[mass, count]: Sums| count < min_keep || if exceed { mass <= goal } else { mass < goal };
        let Crossing { distance: last, before, gathered } =
            self.crossing(&Question { center, slack, weightless: true, adds, short });
        let mut kept = self.keep_near(gathered, center, last - slack, last + slack);
        let level = &self.scratch.tied;
        // What is nearer than the last and yet level waits for its turn.
        let nearer = level.iter().filter(|item| distance(item.score, self.max.into(), center) < last);
        let mut sums = nearer.fold(before, |[mass, count], item| [mass - f64::from(item.weight), count - 1.0]);
        let stay = level.iter().position(|&item| {
            sums = add(sums, adds(item));
            !short(sums)
        });
        if let (Some(stay), false) = (stay, ties) {
            kept = self.remove_level_from(stay + 1, kept);
        }
        self.adopt(kept);
        last / self.temperature
    }

    /// Moves those of the gathered that are no farther than `far` to the front; how many these are. Those no nearer than
    /// `near` are then in the scratch buffer, with their places.
    fn keep_near(&mut self, gathered: usize, center: f64, near: f64, far: f64) -> usize {
        let max = f64::from(self.max);
        let Scratch { values, indices, floats, tied, .. } = &mut *self.scratch;
        tied.clear();
        let mut kept = 0;
        for at in 0..gathered {
            let (score, weight) = (values[at], floats[at]);
            let distance = distance(score, max, center);
            if distance >= near && distance <= far {
                tied.push(Item { key: kept as u64, score, weight });
            }
            (values[kept], indices[kept]) = (score, indices[at]);
            kept += usize::from(distance <= far);
        }
        kept
    }

    /// Removes all of the level ones but the first `stay`; how many of all that were kept are left.
    fn remove_level_from(&mut self, stay: usize, kept: usize) -> usize {
        let Scratch { values, indices, tied, .. } = &mut *self.scratch;
        let mut gone = tied[stay..].iter().map(|item| item.key).peekable();
        let mut left = 0;
        for (at, key) in (0..kept).zip(0..) {
            (values[left], indices[left]) = (values[at], indices[at]);
            left += usize::from(gone.next_if_eq(&key).is_none());
        }
        left
    }
}
