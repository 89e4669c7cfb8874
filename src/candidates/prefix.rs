//! Questions that the best few candidates can answer.
//!
//! A cut by the shape of the sorted distribution needs a prefix of it, rarely all. The prefix is brought out by a bound on
//! scores, as for the nucleus, sorted, and shown to the question; if that cannot be told yet, the bound is lowered.
//!
//! A question that only sums over the prefix needs no order within: `crossing` finds its end.

use super::crossing::{Crossing, Item, Question, Sums, add};
use super::{Candidates, Scratch};

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
            let whole = self.take_best(parts, weigh);
            self.scratch.ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
            if let Some(answer) = answer(&self.scratch.ranked, whole) {
                return answer;
            }
            assert!(!whole, "a question that all candidates cannot answer");
            parts *= 8;
        }
    }

    /// The best with their weights, at most `count` of them, best first; those of zero left out.
    pub(crate) fn best_weights(&mut self, count: usize) -> &[Ranked] {
        self.carry_out();
        self.take_best(count, true);
        let ranked = &mut self.scratch.ranked;
        ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
        let weighty = ranked.iter().take(count).take_while(|ranked| ranked.weight > 0.0).count();
        &ranked[..weighty]
    }

    /// Keeps the longest prefix, best first, that `within` holds for, but no fewer than the `min_keep` best: it is asked about
    /// the sums of `P` and of `-P ln P` over a prefix, and once it does not hold it holds for no longer one. Candidates without
    /// a weight go.
    pub(crate) fn keep_longest(&mut self, min_keep: usize, within: impl Fn(f64, f64) -> bool) {
        self.carry_out();
        let (total, log_mass) = (self.total().sum, self.log_mass());
        let (max, temperature) = (f64::from(self.max), self.temperature);
        // `ln P` comes from the score, without a logarithm.
        let adds = |item: Item| {
            let weight = f64::from(item.weight);
            [weight, weight * (log_mass - (f64::from(item.score) - max) / temperature)]
        };
        let short = |[mass, terms]: Sums| within(mass / total, terms / total);
        let Crossing { before, .. } =
            self.crossing(&Question { center: 0.0, slack: 0.0, weightless: false, adds, short });
        let tied = &mut self.scratch.tied;
        // Beside a huge one, different scores may be equally far from it.
        tied.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
        let one = adds(tied[0]);
        let fits = |rank: usize| {
            #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
            let times = rank as f64;
            short(add(before, [times * one[0], times * one[1]]))
        };
        // The best is always within.
        let mut rank = usize::from(before[0] == 0.0);
        let mut beyond = tied.len() + 1;
        while rank + 1 < beyond {
            let middle = usize::midpoint(rank, beyond);
            *(if fits(middle) { &mut rank } else { &mut beyond }) = middle;
        }
        let last = tied[rank.saturating_sub(1)].score;
        let equal = |items: &[Item]| items.iter().filter(|item| item.score == last).count();
        let (inside, surplus) = (equal(&tied[..rank]), equal(&tied[rank..]));
        if rank == 0 {
            self.keep_at_least(last.next_up(), min_keep);
        } else if surplus == 0 {
            self.keep_at_least(last, min_keep);
        } else if min_keep > 1 && self.kernels.count(self.scores(), last) - surplus < min_keep {
            self.keep_best(min_keep);
        } else {
            let count = self.gather(last);
            self.adopt(count);
            self.keep_prefix(last, inside);
        }
    }

    /// Takes at least the best `parts` candidates out into the scratch buffer, in no order; whether these are all.
    fn take_best(&mut self, parts: usize, weigh: bool) -> bool {
        let whole = self.all_at_once(parts);
        let bound = if whole { f32::MIN } else { self.bound(parts) };
        let count = self.gather(bound);
        if weigh {
            let total = self.total();
            self.weigh_gathered(count, total.shift);
        }
        let Scratch { values, floats, ranked, .. } = &mut *self.scratch;
        ranked.clear();
        let weight = |at: usize| if weigh { floats[at] } else { 0.0 };
        ranked.extend(values[..count].iter().enumerate().map(|(at, &score)| Ranked { score, weight: weight(at) }));
        whole
    }
}
