//! Top-H (arXiv 2509.02510): a bound on the entropy of what is kept.
//!
//! The entropy of a prefix, renormalised, grows with every token, so the first that exceeds the bound ends it.

use crate::candidates::{Candidates, MET};

/// As many of the best are all that transformers looks at.
const BEST: usize = 100;

/// Keeps the longest prefix, best first, whose entropy is at most `share` of that of all. With `whole` its
/// entropy is the sum of its terms in the distribution of all, and all are the best hundred: so transformers reads the
/// paper.
pub(super) fn apply(candidates: &mut Candidates<'_>, share: Option<f64>, min_keep: usize, whole: bool) -> Option<f64> {
    let share = share?;
    if whole {
        candidates.keep_best(BEST.max(min_keep));
    }
    let limit = share * candidates.entropy();
    let total = candidates.mass();
    let rank = candidates.settled_by_prefix(true, |best, all| {
        let (mut terms, mut mass) = (0.0, 0.0);
        for (rank, p) in best.iter().map(|ranked| f64::from(ranked.weight) / total).enumerate() {
            // What weighs nothing adds nothing that could be measured, but is beyond the bound all the same.
            if p == 0.0 {
                return Some(rank);
            }
            terms -= p * p.ln();
            mass += p;
            let held = if whole { terms } else { terms / mass + mass.ln() };
            if held * MET > limit {
                return Some(rank);
            }
        }
        all.then_some(best.len())
    });
    candidates.keep_best(rank.max(min_keep));
    None
}
