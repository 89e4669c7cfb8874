//! Block maxima, and whether any score is NaN.
//!
//! One read of the row. Four accumulators hide the latency of `max`; one unordered compare checks two vectors for NaN.
//! A maximum does not depend on the order, except that -0 and +0 are equal: a block's maximum is never -0.
//!
//! This is how it is done in single precision; `halves` has the same for half.

use super::{BLOCK, Element, LANES, Simd, to_line};
use crate::kernels::Block;

/// Writes the largest score of every block and returns whether any score is NaN. `blocks` has one entry per `BLOCK`
/// scores, the last block may be short.
#[inline(always)]
pub(crate) fn scan<S: Simd, E: Element>(s: S, xs: &[E], blocks: &mut [Block]) -> bool {
    let mut nan = s.no_flags();
    let (whole, last) = xs.as_chunks::<BLOCK>();
    let mut blocks = blocks.iter_mut();
    for (xs, block) in whole.iter().zip(&mut blocks) {
        block.max = scan_block(s, xs, &mut nan);
    }
    if let (Some(block), false) = (blocks.next(), last.is_empty()) {
        block.max = scan_block(s, last, &mut nan);
    }
    s.any(nan)
}

/// Like [`scan`], and writes the scores as `f32` to `out`, which is as long: a row that will be changed is read once.
#[inline(always)]
pub(crate) fn scan_copy<S: Simd, E: Element>(s: S, xs: &[E], out: &mut [f32], blocks: &mut [Block]) -> bool {
    let mut nan = s.no_flags();
    for ((xs, out), block) in xs.chunks(BLOCK).zip(out.chunks_mut(BLOCK)).zip(blocks) {
        block.max = scan_block(s, xs, &mut nan);
        // Still in the nearest cache.
        E::widen(s, xs, out);
    }
    s.any(nan)
}

/// The largest score of one block; marks NaN.
#[inline(always)]
pub(super) fn scan_block<S: Simd, E: Element>(s: S, xs: &[E], nan: &mut S::Flags) -> f32 {
    E::largest(s, xs, nan)
}

/// [`scan_block`] of single precision.
///
/// The vectors between the ends lie where a cache line begins, which in a near cache is nearly twice as fast. Those at the
/// ends overlap with them, which a maximum does not mind.
#[inline(always)]
pub(super) fn largest<S: Simd>(s: S, xs: &[f32], nan: &mut S::Flags) -> f32 {
    let (Some(first), Some(last)) = (xs.first_chunk(), xs.last_chunk()) else {
        let v = s.load_tail(xs, f32::NEG_INFINITY);
        *nan = s.flag_nan(*nan, v, v);
        return s.reduce_max(v) + 0.0;
    };
    let (first, last) = (s.load(first), s.load(last));
    *nan = s.flag_nan(*nan, first, last);
    let none = s.splat(f32::NEG_INFINITY);
    let mut max = [first, last, none, none];
    let (vectors, _) = xs[to_line(xs)..].as_chunks::<LANES>();
    let (quads, rest) = vectors.as_chunks::<4>();
    for [a, b, c, d] in quads {
        let (a, b, c, d) = (s.load(a), s.load(b), s.load(c), s.load(d));
        *nan = s.flag_nan(s.flag_nan(*nan, a, b), c, d);
        max = [s.max(max[0], a), s.max(max[1], b), s.max(max[2], c), s.max(max[3], d)];
    }
    for v in rest {
        let v = s.load(v);
        *nan = s.flag_nan(*nan, v, v);
        max[0] = s.max(max[0], v);
    }
    // Adding +0 turns -0 into +0 and changes nothing else.
    s.reduce_max(s.max(s.max(max[0], max[1]), s.max(max[2], max[3]))) + 0.0
}

/// Writes sixteen maxima for every `span` scores, one per lane: the largest score of sixteen interleaved parts. A last span
/// that is short leaves -inf where a lane has nothing.
#[inline(always)]
pub(crate) fn lane_maxima<S: Simd, E: Element>(s: S, xs: &[E], span: usize, maxima: &mut [f32]) {
    let (outs, _) = maxima.as_chunks_mut::<LANES>();
    for (xs, out) in xs.chunks(span).zip(outs) {
        s.store(E::lane_maxima(s, xs), out);
    }
}

/// The largest score of each lane, of single precision.
#[inline(always)]
pub(super) fn lanes<S: Simd>(s: S, xs: &[f32]) -> S::F32 {
    let mut max = s.splat(f32::NEG_INFINITY);
    let (vectors, tail) = xs.as_chunks::<LANES>();
    for v in vectors {
        max = s.max(max, s.load(v));
    }
    if tail.is_empty() { max } else { s.max(max, s.load_tail(tail, f32::NEG_INFINITY)) }
}
