//! Top-k: the `k` best, of equals the lower ids (Fan, Lewis and Dauphin, 2018).

use crate::candidates::Candidates;

/// Keeps exactly `k`, or all there are, or `min_keep` if that is more.
pub(super) fn apply(candidates: &mut Candidates<'_>, k: Option<u64>, min_keep: usize) {
    if let Some(k) = k {
        candidates.keep_best(usize::try_from(k).unwrap_or(usize::MAX).max(min_keep));
    }
}
