//! Top-k: the `k` best, of equals the lower ids (Fan, Lewis and Dauphin, 2018).

use crate::candidates::Candidates;

/// Keeps exactly `k`, or all there are, or `min_keep` if that is more; with `ties` also all that equal the last of them.
pub(super) fn apply(candidates: &mut Candidates<'_>, k: Option<u64>, min_keep: usize, ties: bool) -> Option<f64> {
    let k = usize::try_from(k?).unwrap_or(usize::MAX).max(min_keep);
    if ties {
        candidates.keep_best_and_ties(k);
    } else {
        candidates.keep_best(k);
    }
    None
}
