//! Min-k (arXiv 2604.11012): the candidates before the steepest drop of the scores.
//!
//! Scores best first; the drop before rank `i` is `(x[i-1] - x[i]) / i`, in units of the range of all finite scores.

use crate::candidates::{Candidates, MET};

/// Keeps `k`, the rank of the steepest drop, the first of equals; or `⌊tau / range⌋`, if that is more. A range of zero cuts
/// nothing.
pub(super) fn apply(candidates: &mut Candidates<'_>, tau: Option<f64>, min_keep: usize) -> Option<f64> {
    let least = candidates.least();
    let range = f64::from(candidates.max()) - f64::from(least);
    let tau = tau?;
    if range <= 0.0 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; what is too large is all")]
    let floor = (tau * candidates.temperature() / range / MET) as usize;
    candidates.keep_before_steepest(least, floor.max(min_keep));
    None
}
