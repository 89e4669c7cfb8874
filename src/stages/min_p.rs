//! Min-p (Nguyen et al., 2024): a share of the best one's probability.
//!
//! `P >= p · max P` is a threshold on scores, `max + T · ln p`: no exponential is needed.

use crate::candidates::{Candidates, MET};
use crate::math::{self, ceil};

/// Inclusive; `p > 0`.
pub(super) fn apply(candidates: &mut Candidates<'_>, p: Option<f64>, min_keep: usize) -> Option<f64> {
    let threshold = exact(candidates.max(), p?, candidates.temperature());
    candidates.keep_at_least(ceil(threshold), min_keep);
    Some(threshold)
}

/// The least score that stays.
pub(super) fn threshold(max: f32, p: f64, temperature: f64) -> f32 {
    ceil(exact(max, p, temperature))
}

fn exact(max: f32, p: f64, temperature: f64) -> f64 {
    f64::from(max) + distance(p, temperature)
}

/// How far below the best a score may be, as a number below zero.
pub(super) fn distance(p: f64, temperature: f64) -> f64 {
    temperature * math::ln(p * MET)
}
