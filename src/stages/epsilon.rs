//! Epsilon: a least probability (Hewitt, Manning and Liang, arXiv 2210.15191).

use crate::candidates::Candidates;
use crate::math;

/// Keeps `P >= epsilon`. Where that is nobody: the best `min_keep`, with `ties` all that equal the last of them.
pub(super) fn apply(candidates: &mut Candidates<'_>, epsilon: Option<f64>, min_keep: usize, ties: bool) -> Option<f64> {
    Some(candidates.keep_likely(math::ln(epsilon?), min_keep, ties))
}
