//! Questions that the best few candidates can answer.
//!
//! A cut by the shape of the sorted distribution needs a prefix of it, rarely all. The prefix is brought out by a bound on
//! scores, as for the nucleus, sorted, and shown to the question; if that cannot be told yet, the bound is lowered. On a flat
//! row it may come to all of them, so they are not compared: see `radix`.
//!
//! A question that only sums over the prefix needs no order within: `crossing` finds its end.

use super::crossing::{Crossing, Question, Sums, add};
use super::cuts::Bound;
use super::{Candidates, Scratch};

/// The best candidates, best first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranked<'a> {
    pub(crate) scores: &'a [f32],
    /// Those of zero as well; nothing, if no weights were asked for.
    pub(crate) weights: &'a [f32],
}

impl Candidates<'_> {
    /// Keeps as many of the best as `answer` says of a prefix of the candidates, best first, but no fewer than `fewest`. It is
    /// asked again with a longer one while it says `None`; of all of them, which the second argument tells, it must answer.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub(crate) fn keep_settled(
        &mut self,
        weigh: bool,
        fewest: usize,
        answer: impl Fn(Ranked<'_>, bool) -> Option<usize>,
    ) {
        self.carry_out();
        let mut parts = 32;
        loop {
            let (best, whole) = self.rank_best(parts, weigh);
            if let Some(rank) = answer(best, whole) {
                let rank = rank.max(fewest);
                if rank >= best.scores.len() {
                    return self.keep_best(rank);
                }
                let last = best.scores[rank - 1];
                let [above, reaching] = [last.next_up(), last].map(|last| best.scores.partition_point(|&x| x >= last));
                return self.keep_down_to(last, rank - above, reaching > rank);
            }
            assert!(!whole, "a question that all candidates cannot answer");
            parts *= 8;
        }
    }

    /// The scores of the best, at most `count` of them, best first; without those that weigh nothing.
    pub(crate) fn best_weighty(&mut self, count: usize) -> &[f32] {
        self.carry_out();
        let (Ranked { scores, weights }, _) = self.rank_best(count, true);
        &scores[..weights.iter().take(count).take_while(|&&weight| weight > 0.0).count()]
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

    /// At least the best `parts` candidates, those that equal the last of them without having been gathered; and whether these
    /// are all.
    fn rank_best(&mut self, parts: usize, weigh: bool) -> (Ranked<'_>, bool) {
        let whole = self.all_at_once(parts);
        let bound = if whole { Bound::NONE } else { self.bound(parts) };
        let above = self.gather(bound.without_ties());
        let Scratch { values, radix, .. } = &mut *self.scratch;
        radix.sort(&mut values[..above]);
        let count = above + bound.ties;
        values[above..count].fill(bound.score);
        if weigh {
            let total = self.total();
            self.weigh_gathered(count, total.shift);
        }
        let Scratch { values, floats, .. } = &*self.scratch;
        let weights = if weigh { &floats[..count] } else { &[] };
        (Ranked { scores: &values[..count], weights }, whole)
    }
}
