//! Mirostat (Basu et al., arXiv 2007.14966): a bound `mu` on the surprise, moved after every token so that the surprise
//! comes to `tau` bits.

use std::f64::consts::LN_2;
use std::sync::LazyLock;

use crate::candidates::Candidates;
use crate::math;

/// The first version fits its exponent to this many of the best.
const FIT: u8 = 100;

/// `ln((r + 1) / r)` for the ranks `r` from 1 on.
static RANKS: LazyLock<Vec<f64>> =
    LazyLock::new(|| (1..FIT).map(|rank| math::ln((f64::from(rank) + 1.0) / f64::from(rank))).collect());

/// Keeps the `k` best, `k` from `mu` and from a power law (Zipf's) fitted to the best probabilities; at least one.
pub(super) fn first(candidates: &mut Candidates<'_>, mu: f64) {
    #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
    let vocab = candidates.vocabulary() as f64;
    let (mut products, mut squares, mut pairs) = (0.0, 0.0, 0.0);
    let temperature = candidates.temperature();
    let best = candidates.best_weighty(FIT.into());
    for (t, pair) in RANKS.iter().zip(best.windows(2)) {
        // The logarithm of a ratio of probabilities is a difference of scores.
        products += t * (f64::from(pair[0]) - f64::from(pair[1])) / temperature;
        squares += t * t;
        pairs += 1.0;
    }
    if pairs == 0.0 {
        candidates.keep_best(1);
        return;
    }
    let slope: f64 = products / squares;
    // A flat row has no law to follow.
    if slope > 0.0 {
        let excess = slope - 1.0;
        let spread = if excess == 0.0 { math::ln(vocab) } else { (1.0 - math::pow(vocab, -excess)) / excess };
        let k = if spread > 0.0 { math::pow(math::exp2(mu) / spread, 1.0 / slope) } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a count")]
        candidates.keep_best(k.clamp(1.0, vocab) as usize);
    }
}

/// Keeps what surprises by at most `mu` bits, and the best.
pub(super) fn second(candidates: &mut Candidates<'_>, mu: f64) {
    candidates.keep_likely(-mu * LN_2, 1, false);
}

/// `mu` before the first token.
pub(super) fn start(tau: f64) -> f64 {
    (2.0 * tau).min(f64::MAX)
}

/// `mu` after a token of this log-probability among what was kept: finite, however far `eta` reaches.
pub(super) fn next(mu: f64, logprob: f64, tau: f64, eta: f64) -> f64 {
    (mu - eta * (-logprob / LN_2 - tau)).clamp(f64::MIN, f64::MAX)
}
