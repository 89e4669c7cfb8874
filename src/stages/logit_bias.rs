//! A number added to the score of an id; -inf bans it.

use crate::candidates::{Candidates, finite};

/// Adds each bias. What would overflow is the largest finite number.
pub(super) fn apply(candidates: &mut Candidates<'_>, biases: &[(u32, f64)]) {
    candidates.change(biases.iter().copied(), |x, bias| {
        if bias == f64::NEG_INFINITY { f32::NEG_INFINITY } else { (x + finite(bias)).clamp(f32::MIN, f32::MAX) }
    });
}
