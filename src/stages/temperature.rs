//! The temperature: probabilities are those of `(x - max) / T`; at `T = 0` the best token is left.
//!
//! While nobody looks at the scores the division is left to the weights (see `candidates`). Here it is written out.

use crate::candidates::{Candidates, scaled};
use crate::math;
use crate::params::Params;

/// Sets the temperature, which a range makes follow the entropy, and returns it.
pub(super) fn apply(candidates: &mut Candidates<'_>, params: &Params) -> f64 {
    let temperature = match params.dynatemp_range {
        Some(range) if params.temperature > 0.0 => {
            dynamic(candidates, params.temperature, range, params.dynatemp_exponent)
        }
        _ => params.temperature,
    };
    if temperature > 0.0 {
        candidates.set_temperature(temperature);
    } else {
        candidates.keep_best(1);
    }
    temperature
}

/// From `temperature - range` to `temperature + range`, by the entropy's share of what it could be, to the power of
/// `exponent` (llama.cpp, pull request 4972).
fn dynamic(candidates: &mut Candidates<'_>, temperature: f64, range: f64, exponent: f64) -> f64 {
    let count = candidates.len();
    if count == 1 {
        return temperature;
    }
    #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
    let share = candidates.entropy() / math::ln(count as f64);
    let low = (temperature - range).max(0.0);
    low + (temperature + range - low) * math::pow(share, exponent)
}

/// Writes `(x - max) / T` for every candidate, and -inf for the rest of `out`. At `T = 1` scores keep their bits.
pub(crate) fn write_scaled(candidates: &Candidates<'_>, out: &mut [f32]) {
    out.fill(f32::NEG_INFINITY);
    let (temperature, max) = (candidates.temperature(), candidates.max());
    candidates.for_each(|id, x| out[id as usize] = scaled(x, max, temperature));
}
