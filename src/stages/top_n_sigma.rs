//! Top-nσ (Tang et al., arXiv 2411.07641): scores no further than `n` population deviations below the best.
//!
//! Impossible tokens count neither in the mean nor in the deviation. Both sides scale with the temperature, so it does not
//! matter when that comes.

use crate::candidates::{Candidates, MET};
use crate::math::ceil;

pub(super) fn apply(candidates: &mut Candidates<'_>, n: Option<f64>, min_keep: usize) -> Option<f64> {
    let threshold = f64::from(candidates.max()) - n? * candidates.deviation() / MET;
    candidates.keep_at_least(ceil(threshold), min_keep);
    Some(threshold)
}
