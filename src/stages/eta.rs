//! Eta: a least probability that falls with the entropy (Hewitt, Manning and Liang, arXiv 2210.15191).

use crate::candidates::Candidates;
use crate::math;

/// Keeps `P >= min(eta, √eta · e^-H)`, `H` the entropy. Where that is nobody, as epsilon.
pub(super) fn apply(candidates: &mut Candidates<'_>, eta: Option<f64>, min_keep: usize, ties: bool) -> Option<f64> {
    let log_eta = math::ln(eta?);
    let limit = log_eta.min(0.5 * log_eta - candidates.entropy());
    Some(candidates.keep_likely(limit, min_keep, ties))
}
