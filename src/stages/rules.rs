//! Hard rules: what they remove, nothing brings back.

use crate::candidates::Candidates;

/// Token `t` is possible if bit `t & 31` of word `t >> 5` is set. Tokens beyond the last word are impossible; bits beyond
/// the last token do not count.
pub(super) fn mask(candidates: &mut Candidates<'_>, mask: Option<&[u32]>) {
    if let Some(mask) = mask {
        candidates.mask(mask);
    }
}

/// Only `allowed` stays possible.
pub(super) fn allowed_ids(candidates: &mut Candidates<'_>, allowed: Option<&[u32]>) {
    if let Some(allowed) = allowed {
        candidates.allow(allowed);
    }
}

/// The ids of `banned` become impossible: `suppress`, and the stop tokens before `min_tokens`.
pub(super) fn ban(candidates: &mut Candidates<'_>, banned: &[u32]) {
    candidates.ban(banned);
}
