//! Runs of tokens that are impossible: the last id of one is banned when the rest of it is how the context ends.

use crate::candidates::Candidates;

/// Bans what would complete one of `words` after `context`. A word of one token is banned always.
pub(super) fn apply(candidates: &mut Candidates<'_>, words: &[Vec<u32>], context: &[u32]) {
    for word in words {
        if let [rest @ .., last] = &word[..]
            && context.ends_with(rest)
        {
            candidates.ban(&[*last]);
        }
    }
}
