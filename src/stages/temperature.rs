//! The temperature: probabilities are those of `(x - max) / T`; at `T = 0` the best token is left.
//!
//! While nobody looks at the scores the division is left to the weights (see `candidates`). Here it is written out.
//!
//! Smoothing is part of it: what the temperature has divided becomes a curve, and is always written out.

use crate::candidates::{Candidates, finite, scaled};
use crate::math;
use crate::params::Params;

/// Sets the temperature, which a range makes follow the entropy, smooths, and returns the temperature.
pub(super) fn apply(candidates: &mut Candidates<'_>, params: &Params) -> f64 {
    let temperature = match params.dynatemp_range {
        Some(range) if params.temperature > 0.0 => {
            dynamic(candidates, params.temperature, range, params.dynatemp_exponent)
        }
        _ => params.temperature,
    };
    match params.smoothing_factor {
        Some(factor) if temperature > 0.0 => smooth(candidates, temperature, factor, params.smoothing_curve),
        None if temperature > 0.0 => candidates.set_temperature(temperature),
        _ => candidates.keep_best(1),
    }
    temperature
}

/// From `temperature - range` to `temperature + range`, both held in `[0, f64::MAX]`, by the entropy's share of what it could
/// be, to the power of `exponent` (llama.cpp, pull request 4972).
fn dynamic(candidates: &mut Candidates<'_>, temperature: f64, range: f64, exponent: f64) -> f64 {
    let count = candidates.len();
    if count == 1 {
        return temperature;
    }
    #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
    let share = (candidates.entropy() / math::ln(count as f64)).min(1.0);
    let low = (temperature - range).max(0.0);
    let high = (temperature + range).min(f64::MAX);
    low + (high - low) * math::pow(share, exponent)
}

/// Quadratic sampling and its cubic term (kalomaze, text-generation-webui, pull requests 5403 and 5551): a score that the
/// temperature leaves `a` below the best comes to `factor · a² · (k + s·a)` below it, rounded once. Like the quotient, `a` is
/// held inside `f32`. So nothing is NaN: the sum in brackets can only overflow where `a` is above 1.
fn smooth(candidates: &mut Candidates<'_>, temperature: f64, factor: f64, curve: f64) {
    let max = f64::from(candidates.max());
    let best = if temperature == 1.0 { max } else { 0.0 };
    let (square, cube) = ((3.0 - curve) / 2.0, (curve - 1.0) / 2.0);
    candidates.rewrite(|x| {
        let below = ((max - f64::from(x)) / temperature).min(f32::MAX.into());
        finite(best - factor * (below * below * (square + cube * below)))
    });
}

/// Writes `(x - max) / T` for every candidate, and -inf for the rest of `out`. At `T = 1` scores keep their bits.
pub(crate) fn write_scaled(candidates: &mut Candidates<'_>, out: &mut [f32]) {
    out.fill(f32::NEG_INFINITY);
    let (temperature, max) = (candidates.temperature(), candidates.max());
    candidates.for_each(|id, x| out[id as usize] = scaled(x, max, temperature));
}
