//! Weights, and their sums.
//!
//! The weight of a score `x` is `exp(x / T)` up to a power of two common to the row. With `c = log2(e) / T`, `x · c` is
//! split into an integer `n` and a fraction `f` in [-1/2, 1/2], and the weight is `2^n · 2^f`. It is wanted relative to
//! `2^m`, where `m` is the even integer next to `max · c`:
//!
//! ```text
//! t = fma(x, high, r)              r = 1.5 · 2^23 - m: rounds x · c - m to an integer, kept in the low bits of t
//! f = fma(x, high, r - t)          r - t = -n; and high + low = c to 48 bits,
//! f = fma(x, low, f)               so f is as exact as x
//! p = a polynomial of degree six for 2^f, by fused multiply-adds
//! ```
//!
//! and `n - m`, which is what the low bits of `t` hold, goes into the exponent of `p`. The maximum enters as a power of two
//! alone, which is exact, and an even one does not turn ties between two `n`: a block can use its own maximum, before that
//! of the row is known, and one read of the row gives maxima and sums. So a weight is the same number in every block, in a
//! list of candidates and in the reference.
//!
//! The error is at most 1.07 units in the last place for every float in [-87, 0] at `T = 1` (tested on all of them).
//! Weights below 2^-126 of their reference are zero. Sums are `float64`.
//!
//! Limit: `|max · c|` of a row at most 2^15. Beyond that the caller shifts the scores first (see `candidates`). Parts of a row
//! go as far below as they can weigh anything.

use super::{BLOCK, Element, LANES, Simd, scan::scan_block};
use crate::kernels::{Base, Block};

/// 2^23 and half of it: the spacing of floats here is one, so adding it rounds to an integer.
const ROUND: f32 = 12_582_912.0;

/// 2^f on [-1/2, 1/2], lowest power first, after the constant 1: a minimax fit of the relative error, its rounded
/// coefficients then chosen for the least worst error over all floats.
const POWER: [f32; 6] = [
    f32::from_bits(0x3f31_721a),
    f32::from_bits(0x3e75_fe0e),
    f32::from_bits(0x3d63_561b),
    f32::from_bits(0x3c1d_7e37),
    f32::from_bits(0x3ab0_1a8d),
    f32::from_bits(0x3931_ca10),
];

/// The relative error of a rough sum: of positive numbers, each goes through at most three additions in `f32`.
pub(crate) const ROUGH: f64 = 3.0 / 16_777_216.0;

/// Blocks that share an exponent: few enough to stay in the nearest cache between the maxima and the sums.
pub(super) const PANEL: usize = 8;

/// How far ahead of the sums a row is fetched: one panel. Else memory would rest while a panel is summed, and the sums while
/// the maxima of the next are read.
pub(super) const AHEAD: usize = PANEL * BLOCK;

/// `p` and `t` of the module's text, from `r`.
#[inline(always)]
fn split<S: Simd>(s: S, x: S::F32, base: Base, round: S::F32) -> (S::F32, S::F32) {
    let high = s.splat(base.high);
    let t = s.mul_add(x, high, round);
    let f = s.mul_add(x, high, s.sub(round, t));
    let f = s.mul_add(x, s.splat(base.low), f);
    let p = s.mul_add(s.splat(POWER[5]), f, s.splat(POWER[4]));
    let p = s.mul_add(p, f, s.splat(POWER[3]));
    let p = s.mul_add(p, f, s.splat(POWER[2]));
    let p = s.mul_add(p, f, s.splat(POWER[1]));
    let p = s.mul_add(p, f, s.splat(POWER[0]));
    (s.mul_add(p, f, s.splat(1.0)), t)
}

/// What weights are relative to: `r` of the module's text, the least score whose weight is not zero, and `m`.
#[derive(Clone, Copy)]
pub(super) struct Top<S: Simd> {
    round: S::F32,
    pub(super) least: S::F32,
    pub(super) exponent: i32,
}

impl<S: Simd> Top<S> {
    #[inline(always)]
    pub(super) fn new(s: S, max: f32, base: Base) -> Self {
        let exponent = base.exponent(max);
        #[expect(clippy::cast_precision_loss, reason = "at most 2^15, and an integer")]
        let m = exponent as f32;
        Self { round: s.splat(ROUND - m), least: s.splat(base.least(exponent)), exponent }
    }

    #[inline(always)]
    pub(super) fn weight(self, s: S, x: S::F32, base: Base) -> S::F32 {
        let (p, t) = split(s, x, base, self.round);
        s.where_at_least(x, self.least, s.scale(p, t))
    }

    /// The weights of four vectors, added up.
    #[inline(always)]
    fn sum_quad<E: Element>(self, s: S, [a, b, c, d]: &[[E; LANES]; 4], base: Base) -> S::F32 {
        let ab = s.add(self.weight(s, s.load(a), base), self.weight(s, s.load(b), base));
        let cd = s.add(self.weight(s, s.load(c), base), self.weight(s, s.load(d), base));
        s.add(ab, cd)
    }

    /// Writes the weights of `xs` to `out`, and returns them. Both are fetched ahead.
    #[inline(always)]
    fn write<E: Element>(self, s: S, xs: &[E; LANES], base: Base, out: &mut [f32; LANES]) -> S::F32 {
        s.prefetch(xs, AHEAD);
        s.prefetch(out, AHEAD);
        let weights = self.weight(s, s.load(xs), base);
        s.store(weights, out);
        weights
    }

    /// Adds weight times `x - max`. The difference is kept finite, so that a weight of zero makes the product zero.
    #[inline(always)]
    fn add_moment(self, s: S, sums: S::F64, x: S::F32, max: f32, base: Base) -> S::F64 {
        s.accumulate_moment(sums, self.weight(s, x, base), s.max(x, s.splat(f32::MIN)), max.into())
    }
}

/// Writes, for every block, its largest score, an exponent, and the sum of the block's weights relative to two to the
/// power of that exponent. Returns whether any score is NaN. Rough if not `EXACT`: see [`mass_from`].
#[inline(always)]
pub(crate) fn mass<S: Simd, E: Element, const EXACT: bool>(s: S, xs: &[E], base: Base, blocks: &mut [Block]) -> bool {
    let mut nan = s.no_flags();
    for (xs, blocks) in xs.chunks(PANEL * BLOCK).zip(blocks.chunks_mut(PANEL)) {
        let max = panel(s, xs, blocks, &mut nan);
        if base.weighs(max) {
            let top = Top::new(s, max, base);
            for (xs, block) in xs.chunks(BLOCK).zip(blocks) {
                block.exponent = top.exponent;
                block.sum = sum::<S, E, EXACT, AHEAD>(s, xs, base, top);
            }
        }
    }
    s.any(nan)
}

/// Writes the largest score of every block of a panel, and returns the largest of all; marks NaN.
#[inline(always)]
pub(super) fn panel<S: Simd, E: Element>(s: S, xs: &[E], blocks: &mut [Block], nan: &mut S::Flags) -> f32 {
    let mut largest = f32::NEG_INFINITY;
    for (xs, block) in xs.chunks(BLOCK).zip(blocks) {
        *block = Block { max: scan_block(s, xs, nan), exponent: 0, sum: 0.0 };
        largest = largest.max(block.max);
    }
    largest
}

/// The sum of all weights; what lies so far `AHEAD` is fetched, unless that is zero.
#[inline(always)]
fn sum<S: Simd, E: Element, const EXACT: bool, const AHEAD: usize>(s: S, xs: &[E], base: Base, top: Top<S>) -> f64 {
    let mut sums = s.zero();
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let (quads, vectors) = if EXACT { (&[][..], vectors) } else { vectors.as_chunks::<4>() };
    let (octets, quads) = quads.as_chunks::<2>();
    for octet in octets {
        if AHEAD > 0 {
            octet.as_flattened().iter().for_each(|v| s.prefetch(v, AHEAD));
        }
        let [a, b] = octet;
        sums = s.accumulate(sums, s.add(top.sum_quad(s, a, base), top.sum_quad(s, b, base)));
    }
    for quad in quads {
        sums = s.accumulate(sums, top.sum_quad(s, quad, base));
    }
    for v in vectors {
        if AHEAD > 0 {
            s.prefetch(v, AHEAD);
        }
        sums = s.accumulate(sums, top.weight(s, s.load(v), base));
    }
    if !tail.is_empty() {
        sums = s.accumulate(sums, top.weight(s, s.load_tail(tail, f32::NEG_INFINITY), base));
    }
    s.sum(sums)
}

/// Like [`mass`], but the sums are rough, and the weights of each block are written to `out`, relative to two to the power of
/// its exponent.
#[inline(always)]
pub(crate) fn mass_out<S: Simd, E: Element>(s: S, xs: &[E], base: Base, blocks: &mut [Block], out: &mut [f32]) -> bool {
    let mut nan = s.no_flags();
    let panels = xs.chunks(PANEL * BLOCK).zip(out.chunks_mut(PANEL * BLOCK)).zip(blocks.chunks_mut(PANEL));
    for ((xs, out), blocks) in panels {
        let max = panel(s, xs, blocks, &mut nan);
        if !base.weighs(max) {
            out.fill(0.0);
            continue;
        }
        let top = Top::new(s, max, base);
        for ((xs, out), block) in xs.chunks(BLOCK).zip(out.chunks_mut(BLOCK)).zip(blocks) {
            block.exponent = top.exponent;
            block.sum = sum_out(s, xs, base, top, out);
        }
    }
    s.any(nan)
}

#[inline(always)]
fn sum_out<S: Simd, E: Element>(s: S, xs: &[E], base: Base, top: Top<S>, out: &mut [f32]) -> f64 {
    let mut sums = s.zero();
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let (outs, out_tail) = out.as_chunks_mut::<LANES>();
    let (quads, vectors) = vectors.as_chunks::<4>();
    let (out_quads, outs) = outs.as_chunks_mut::<4>();
    for ([a, b, c, d], [out_a, out_b, out_c, out_d]) in quads.iter().zip(out_quads) {
        let ab = s.add(top.write(s, a, base, out_a), top.write(s, b, base, out_b));
        let cd = s.add(top.write(s, c, base, out_c), top.write(s, d, base, out_d));
        sums = s.accumulate(sums, s.add(ab, cd));
    }
    for (v, out) in vectors.iter().zip(outs) {
        sums = s.accumulate(sums, top.write(s, v, base, out));
    }
    if !tail.is_empty() {
        let weight = top.weight(s, s.load_tail(tail, f32::NEG_INFINITY), base);
        s.store_tail(weight, out_tail);
        sums = s.accumulate(sums, weight);
    }
    s.sum(sums)
}

/// Writes, for every block, the sum of the weights of the scores of at least `threshold`, relative to the rounded weight of
/// `max`. Blocks whose maximum is below are not read.
///
/// Not `EXACT`, eight weights at a time are added in `f32` first: the sums are then rough, right within [`ROUGH`], relative.
#[inline(always)]
pub(crate) fn mass_from<S: Simd, E: Element, const EXACT: bool>(
    s: S,
    xs: &[E],
    base: Base,
    max: f32,
    threshold: f32,
    blocks: &mut [Block],
) {
    let mut top = Top::new(s, max, base);
    top.least = s.max(top.least, s.splat(threshold));
    for (xs, block) in xs.chunks(BLOCK).zip(blocks) {
        block.exponent = top.exponent;
        block.sum = if block.max >= threshold { sum::<S, E, EXACT, 0>(s, xs, base, top) } else { 0.0 };
    }
}

/// Writes the weights of `xs`, relative to the rounded weight of a score of `max`.
#[inline(always)]
pub(crate) fn weights<S: Simd, E: Element>(s: S, xs: &[E], base: Base, max: f32, out: &mut [f32]) {
    let top = Top::new(s, max, base);
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let (outs, out_tail) = out.as_chunks_mut::<LANES>();
    for (v, out) in vectors.iter().zip(outs) {
        s.store(top.weight(s, s.load(v), base), out);
    }
    if !tail.is_empty() {
        s.store_tail(top.weight(s, s.load_tail(tail, f32::NEG_INFINITY), base), out_tail);
    }
}

/// The sum over all scores of weight times `x - max`, in `f64`, weights relative to the rounded weight of `max`. A score of
/// -inf adds nothing: 0 · ln 0 is 0.
#[inline(always)]
pub(crate) fn moment<S: Simd, E: Element>(s: S, xs: &[E], base: Base, max: f32) -> f64 {
    let top = Top::new(s, max, base);
    let mut total = 0.0;
    for xs in xs.chunks(BLOCK) {
        let mut sums = s.zero();
        let (vectors, tail) = xs.as_chunks::<LANES>();
        for v in vectors {
            sums = top.add_moment(s, sums, s.load(v), max, base);
        }
        if !tail.is_empty() {
            sums = top.add_moment(s, sums, s.load_tail(tail, f32::NEG_INFINITY), max, base);
        }
        total += s.sum(sums);
    }
    total
}
