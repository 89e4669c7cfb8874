//! Every kernel, written once over sixteen logical lanes.
//!
//! An instruction set is a value of a type that implements [`Simd`]: having one proves that its instructions may be
//! used. A kernel takes such a value and contains no instruction, no pointer and no `unsafe`.
//!
//! # Equal bits
//!
//! All instruction sets return the same bits because all do the same arithmetic: sixteen lanes (one register of
//! AVX-512, two of AVX2, four of NEON), lane `i` taking every sixteenth score from score `i` on; the same fused
//! multiply-adds; sums in `float64`, block by block, folded by one fixed tree. Addition is not associative, so lanes go
//! by index and never by address.
//!
//! # Limits
//!
//! Scores are finite or -inf. [`scan::scan`] finds NaN; it comes before every other kernel.

#![forbid(unsafe_code)]
#![expect(clippy::inline_always, reason = "only inside a function with the CPU features on are these instructions")]

use half::{bf16, f16};

pub(super) mod above;
pub(super) mod band;
pub(super) mod bracket;
mod element;
pub(crate) mod estimate;
pub(super) mod gather;
mod halves;
pub(super) mod lookup;
pub(super) mod mass;
pub(super) mod scan;
pub(super) mod spread;
pub(super) mod write;

pub(crate) use element::Element;

/// Logical lanes of a vector, on every instruction set.
pub(crate) const LANES: usize = 16;

/// Scores of a block: the unit of maxima and of sums.
pub(crate) const BLOCK: usize = 512;

/// Places that share a word of a packed set: two vectors.
pub(crate) const WORD: usize = 2 * LANES;

/// How many scores lie before the first from which on no vector crosses a cache line, fewer than fill one; or all, if they
/// are fewer.
///
/// Vectors that cross lines are read at half the speed. Only what does not depend on where lanes begin may begin there.
#[inline(always)]
fn to_line<E>(xs: &[E]) -> usize {
    // On nearly every CPU: one vector of single precision.
    const LINE: usize = size_of::<[f32; LANES]>();
    xs.as_ptr().align_offset(LINE).min(xs.len())
}

/// The bits of vector `i` in a packed set of places: sixteen of the thirty-two in a word. Beyond the last word none is set.
#[inline(always)]
fn bits(words: &[u32], i: usize) -> u32 {
    match words.get(i / 2) {
        Some(word) => word >> (LANES * (i % 2)) & 0xffff,
        None => 0,
    }
}

/// Sixteen lanes of `f32` and of `f64`, thirty-two of sixteen bits, and the operations that the kernels need.
///
/// The value is a proof that the instruction set is there, so every method is safe to call. Methods are forced inline:
/// a function with the CPU features enabled is around them, and only there do they become instructions.
pub(crate) trait Simd: Copy {
    /// Sixteen `f32`.
    type F32: Copy;
    /// Sixteen `f64`, to sum in.
    type F64: Copy;
    /// Lanes marked so far.
    type Flags: Copy;
    /// Thirty-two lanes of sixteen bits.
    type U16: Copy;

    fn splat(self, x: f32) -> Self::F32;
    fn load_f32(self, xs: &[f32; LANES]) -> Self::F32;
    fn load_f16(self, xs: &[f16; LANES]) -> Self::F32;
    fn load_bf16(self, xs: &[bf16; LANES]) -> Self::F32;
    fn store(self, v: Self::F32, out: &mut [f32; LANES]);

    /// Has the line fetched that holds the element so many behind the first of `xs`: a hint, which may point beyond the row.
    /// It does nothing where no stable intrinsic is for it, as on aarch64.
    #[inline(always)]
    fn prefetch<T>(self, _xs: &[T; LANES], _ahead: usize) {}

    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32;
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b + c`, rounded once.
    fn mul_add(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The largest lane.
    fn reduce_max(self, v: Self::F32) -> f32;

    fn no_flags(self) -> Self::Flags;
    /// Marks the lanes in which `a` or `b` is NaN.
    fn flag_nan(self, flags: Self::Flags, a: Self::F32, b: Self::F32) -> Self::Flags;
    fn any(self, flags: Self::Flags) -> bool;

    fn load_u16(self, xs: &[u16; 2 * LANES]) -> Self::U16;
    fn store_u16(self, v: Self::U16, out: &mut [u16; 2 * LANES]);
    /// The larger as numbers with a sign.
    fn max_i16(self, a: Self::U16, b: Self::U16) -> Self::U16;
    fn max_u16(self, a: Self::U16, b: Self::U16) -> Self::U16;
    fn min_u16(self, a: Self::U16, b: Self::U16) -> Self::U16;

    /// Bit `i` says whether lane `i` of `a` is at least that of `b`.
    fn at_least(self, a: Self::F32, b: Self::F32) -> u32;
    /// Bit `i` says whether lane `i` of `v` is at least that of `low` and below that of `high`.
    fn between(self, v: Self::F32, low: Self::F32, high: Self::F32) -> u32;
    /// `v` where `a >= b`, else zero.
    fn where_at_least(self, a: Self::F32, b: Self::F32, v: Self::F32) -> Self::F32;
    /// `v` where `a < b`, else zero.
    fn where_below(self, a: Self::F32, b: Self::F32, v: Self::F32) -> Self::F32;
    /// `v` where bit `i` of `bits` is set, else `other`.
    fn blend(self, bits: u32, v: Self::F32, other: Self::F32) -> Self::F32;
    /// `p · 2^n`, where `t` is `1.5 · 2^23 + n`. The product must be normal.
    fn scale(self, p: Self::F32, t: Self::F32) -> Self::F32;
    /// The float with the bits of `t`, eleven places to the left.
    fn shift_bits(self, t: Self::F32) -> Self::F32;

    /// The lanes of `v` whose bit is set, moved to the front of `out`. What stands behind them there is overwritten.
    #[inline(always)]
    fn compress(self, v: Self::F32, bits: u32, out: &mut [f32; LANES]) {
        let mut lanes = [0.0; LANES];
        self.store(v, &mut lanes);
        let mut left = bits;
        for out in out.iter_mut().take(bits.count_ones() as usize) {
            *out = lanes[left.trailing_zeros() as usize];
            left &= left - 1;
        }
    }

    /// `base` plus the numbers of the lanes whose bit is set, at the front of `out`. What stands behind them there is
    /// overwritten.
    #[inline(always)]
    fn compress_places(self, base: u32, bits: u32, out: &mut [u32; LANES]) {
        let mut left = bits;
        for out in out.iter_mut().take(bits.count_ones() as usize) {
            *out = base + left.trailing_zeros();
            left &= left - 1;
        }
    }

    fn zero(self) -> Self::F64;
    /// Sixteen `f32` as `f64`.
    fn widen(self, v: Self::F32) -> Self::F64;
    /// Adds sixteen `f32` to sixteen `f64`.
    fn accumulate(self, sums: Self::F64, v: Self::F32) -> Self::F64;
    /// Adds `v - center` and its square, both in `f64` and each rounded, to two sums.
    fn accumulate_spread(self, sums: [Self::F64; 2], v: Self::F32, center: f64) -> [Self::F64; 2];
    /// Adds `weight · (v - center)`, in `f64` and rounded at each step.
    fn accumulate_moment(self, sums: Self::F64, weight: Self::F32, v: Self::F32, center: f64) -> Self::F64;
    /// Lane `i` plus lane `i + 8`: the first level of the tree.
    fn fold(self, sums: Self::F64) -> [f64; 8];

    /// The sum of all lanes, by the fixed tree.
    #[inline(always)]
    fn sum(self, sums: Self::F64) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.fold(sums);
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }

    /// Sixteen scores, exactly.
    #[inline(always)]
    fn load<E: Element>(self, xs: &[E; LANES]) -> Self::F32 {
        E::load(self, xs)
    }

    /// Up to fifteen scores, filled up with `fill`.
    #[inline(always)]
    fn load_tail<E: Element>(self, xs: &[E], fill: f32) -> Self::F32 {
        E::load_tail(self, xs, fill)
    }

    /// The first lanes, as many as `out` holds.
    #[inline(always)]
    fn store_tail(self, v: Self::F32, out: &mut [f32]) {
        let mut lanes = [0.0; LANES];
        self.store(v, &mut lanes);
        out.copy_from_slice(&lanes[..out.len()]);
    }
}
