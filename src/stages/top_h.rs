//! Top-H (arXiv 2509.02510): a bound on the entropy of what is kept.
//!
//! The entropy of a prefix, renormalised, grows with every token, so the first that exceeds the bound ends it. It follows from
//! two sums over the prefix: no order within is needed.

use crate::candidates::{Candidates, MET};
use crate::math;

/// As many of the best are all that transformers looks at.
const BEST: usize = 100;

/// Keeps the longest prefix, best first, whose entropy is at most `share` of that of all. With `whole` its entropy is the sum
/// of its terms in the distribution of all, and all are the best hundred: so transformers reads the paper. What weighs
/// nothing adds nothing that could be measured, and goes.
pub(super) fn apply(candidates: &mut Candidates<'_>, share: Option<f64>, min_keep: usize, whole: bool) -> Option<f64> {
    let share = share?;
    if whole {
        candidates.keep_best(BEST.max(min_keep));
    }
    let limit = share * candidates.entropy();
    candidates.keep_longest(min_keep, |mass, terms| {
        let held = if whole { terms } else { terms / mass + math::ln(mass) };
        held * MET <= limit
    });
    None
}
