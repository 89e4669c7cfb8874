//! No run of `n` tokens occurs twice: Paulus et al., "A Deep Reinforced Model for Abstractive Summarization" (2017).

use crate::candidates::Candidates;
use crate::history::Ngrams;

/// Bans the tokens that would complete a run that the context holds.
pub(super) fn apply(candidates: &mut Candidates<'_>, ngrams: Option<&Ngrams>, context: &[u32]) {
    for id in ngrams.into_iter().flat_map(|ngrams| ngrams.completing(context)) {
        candidates.change(id, |_| f32::NEG_INFINITY);
    }
}
