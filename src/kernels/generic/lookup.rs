//! Where a score stands: the first place it is found, and how many are above it.

use super::{Element, LANES, Simd};

/// The index of the first score of at least `threshold`.
#[inline(always)]
pub(crate) fn position<S: Simd, E: Element>(s: S, xs: &[E], threshold: f32) -> Option<usize> {
    let limit = s.splat(threshold);
    let (vectors, tail) = xs.as_chunks::<LANES>();
    for (i, v) in vectors.iter().enumerate() {
        let bits = s.at_least(s.load(v), limit);
        if bits != 0 {
            return Some(i * LANES + bits.trailing_zeros() as usize);
        }
    }
    tail.iter().position(|&x| x.into() >= threshold).map(|i| vectors.len() * LANES + i)
}

/// How many scores are at least `threshold`.
#[inline(always)]
pub(crate) fn count<S: Simd, E: Element>(s: S, xs: &[E], threshold: f32) -> usize {
    let limit = s.splat(threshold);
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let whole: usize = vectors.iter().map(|v| s.at_least(s.load(v), limit).count_ones() as usize).sum();
    whole + tail.iter().filter(|&&x| x.into() >= threshold).count()
}
