//! Repetition, frequency and presence: what was said becomes less likely.
//!
//! Repetition: Keskar et al., "CTRL" (2019), with the division of scores above zero and the multiplication of those below
//! that transformers made of it. Frequency and presence: the definitions of the `OpenAI` API.
//!
//! They touch the tokens that were seen, never the vocabulary. What would overflow is the largest finite number.

use crate::candidates::{Candidates, finite};
use crate::history::Counts;

/// Scores above zero are divided by `penalty`, those below multiplied, once per token.
pub(super) fn repetition(candidates: &mut Candidates<'_>, penalty: Option<f64>, seen: Option<&Counts>) {
    let (Some(penalty), Some(seen)) = (penalty, seen) else { return };
    // The least positive float, should the penalty round to zero: 0 / 0 would be NaN.
    let penalty = finite(penalty).max(f32::from_bits(1));
    candidates.change(seen.iter(), |x, _| {
        // One of the two is zero. A branch would be foreseen half the time.
        let changed = x.max(0.0) / penalty + x.min(0.0) * penalty;
        changed.clamp(f32::MIN, f32::MAX)
    });
}

/// Takes `penalty` for every time the token was seen.
pub(super) fn frequency(candidates: &mut Candidates<'_>, penalty: Option<f64>, seen: Option<&Counts>) {
    let (Some(penalty), Some(seen)) = (penalty, seen) else { return };
    candidates.change(seen.iter(), |x, count| {
        let taken = finite(penalty * f64::from(count));
        (x - taken).clamp(f32::MIN, f32::MAX)
    });
}

/// Takes `penalty` once.
pub(super) fn presence(candidates: &mut Candidates<'_>, penalty: Option<f64>, seen: Option<&Counts>) {
    let (Some(penalty), Some(seen)) = (penalty, seen) else { return };
    let taken = finite(penalty);
    candidates.change(seen.iter(), |x, _| (x - taken).clamp(f32::MIN, f32::MAX));
}
