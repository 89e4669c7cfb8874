//! Locally typical sampling (Meister et al., arXiv 2202.00666): those whose surprise is closest to the entropy.

use crate::candidates::Candidates;
use crate::profile::Readings;

/// Keeps the most typical until their mass is at least `mass`, below 1; or exceeds it, or takes all as typical as the last,
/// as the readings say.
pub(super) fn apply(
    candidates: &mut Candidates<'_>,
    mass: Option<f64>,
    min_keep: usize,
    readings: Readings,
) -> Option<f64> {
    Some(candidates.keep_typical(mass?, min_keep, readings.typical_exceeds, readings.typical_ties))
}
