//! Top-a (`KoboldAI`): a share of the square of the best one's probability.

use crate::candidates::Candidates;
use crate::math;

/// Keeps `P >= a · max²`.
pub(super) fn apply(candidates: &mut Candidates<'_>, a: Option<f64>, min_keep: usize) -> Option<f64> {
    let limit = math::ln(a?) - 2.0 * candidates.log_mass();
    Some(candidates.keep_likely(limit, min_keep, false))
}
