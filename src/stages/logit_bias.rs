//! A number added to the score of an id; -inf bans it.

use crate::candidates::Candidates;

/// Adds each bias. What would overflow is the largest finite number.
pub(super) fn apply(candidates: &mut Candidates<'_>, biases: &[(u32, f64)]) {
    for &(id, bias) in biases {
        if bias == f64::NEG_INFINITY {
            candidates.change(id, |_| f32::NEG_INFINITY);
        } else {
            let bias = finite(bias);
            candidates.change(id, |x| (x + bias).clamp(f32::MIN, f32::MAX));
        }
    }
}

/// The nearest finite `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounds, and the range is clamped first")]
pub(super) fn finite(x: f64) -> f32 {
    x.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}
