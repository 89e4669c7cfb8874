//! Block maxima, and whether any score is NaN.
//!
//! One read of the row. Four accumulators hide the latency of `max`; one unordered compare checks two vectors for NaN.
//! A maximum does not depend on the order, except that -0 and +0 are equal: a block's maximum is never -0.
//!
//! This is how it is done in single precision; `halves` has the same for half.

use super::{BLOCK, Element, LANES, Simd, WORD, bits, to_line};
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
///
/// With a packed `mask`, -inf is written where it has no bit, and the maxima are those of the others; but NaN is told, and a
/// maximum is +inf, wherever in a block they are.
#[inline(always)]
pub(crate) fn scan_copy<S: Simd, E: Element>(
    s: S,
    xs: &[E],
    mask: Option<&[u32]>,
    out: &mut [f32],
    blocks: &mut [Block],
) -> bool {
    let mut nan = s.no_flags();
    for (i, ((xs, out), block)) in xs.chunks(BLOCK).zip(out.chunks_mut(BLOCK)).zip(blocks).enumerate() {
        block.max = scan_block(s, xs, &mut nan);
        // Still in the nearest cache.
        E::widen(s, xs, out);
        if let Some(words) = mask {
            super::write::mask(s, out, words.get(i * (BLOCK / WORD)..).unwrap_or_default());
            let max = largest(s, out, &mut s.no_flags());
            block.max = if block.max < f32::INFINITY { max } else { f32::INFINITY };
        }
    }
    s.any(nan)
}

/// Writes the largest score of every block but for the places whose bit of `except` is set, and returns whether any score at
/// all is NaN or +inf.
#[inline(always)]
pub(crate) fn scan_except<S: Simd, E: Element>(s: S, xs: &[E], except: &[u32], blocks: &mut [Block]) -> bool {
    let mut nan = s.no_flags();
    let mut max = [s.splat(f32::NEG_INFINITY); 2];
    for (i, (xs, block)) in xs.chunks(BLOCK).zip(blocks).enumerate() {
        let left = lanes_except(s, xs, behind(except, i), |a, b| {
            nan = s.flag_nan(nan, a, b);
            max = [s.max(max[0], a), s.max(max[1], b)];
        });
        block.max = s.reduce_max(left) + 0.0;
    }
    s.any(nan) || s.reduce_max(s.max(max[0], max[1])) == f32::INFINITY
}

/// Writes the largest score of the `stale` blocks, by number, but for the places whose bit of `except` is set.
#[inline(always)]
pub(crate) fn rescan<S: Simd, E: Element>(s: S, xs: &[E], except: &[u32], stale: &[u32], blocks: &mut [Block]) {
    for &block in stale {
        let block = block as usize;
        let xs = &xs[block * BLOCK..xs.len().min((block + 1) * BLOCK)];
        blocks[block].max = s.reduce_max(lanes_left(s, xs, behind(except, block))) + 0.0;
    }
}

/// The words of a set from a block on, by number.
#[inline(always)]
fn behind(words: &[u32], block: usize) -> &[u32] {
    words.get(block * (BLOCK / WORD)..).unwrap_or_default()
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

/// Writes sixteen maxima for every `span` scores, one per lane: the largest score of sixteen interleaved parts, but for the
/// places whose bit of `except` is set. A lane in which nothing is left has -inf. `span` is a multiple of [`WORD`].
#[inline(always)]
pub(crate) fn lane_maxima<S: Simd, E: Element>(s: S, xs: &[E], span: usize, except: &[u32], maxima: &mut [f32]) {
    let (outs, _) = maxima.as_chunks_mut::<LANES>();
    for (i, (xs, out)) in xs.chunks(span).zip(outs).enumerate() {
        let except = except.get(i * (span / WORD)..).unwrap_or_default();
        s.store(lanes_left(s, xs, except), out);
    }
}

/// The largest score of each lane, but for the places whose bit is set.
#[inline(always)]
fn lanes_left<S: Simd, E: Element>(s: S, xs: &[E], except: &[u32]) -> S::F32 {
    if except.is_empty() { E::lane_maxima(s, xs) } else { lanes_except(s, xs, except, |_, _| ()) }
}

/// The same, with `see` shown all vectors, by two.
#[inline(always)]
fn lanes_except<S: Simd, E: Element>(s: S, xs: &[E], except: &[u32], mut see: impl FnMut(S::F32, S::F32)) -> S::F32 {
    // The larger of two where no bit is set: with AVX-512 one instruction.
    let larger = |max, v, i| s.blend(!bits(except, i), s.max(max, v), max);
    let mut max = [s.splat(f32::NEG_INFINITY); 4];
    let (quads, rest) = xs.as_chunks::<{ 4 * LANES }>();
    for (quad, i) in quads.iter().zip((0..).step_by(4)) {
        let (vectors, _) = quad.as_chunks();
        let (a, b) = (s.load(&vectors[0]), s.load(&vectors[1]));
        let (c, d) = (s.load(&vectors[2]), s.load(&vectors[3]));
        see(a, b);
        see(c, d);
        max = [larger(max[0], a, i), larger(max[1], b, i + 1), larger(max[2], c, i + 2), larger(max[3], d, i + 3)];
    }
    let (vectors, tail) = rest.as_chunks();
    let start = 4 * quads.len();
    for (v, i) in vectors.iter().zip(start..) {
        let v = s.load(v);
        see(v, v);
        max[0] = larger(max[0], v, i);
    }
    if !tail.is_empty() {
        let v = s.load_tail(tail, f32::NEG_INFINITY);
        see(v, v);
        max[1] = larger(max[1], v, start + vectors.len());
    }
    s.max(s.max(max[0], max[1]), s.max(max[2], max[3]))
}

/// The largest score of each lane, of single precision.
#[inline(always)]
pub(super) fn lanes<S: Simd>(s: S, xs: &[f32]) -> S::F32 {
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let mut max = [s.splat(f32::NEG_INFINITY); 4];
    max[0] = s.load_tail(tail, f32::NEG_INFINITY);
    let (quads, rest) = vectors.as_chunks::<4>();
    for quad in quads {
        for (max, v) in max.iter_mut().zip(quad) {
            *max = s.max(*max, s.load(v));
        }
    }
    for (max, v) in max.iter_mut().zip(rest) {
        *max = s.max(*max, s.load(v));
    }
    s.max(s.max(max[0], max[1]), s.max(max[2], max[3]))
}
