//! Adaptive-p (llama.cpp, pull request 17927): probabilities near a target are preferred, and the target moves so that those of
//! the tokens drawn come to it on average.
//!
//! It does not cut: the many tokens next to zero, each of which it gives a small chance, are for cuts before it to remove.

use super::policy::Memory;
use crate::candidates::Candidates;

/// The shape of the preference: its height, how steeply it falls, and over which width.
const PEAK: f64 = 5.0;
const SHARPNESS: f64 = 10.0;
const WIDTH: f64 = 0.3;

/// Scores anew: `5 - 10 d² / (1 + d)`, `d` the distance of a probability from the target in widths.
pub(super) fn apply(candidates: &mut Candidates<'_>, target: f64, [weighted, total]: Memory) -> f64 {
    let aim = (2.0 * target - weighted / total).clamp(0.0, 1.0);
    candidates.score_probabilities(|p| {
        let distance = (p - aim).abs() / WIDTH;
        PEAK - SHARPNESS * (distance * distance) / (1.0 + distance)
    });
    aim
}

/// The decaying sums of probabilities and of their weights, after a token that had the probability `p`.
pub(super) fn next([weighted, total]: Memory, p: f64, decay: f64) -> Memory {
    [p + decay * weighted, 1.0 + decay * total]
}
