//! The temperature: probabilities are those of `(x - max) / T`.
//!
//! While nobody looks at the scores the division is left to the weights (see `candidates`). Here it is written out.

use crate::candidates::Candidates;

/// Writes `(x - max) / T` for every candidate, and -inf for the rest of `out`. At `T = 1` scores keep their bits.
pub(crate) fn write_scaled(candidates: &Candidates<'_>, out: &mut [f32]) {
    out.fill(f32::NEG_INFINITY);
    let (temperature, max) = (candidates.temperature(), f64::from(candidates.max()));
    for (id, x) in candidates.iter() {
        let scaled = if temperature == 1.0 { x } else { super::logit_bias::finite((f64::from(x) - max) / temperature) };
        out[id as usize] = scaled;
    }
}
