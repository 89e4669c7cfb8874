//! Min-p (Nguyen et al., 2024): a share of the best one's probability.
//!
//! `P >= p · max P` is a threshold on scores, `max + T · ln p`: no exponential is needed.

use crate::candidates::{Candidates, MET};
use crate::kernels::ceil;
use crate::math;

/// Inclusive; `p > 0`.
pub(super) fn apply(candidates: &mut Candidates<'_>, p: Option<f64>, min_keep: usize) -> Option<f64> {
    let threshold = f64::from(candidates.max()) + candidates.temperature() * math::ln(p? * MET);
    candidates.keep_at_least(ceil(threshold), min_keep);
    Some(threshold)
}
