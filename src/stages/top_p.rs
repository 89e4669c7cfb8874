//! Top-p, the nucleus (Holtzman et al., 2020): the shortest prefix, best first, whose mass is at least `p`.

use crate::candidates::Candidates;

/// The mass is that of the candidates as they are here. The token that crosses `p` stays; `p < 1`.
pub(super) fn apply(candidates: &mut Candidates<'_>, p: Option<f64>, min_keep: usize) -> Option<f64> {
    candidates.keep_mass(p?, min_keep);
    None
}
