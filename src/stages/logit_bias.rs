//! A number added to the score of an id; -inf bans it.

use crate::candidates::{Candidates, finite};

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
