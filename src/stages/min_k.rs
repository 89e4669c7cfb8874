//! Min-k (arXiv 2604.11012): the candidates before the steepest drop of the scores.
//!
//! Scores best first; the drop before rank `i` is `(x[i-1] - x[i]) / i`, in units of the range of all finite scores. It is
//! at most what is left of the range over `i`, so a short prefix usually settles which is the steepest.

use crate::candidates::{Candidates, MET};

/// Keeps `k`, the rank of the steepest drop, the first of equals; or `⌊tau / range⌋`, if that is more. A range of zero cuts
/// nothing.
pub(super) fn apply(candidates: &mut Candidates<'_>, tau: Option<f64>, min_keep: usize) -> Option<f64> {
    let least = f64::from(candidates.least());
    let range = f64::from(candidates.max()) - least;
    let tau = tau?;
    if range <= 0.0 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count; what is too large is all")]
    let floor = (tau * candidates.temperature() / range / MET) as usize;
    candidates.keep_settled(false, floor.max(min_keep), |best, whole| {
        let best = best.scores;
        let (mut steepest, mut rank) = (0.0, 1);
        for (i, pair) in (1_u32..).zip(best.windows(2)) {
            let gap = f64::from(pair[0]) - f64::from(pair[1]);
            // Few are divided: rounding is not more than this.
            if gap > steepest * f64::from(i) * (1.0 - f64::EPSILON) && gap / f64::from(i) > steepest {
                (steepest, rank) = (gap / f64::from(i), i as usize);
            }
        }
        let end = best.last().map_or(least, |&x| x.into());
        #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
        let left = (end - least) / best.len() as f64;
        (whole || steepest >= left).then_some(rank)
    });
    None
}
