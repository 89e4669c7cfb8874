//! P-less (Tan et al., arXiv 2509.23234): a least probability that the whole distribution sets.

use crate::candidates::Candidates;

/// Keeps `P >= (Σ P^q)^(1 / (q - 1))`, `q` the order, above 1. The sum is a mass as well: at the temperature `T / q`.
pub(super) fn apply(candidates: &mut Candidates<'_>, order: Option<f64>, min_keep: usize) -> Option<f64> {
    let q = order?;
    let powers = candidates.log_mass_at(q);
    let limit = powers / (q - 1.0) - candidates.log_mass() * (q / (q - 1.0));
    Some(candidates.keep_likely(limit, min_keep, false))
}
