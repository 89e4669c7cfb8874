//! Candidates by how close their surprise is to the entropy.
//!
//! `|H + ln P|` is the distance of a score from the mean of all scores, each counted by its probability, over `T`: the
//! logarithm of the mass is in both terms, and no digit need be lost to it. So the most typical are a band of scores around
//! the mean. `crossing` finds how wide it is. At its edge stand those that are as far as the last one within rounding, of
//! which the lower ids stay.

use super::crossing::{Crossing, Question, Sums, add};
use super::edge::least_number;
use super::{Candidates, MET, Scratch};
use crate::math;

/// Candidates that are looked at together.
const SPAN: usize = 64;

impl Candidates<'_> {
    /// Keeps those closest to the entropy whose mass is at least `p` (or exceeds it), but no fewer than `min_keep`; with
    /// `ties` also all that are as close as the last of them. Returns the distance of the last, in nats.
    pub(crate) fn keep_typical(&mut self, p: f64, min_keep: usize, exceed: bool, ties: bool) -> f64 {
        let center = self.mean();
        let slack = self.temperature * -math::ln(MET);
        let goal = if exceed { p / MET } else { p * MET } * self.total().sum;
        #[expect(clippy::cast_precision_loss, reason = "more than any vocabulary is all")]
        let min_keep = min_keep as f64;
        let adds = |[mass, _, count]: [f64; 3]| [mass, count];
        let short = |[mass, count]: Sums| count < min_keep || if exceed { mass <= goal } else { mass < goal };
        let question = Question { max: self.max.into(), center, slack, weightless: true, adds, short };
        let Crossing { distance: last, before, gathered, times } = self.crossing(&question);
        let (near, far) = (last - slack, last + slack);
        let (all, certain) = (question.nearer(far.next_up()), question.nearer(near));
        let last_surprise = last / self.temperature;
        if times > 1 {
            // All that are level are equal.
            let one = self.scratch.tied[0];
            let reached = |stay| !short(add(before, question.added_by_equals(one, stay)));
            let stay = if ties { times } else { least_number(times, reached) };
            let nearer_are_better = f64::from(one.score) - question.max < center && self.max < certain[1];
            if stay < times && (nearer_are_better || (one.score == self.max && before[1] == 0.0)) {
                self.keep_down_to(one.score, stay, true);
            } else {
                self.keep_near(all, certain, (stay < times).then_some(stay));
            }
            return last_surprise;
        }
        let Scratch { values, floats, tied: level, .. } = &mut *self.scratch;
        let items = values[..gathered].iter().zip(&*floats).map(|pair| question.item(pair));
        let distance = |key: u64| f64::from_bits(key);
        level.clear();
        level.extend(items.filter(|item| (near..=far).contains(&distance(item.key))));
        // What is nearer than the last and yet level waits for its turn.
        let nearer = level.iter().filter(|item| distance(item.key) < last);
        let mut sums = nearer.fold(before, |[mass, count], item| [mass - f64::from(item.weight), count - 1.0]);
        let stay = level.iter().position(|&item| {
            sums = add(sums, question.added_by(item));
            !short(sums)
        });
        let stay = stay.map(|stay| stay + 1).filter(|&stay| !ties && stay < level.len());
        self.keep_near(all, certain, stay);
        last_surprise
    }

    /// Keeps a range of scores; with `stay`, only so many of those that are not in the `certain` one, which is inside.
    fn keep_near(&mut self, all: [f32; 2], certain: [f32; 2], stay: Option<usize>) {
        if stay.is_none() && self.max < all[1] {
            return self.keep_at_least(all[0], 1);
        }
        let count = self.gather_between(all);
        let count = stay.map_or(count, |stay| self.drop_late(count, certain, stay));
        self.adopt(count);
    }

    /// Of the first `count` gathered, drops those outside of a range, but for the first `stay`; returns how many are left.
    fn drop_late(&mut self, count: usize, [low, high]: [f32; 2], stay: usize) -> usize {
        let Scratch { values, indices, .. } = &mut *self.scratch;
        let is_outside = |x: f32| x < low || x >= high;
        let (mut kept, mut outside) = (0, 0);
        for start in (0..count).step_by(SPAN) {
            let span = start..count.min(start + SPAN);
            if values[span.clone()].iter().filter(|&&x| is_outside(x)).count() == 0 {
                // Nearly always.
                values.copy_within(span.clone(), kept);
                indices.copy_within(span.clone(), kept);
                kept += span.len();
                continue;
            }
            for at in span {
                let x = values[at];
                (values[kept], indices[kept]) = (x, indices[at]);
                outside += usize::from(is_outside(x));
                kept += usize::from(!is_outside(x) || outside <= stay);
            }
        }
        kept
    }
}
