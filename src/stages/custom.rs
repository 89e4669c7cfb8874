//! Processors of the caller's own, one after the other.
//!
//! Each sees the whole row, so a list of candidates is spread out for it; what was impossible stays so. The row is copied
//! for each call, since what a processor leaves is not trusted before it was looked at.

use crate::candidates::Candidates;
use crate::error::Error;
use crate::processor::{Failure, Processor};

/// Replaces the scores by what the processors make of them. The row that they see is `width` long.
pub(super) fn apply(
    candidates: &mut Candidates<'_>,
    processors: &[Processor],
    context: &[u32],
    width: usize,
) -> Result<(), Error> {
    let vocab = candidates.vocabulary();
    let mut scores = vec![f32::NEG_INFINITY; width.max(vocab)];
    candidates.for_each(|id, x| scores[id as usize] = x);
    for processor in processors {
        let before = scores.clone();
        processor.run(context, &mut scores).map_err(failed)?;
        if let Some(token) = scores[..vocab].iter().position(|x| x.is_nan() || *x == f32::INFINITY) {
            let what =
                format!("a processor gave token {token} the score {}: scores must be finite or -inf", scores[token]);
            return Err(failed(Failure::Answer { token: Some(token), what }));
        }
        for (x, _) in scores.iter_mut().zip(&before).filter(|(_, before)| **before == f32::NEG_INFINITY) {
            *x = f32::NEG_INFINITY;
        }
    }
    candidates.rescore(&scores);
    Ok(())
}

fn failed(failure: Failure) -> Error {
    Error::Processor { row: None, failure }
}
