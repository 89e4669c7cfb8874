//! Sums of weights within three per cent, in a third of the time: enough to tell which blocks matter.
//!
//! With `x · c = n + f`, `n` an integer and `f` in [0, 1), the weight `2^n · 2^f` is taken for `2^n · (1 + f)`, which is the
//! float whose exponent is `n` and whose mantissa is `f`. One fused multiply-add leaves both side by side in the low bits of
//! its result, and a shift moves them to where a float has them (Schraudolph, Neural Computation 11, 1999):
//!
//! ```text
//! t = fma(x, high, r)              r = 1.5 · 2^11 + 127 - m: multiples of 2^-12
//! weight ~ the bits of t, 11 places to the left
//! ```
//!
//! `1 + f` is up to 1.0615 times `2^f`, never less: sums are made smaller by half of that.
//!
//! Limit: that of `mass`. Weights below 2^-126 of their reference count as that, and so does -inf.

use super::mass::{AHEAD, PANEL, panel};
use super::{BLOCK, Element, LANES, Simd};
use crate::kernels::{Base, Block};

/// What keeps the multiples of 2^-12.
const ROUND: f32 = 3_072.0 + 127.0;

/// `t` of the least weight, 2^-126. A score could not say it: at huge temperatures the least of all weighs more.
const LEAST: f32 = ROUND - 126.0;

/// The middle between the least and the most that `2^f` is of `1 + f`.
const MIDDLE: f64 = 0.9706;

/// By what part of it such a sum may be wrong: .0303 for the straight line; .0014 for the factor in one float, at `|x · c|`
/// up to 2^15 and, as a panel may lie 128 below the row's limit and a score 126 below its panel, 254 more; and less than .0005
/// for the multiples, the additions, and what counts although it weighs less.
pub(crate) const ESTIMATE: f64 = 0.0323;

/// Writes, for every block, the sum of the weights, within [`ESTIMATE`], relative to the rounded weight of `max`.
#[inline(always)]
pub(crate) fn estimate<S: Simd, E: Element>(s: S, xs: &[E], base: Base, max: f32, blocks: &mut [Block]) {
    let line = Line::new(s, max, base);
    for (xs, block) in xs.chunks(BLOCK).zip(blocks) {
        block.exponent = line.exponent;
        block.sum = line.sum::<E, 0>(s, xs) * MIDDLE;
    }
}

/// Like [`super::mass::mass`], but the sums are estimates.
#[inline(always)]
pub(crate) fn mass_estimate<S: Simd, E: Element>(s: S, xs: &[E], base: Base, blocks: &mut [Block]) -> bool {
    let mut nan = s.no_flags();
    for (xs, blocks) in xs.chunks(PANEL * BLOCK).zip(blocks.chunks_mut(PANEL)) {
        let max = panel(s, xs, blocks, &mut nan);
        if base.weighs(max) {
            let line = Line::new(s, max, base);
            for (xs, block) in xs.chunks(BLOCK).zip(blocks) {
                block.exponent = line.exponent;
                block.sum = line.sum::<E, AHEAD>(s, xs) * MIDDLE;
            }
        }
    }
    s.any(nan)
}

/// Straight lines between powers of two.
#[derive(Clone, Copy)]
struct Line<S: Simd> {
    high: S::F32,
    round: S::F32,
    exponent: i32,
}

impl<S: Simd> Line<S> {
    #[inline(always)]
    fn new(s: S, max: f32, base: Base) -> Self {
        let exponent = base.exponent(max);
        #[expect(clippy::cast_precision_loss, reason = "at most 2^15, and an integer")]
        let m = exponent as f32;
        // Above zero: zero times -inf would be NaN.
        let high = base.high.max(f32::from_bits(1));
        Self { high: s.splat(high), round: s.splat(ROUND - m), exponent }
    }

    #[inline(always)]
    fn weight(self, s: S, x: S::F32) -> S::F32 {
        s.shift_bits(s.max(s.mul_add(x, self.high, self.round), s.splat(LEAST)))
    }

    /// Of one block: so few are added in `f32`. What lies so far `AHEAD` is fetched, unless that is zero.
    #[inline(always)]
    fn sum<E: Element, const AHEAD: usize>(self, s: S, xs: &[E]) -> f64 {
        let none = s.splat(0.0);
        let mut sums = [none; 4];
        let (vectors, tail) = xs.as_chunks::<LANES>();
        let (quads, vectors) = vectors.as_chunks::<4>();
        for [a, b, c, d] in quads {
            if AHEAD > 0 {
                for v in [a, b, c, d] {
                    s.prefetch(v, AHEAD);
                }
            }
            sums = [
                s.add(sums[0], self.weight(s, s.load(a))),
                s.add(sums[1], self.weight(s, s.load(b))),
                s.add(sums[2], self.weight(s, s.load(c))),
                s.add(sums[3], self.weight(s, s.load(d))),
            ];
        }
        for v in vectors {
            sums[0] = s.add(sums[0], self.weight(s, s.load(v)));
        }
        if !tail.is_empty() {
            sums[1] = s.add(sums[1], self.weight(s, s.load_tail(tail, f32::NEG_INFINITY)));
        }
        s.sum(s.widen(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3]))))
    }
}
