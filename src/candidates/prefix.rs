//! Questions that the best few candidates can answer.
//!
//! A cut by the shape of the sorted distribution needs a prefix of it, rarely all. The prefix is brought out by a bound on
//! scores, as for the nucleus, sorted, and shown to the question; if that cannot be told yet, the bound is lowered.
//!
//! A question that only sums over the prefix needs no order within: halves are selected towards the end of the prefix.

use super::{Candidates, LANES, Scratch, cuts::SPARE};

/// So many candidates are taken out whole.
const FEW: usize = 2048;

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

    /// How many candidates, best first, `within` holds for: it is asked about the sums of `P` and of `-P ln P` over a prefix,
    /// and once it does not hold it holds for no longer one. Candidates without a weight are not counted.
    pub(crate) fn longest_prefix(&mut self, within: impl Fn(f64, f64) -> bool) -> usize {
        self.carry_out();
        let scale = Scale {
            total: self.mass(),
            max: self.max().into(),
            temperature: self.temperature(),
            log_mass: self.log_mass(),
        };
        let mut parts = 32;
        loop {
            let whole = self.take_best(parts, true);
            let ranked = &mut self.scratch.ranked;
            ranked.retain(|ranked| ranked.weight > 0.0);
            if whole || !within_all(ranked, scale, &within) {
                return halve(ranked, scale, &within);
            }
            parts *= 8;
        }
    }

    /// Takes at least the best `parts` candidates out into the scratch buffer, in no order; whether these are all.
    fn take_best(&mut self, parts: usize, weigh: bool) -> bool {
        let whole = self.all_at_once(parts);
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
        whole
    }

    /// Whether no good bound brings out the best `parts` alone.
    pub(super) fn all_at_once(&self, parts: usize) -> bool {
        self.places() <= FEW || parts * SPARE > self.scratch.blocks.len() * LANES
    }
}

/// What turns weights and scores into probabilities and their logarithms.
#[derive(Clone, Copy)]
struct Scale {
    total: f64,
    max: f64,
    temperature: f64,
    log_mass: f64,
}

/// The sums of `P` and of `-P ln P`; `ln P` comes from the score, without a logarithm.
fn sums(ranked: &[Ranked], Scale { total, max, temperature, log_mass }: Scale) -> (f64, f64) {
    ranked.iter().fold((0.0, 0.0), |(mass, terms), ranked| {
        let p = f64::from(ranked.weight) / total;
        let log_p = (f64::from(ranked.score) - max) / temperature - log_mass;
        (mass + p, terms - p * log_p)
    })
}

fn within_all(ranked: &[Ranked], scale: Scale, within: impl Fn(f64, f64) -> bool) -> bool {
    let (mass, terms) = sums(ranked, scale);
    within(mass, terms)
}

/// See [`Candidates::longest_prefix`], among these.
fn halve(ranked: &mut [Ranked], scale: Scale, within: impl Fn(f64, f64) -> bool) -> usize {
    let (mut rest, mut count, mut mass, mut terms) = (ranked, 0, 0.0, 0.0);
    while !rest.is_empty() {
        let middle = rest.len().div_ceil(2);
        rest.select_nth_unstable_by(middle - 1, |a, b| b.score.total_cmp(&a.score));
        let (better, worse) = rest.split_at_mut(middle);
        let more = sums(better, scale);
        if within(mass + more.0, terms + more.1) {
            (mass, terms) = (mass + more.0, terms + more.1);
            count += middle;
            rest = worse;
        } else if middle == 1 {
            break;
        } else {
            rest = better;
        }
    }
    count
}
