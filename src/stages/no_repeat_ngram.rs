//! No run of `n` tokens occurs twice: Paulus et al., "A Deep Reinforced Model for Abstractive Summarization" (2017).

use crate::candidates::Candidates;
use crate::history::Ngrams;

/// Bans the tokens that would complete a run that the context holds.
pub(super) fn apply(candidates: &mut Candidates<'_>, ngrams: Option<&Ngrams>, context: &[u32]) {
    if let Some(ngrams) = ngrams {
        candidates.change(ngrams.completing(context), |_, _| f32::NEG_INFINITY);
    }
}
