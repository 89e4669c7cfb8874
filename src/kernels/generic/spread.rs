//! How far the finite scores are spread: the sums that mean and deviation are made of, and the least of them.
//!
//! Sums are `float64`, block by block, relative to a center that the caller chooses close enough for the digits.

use super::{BLOCK, Element, LANES, Simd};

/// The sums of `x - center` and of its square over all finite scores.
#[inline(always)]
pub(crate) fn spread<S: Simd, E: Element>(s: S, xs: &[E], center: f32) -> [f64; 2] {
    let (lowest, middle) = (s.splat(f32::MIN), s.splat(center));
    let finite = |v| s.blend(s.at_least(v, lowest), v, middle);
    let mut total = [0.0; 2];
    for xs in xs.chunks(BLOCK) {
        let mut sums = [s.zero(); 2];
        let (vectors, tail) = xs.as_chunks::<LANES>();
        for v in vectors {
            sums = s.accumulate_spread(sums, finite(s.load(v)), center.into());
        }
        if !tail.is_empty() {
            sums = s.accumulate_spread(sums, finite(s.load_tail(tail, center)), center.into());
        }
        total = [total[0] + s.sum(sums[0]), total[1] + s.sum(sums[1])];
    }
    total
}

/// The least finite score; +inf when there is none.
#[inline(always)]
pub(crate) fn least<S: Simd, E: Element>(s: S, xs: &[E]) -> f32 {
    let (lowest, none) = (s.splat(f32::MIN), s.splat(f32::NEG_INFINITY));
    let negated = |v| s.blend(s.at_least(v, lowest), s.sub(s.splat(0.0), v), none);
    let mut most = none;
    let (vectors, tail) = xs.as_chunks::<LANES>();
    for v in vectors {
        most = s.max(most, negated(s.load(v)));
    }
    if !tail.is_empty() {
        most = s.max(most, negated(s.load_tail(tail, f32::NEG_INFINITY)));
    }
    // Adding +0 turns -0 into +0 and changes nothing else.
    -s.reduce_max(most) + 0.0
}
