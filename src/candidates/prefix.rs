//! Questions that the best few candidates can answer.
//!
//! A cut by the shape of the sorted distribution needs a prefix of it, rarely all. The prefix is brought out by a bound on
//! scores, as for the nucleus, sorted, and shown to the question; if that cannot be told yet, the bound is lowered as far as it
//! asks. On a flat row it may come to all of them, so they are not compared: see `radix`.
//!
//! A question that only sums over the prefix needs no order within: `crossing` finds its end.

use super::bound::Bound;
use super::crossing::{Crossing, Question, Sums, add};
use super::{Candidates, Scratch};
use crate::kernels::Base;

/// The best candidates that a question is shown first.
const FIRST: usize = 32;

/// It is shown those that have an eighth of the weight, at least.
const DEEPER: f64 = 8.0;

/// All candidates are sorted if more than one in so many would be.
const MANY: usize = 2;

/// What the best candidates tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    /// So many of them stay.
    Keep(usize),
    /// That is not to be told without all that have this weight.
    Need(f64),
}

impl Candidates<'_> {
    /// Keeps as many of the best as `answer` says of the weights of a prefix of the candidates, best first, but no fewer than
    /// `fewest`. It is asked again with a longer one while it needs that; of all of them, which the second argument tells, it
    /// must answer.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub(crate) fn keep_settled(&mut self, fewest: usize, answer: impl Fn(&[f32], bool) -> Verdict) {
        self.carry_out();
        let mut bound = self.bound_or_all(FIRST);
        let mut lightest = 1.0;
        loop {
            let count = self.rank_down_to(bound);
            let whole = bound.without_ties() == f32::MIN;
            let best = self.weights_of_ranked(count);
            let last = best.last().copied().map_or(0.0, f64::from);
            match answer(best, whole) {
                Verdict::Keep(rank) => return self.keep_of_ranked(count, rank.max(fewest)),
                Verdict::Need(weight) => {
                    assert!(!whole, "a question that all candidates cannot answer");
                    // There may be none that are a little lighter.
                    lightest = weight.min(last.min(lightest) / DEEPER);
                    bound = self.bound_of_weight(lightest);
                }
            }
        }
    }

    /// The scores of the best, at most `count` of them, best first; without those that weigh nothing.
    pub(crate) fn best_weighty(&mut self, count: usize) -> &[f32] {
        self.carry_out();
        let bound = self.bound_or_all(count);
        let count = self.rank_down_to(bound).min(count);
        let weighty = self.weights_of_ranked(count).iter().take_while(|&&weight| weight > 0.0).count();
        &self.scratch.values[..weighty]
    }

    /// Keeps the longest prefix, best first, that `within` holds for, but no fewer than the `min_keep` best: it is asked about
    /// the sums of `P` and of `-P ln P` over a prefix, and once it does not hold it holds for no longer one. Candidates without
    /// a weight go.
    pub(crate) fn keep_longest(&mut self, min_keep: usize, within: impl Fn(f64, f64) -> bool) {
        self.carry_out();
        let (total, log_mass) = (self.total().sum, self.log_mass());
        let temperature = self.temperature;
        // `ln P` comes from the score, without a logarithm.
        let adds = |[mass, moment, _]: [f64; 3]| [mass, mass * log_mass - moment / temperature];
        let short = |[mass, terms]: Sums| within(mass / total, terms / total);
        let question = Question { max: self.max.into(), center: 0.0, slack: 0.0, weightless: false, adds, short };
        let Crossing { before, times, .. } = self.crossing(&question);
        let tied = &mut self.scratch.tied;
        // Beside a huge one, different scores may be equally far from it.
        tied.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
        let fits = |rank: usize| short(add(before, question.added_by_equals(tied[0], rank)));
        // The best is always within.
        let mut rank = usize::from(before[0] == 0.0);
        let mut beyond = tied.len() * times + 1;
        while rank + 1 < beyond {
            let middle = usize::midpoint(rank, beyond);
            *(if fits(middle) { &mut rank } else { &mut beyond }) = middle;
        }
        let last = tied[rank.saturating_sub(1) / times].score;
        let count = |is: fn(f32, f32) -> bool| tied.iter().filter(|item| is(item.score, last)).count() * times;
        let better = count(|x, last| x > last);
        let (inside, surplus) = (rank - better, better + count(|x, last| x == last) - rank);
        if rank == 0 {
            self.keep_at_least(last.next_up(), min_keep);
        } else if min_keep > 1 && self.kernels.count(self.scores(), last) - surplus < min_keep {
            self.keep_best(min_keep);
        } else {
            self.keep_down_to(last, inside, surplus > 0);
        }
    }

    /// A bound of the best `parts` candidates, or of all.
    pub(super) fn bound_or_all(&mut self, parts: usize) -> Bound {
        if self.all_at_once(parts) {
            return Bound::NONE;
        }
        let bound = self.bound(parts);
        self.raised(bound, parts)
    }

    /// A bound of all that have this weight, or of all.
    fn bound_of_weight(&mut self, weight: f64) -> Bound {
        if weight <= 0.0 || self.total().shift.is_some() {
            return Bound::NONE;
        }
        let score = Base::new(self.temperature).score(weight, self.max);
        let is_many = self.kernels.count(self.scores(), score) * MANY > self.places();
        if is_many { Bound::NONE } else { Bound { score, ties: 0 } }
    }

    /// Leaves the scores of all candidates down to a bound, best first, in the scratch buffer, those that equal it without
    /// having been gathered; returns how many these are.
    pub(super) fn rank_down_to(&mut self, bound: Bound) -> usize {
        let above = self.gather(bound.without_ties());
        let Scratch { values, radix, .. } = &mut *self.scratch;
        radix.sort(&mut values[..above]);
        let count = above + bound.ties;
        values[above..count].fill(bound.score);
        count
    }

    /// The weights of so many, also those of zero.
    fn weights_of_ranked(&mut self, count: usize) -> &[f32] {
        let total = self.total();
        self.weigh_gathered(count, total.shift);
        &self.scratch.floats[..count]
    }

    /// Keeps the best `rank`, of which `count` stand in the scratch buffer in order.
    pub(super) fn keep_of_ranked(&mut self, count: usize, rank: usize) {
        let best = &self.scratch.values[..count];
        if rank >= count {
            return self.keep_best(rank);
        }
        let last = best[rank - 1];
        let [above, reaching] = [last.next_up(), last].map(|last| best.partition_point(|&x| x >= last));
        self.keep_down_to(last, rank - above, reaching > rank);
    }
}
