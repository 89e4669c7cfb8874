//! XTC, "exclude top choices" (text-generation-webui, pull request 6335).

use crate::candidates::Candidates;
use crate::math;
use crate::params::Params;

/// If the coin falls below the probability: of the candidates with `P >= threshold`, all but the least likely go, of equals
/// the lowest id stays. It takes two. A protected id counts among them and stays. If fewer than `min_keep` would be left, the
/// best of all stay, and the protected.
pub(super) fn apply(candidates: &mut Candidates<'_>, params: &Params, min_keep: usize, coin: f64) -> Option<f64> {
    if coin >= params.xtc_probability? {
        return None;
    }
    let limit = math::ln(params.xtc_threshold);
    Some(candidates.exclude_likely(limit, &params.xtc_protect, min_keep, params.readings.xtc_or_nothing))
}
