//! Plain arrays, for any CPU. The compiler makes of them what the target's baseline has.

use half::{bf16, f16};

use crate::kernels::generic::{LANES, Simd};

super::kernels!("portable", Portable);

/// Needs no proof.
#[derive(Clone, Copy)]
struct Portable;

/// The `f32` of a binary16, without a branch: five bits of exponent, biased by 15, become eight, biased by 127.
#[inline(always)]
fn widened(half: u16) -> f32 {
    const REBIAS: u32 = (127 - 15) << 23;
    let sign = u32::from(half & 0x8000) << 16;
    let rest = u32::from(half & 0x7fff) << 13;
    // Of a subnormal: put behind a leading one that it lacks, which is then taken away; both are normal, so it is exact.
    let tiny = f32::from_bits(rest + REBIAS + (1 << 23)) - f32::from_bits(REBIAS + (1 << 23));
    // Infinity and NaN have all bits of the exponent set, before and after.
    let usual = if rest >= 0x1f << 23 { rest + 2 * REBIAS } else { rest + REBIAS };
    f32::from_bits(sign | if rest < 1 << 23 { tiny.to_bits() } else { usual })
}

/// `a · b + c`, rounded once, without the instruction.
///
/// The product of two `f32` is exact in `f64`. The sum is rounded there and again to `f32`; the second rounding can only
/// go wrong when the first ends exactly between two `f32`, which shows in its low 29 bits and is rare.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as in every instruction set")]
fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let sum = product + f64::from(c);
    if is_between(sum) {
        return between(product, f64::from(c), sum);
    }
    #[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
    let rounded = sum as f32;
    rounded
}

/// Whether a sum lies exactly between two normal `f32`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as in every instruction set")]
fn is_between(sum: f64) -> bool {
    sum.to_bits() & 0x1fff_ffff == 0x1000_0000
}

/// `product + c` when its rounded value `sum` lies between two `f32`: what `sum` lacks decides.
#[cold]
fn between(product: f64, c: f64, sum: f64) -> f32 {
    // TwoSum (Knuth): `sum + error` is the exact value.
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    let sum = match error.partial_cmp(&0.0) {
        Some(std::cmp::Ordering::Greater) => sum.next_up(),
        Some(std::cmp::Ordering::Less) => sum.next_down(),
        _ => sum,
    };
    #[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
    let rounded = sum as f32;
    rounded
}

/// Numbers without a sign, in the order of such with one, and back. Baseline x86-64 compares only the latter, and with this
/// the compiler sees it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "as in every instruction set")]
fn flipped(v: [u16; 2 * LANES]) -> [u16; 2 * LANES] {
    v.map(|x| x ^ 0x8000)
}

/// Not inlined: here all lanes have to be in memory, side by side, which makes the compiler keep them in vectors.
#[inline(never)]
fn store_u16(v: &[u16; 2 * LANES], out: &mut [u16; 2 * LANES]) {
    *out = *v;
}

#[expect(clippy::inline_always, reason = "as in every instruction set")]
impl Simd for Portable {
    type F32 = [f32; LANES];
    type F64 = [f64; LANES];
    type Flags = bool;
    type U16 = [u16; 2 * LANES];

    #[inline(always)]
    fn splat(self, x: f32) -> [f32; LANES] {
        [x; LANES]
    }
    #[inline(always)]
    fn load_f32(self, xs: &[f32; LANES]) -> [f32; LANES] {
        *xs
    }
    #[inline(always)]
    fn load_f16(self, xs: &[f16; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| widened(xs[i].to_bits()))
    }
    #[inline(always)]
    fn load_bf16(self, xs: &[bf16; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| f32::from_bits(u32::from(xs[i].to_bits()) << 16))
    }
    #[inline(always)]
    fn store(self, v: [f32; LANES], out: &mut [f32; LANES]) {
        *out = v;
    }
    #[inline(always)]
    fn add(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] + b[i])
    }
    #[inline(always)]
    fn sub(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] - b[i])
    }
    #[inline(always)]
    fn mul(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn mul_add(self, a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
        let products: [f64; LANES] = std::array::from_fn(|i| f64::from(a[i]) * f64::from(b[i]));
        let sums: [f64; LANES] = std::array::from_fn(|i| products[i] + f64::from(c[i]));
        // One test for all lanes, so that the rest is vector code: twice as fast as a branch a lane.
        if sums.iter().fold(false, |any, &sum| any | is_between(sum)) {
            return std::array::from_fn(|i| mul_add(a[i], b[i], c[i]));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
        std::array::from_fn(|i| sums[i] as f32)
    }
    #[inline(always)]
    fn max(self, a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        // Not `f32::max`, whose care for NaN costs a second instruction.
        std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn reduce_max(self, v: [f32; LANES]) -> f32 {
        v.into_iter().fold(f32::NEG_INFINITY, |max, x| if x > max { x } else { max })
    }
    #[inline(always)]
    fn no_flags(self) -> bool {
        false
    }
    #[inline(always)]
    fn flag_nan(self, flags: bool, a: [f32; LANES], b: [f32; LANES]) -> bool {
        (0..LANES).fold(flags, |flags, i| flags | a[i].is_nan() | b[i].is_nan())
    }
    #[inline(always)]
    fn any(self, flags: bool) -> bool {
        flags
    }
    #[inline(always)]
    fn load_u16(self, xs: &[u16; 2 * LANES]) -> [u16; 2 * LANES] {
        *xs
    }
    #[inline(always)]
    fn store_u16(self, v: [u16; 2 * LANES], out: &mut [u16; 2 * LANES]) {
        store_u16(&v, out);
    }
    #[inline(always)]
    fn max_i16(self, a: [u16; 2 * LANES], b: [u16; 2 * LANES]) -> [u16; 2 * LANES] {
        std::array::from_fn(|i| a[i].cast_signed().max(b[i].cast_signed()).cast_unsigned())
    }
    #[inline(always)]
    fn max_u16(self, a: [u16; 2 * LANES], b: [u16; 2 * LANES]) -> [u16; 2 * LANES] {
        flipped(self.max_i16(flipped(a), flipped(b)))
    }
    #[inline(always)]
    fn min_u16(self, a: [u16; 2 * LANES], b: [u16; 2 * LANES]) -> [u16; 2 * LANES] {
        let (a, b) = (flipped(a), flipped(b));
        flipped(std::array::from_fn(|i| a[i].cast_signed().min(b[i].cast_signed()).cast_unsigned()))
    }
    #[inline(always)]
    fn at_least(self, a: [f32; LANES], b: [f32; LANES]) -> u32 {
        (0..LANES).fold(0, |bits, i| bits | u32::from(a[i] >= b[i]) << i)
    }
    #[inline(always)]
    fn between(self, v: [f32; LANES], low: [f32; LANES], high: [f32; LANES]) -> u32 {
        (0..LANES).fold(0, |bits, i| bits | u32::from(v[i] >= low[i] && v[i] < high[i]) << i)
    }
    #[inline(always)]
    fn where_at_least(self, a: [f32; LANES], b: [f32; LANES], v: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| if a[i] >= b[i] { v[i] } else { 0.0 })
    }
    #[inline(always)]
    fn where_below(self, a: [f32; LANES], b: [f32; LANES], v: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| if a[i] < b[i] { v[i] } else { 0.0 })
    }
    #[inline(always)]
    fn blend(self, bits: u32, v: [f32; LANES], other: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| if bits >> i & 1 == 1 { v[i] } else { other[i] })
    }
    #[inline(always)]
    fn scale(self, p: [f32; LANES], t: [f32; LANES]) -> [f32; LANES] {
        std::array::from_fn(|i| f32::from_bits(p[i].to_bits().wrapping_add(t[i].to_bits() << 23)))
    }
    #[inline(always)]
    fn shift_bits(self, t: [f32; LANES]) -> [f32; LANES] {
        t.map(|t| f32::from_bits(t.to_bits() << 11))
    }
    #[inline(always)]
    fn zero(self) -> [f64; LANES] {
        [0.0; LANES]
    }
    #[inline(always)]
    fn widen(self, v: [f32; LANES]) -> [f64; LANES] {
        v.map(f64::from)
    }
    #[inline(always)]
    fn accumulate(self, sums: [f64; LANES], v: [f32; LANES]) -> [f64; LANES] {
        std::array::from_fn(|i| sums[i] + f64::from(v[i]))
    }
    #[inline(always)]
    fn accumulate_spread(self, sums: [[f64; LANES]; 2], v: [f32; LANES], center: f64) -> [[f64; LANES]; 2] {
        let differences: [f64; LANES] = std::array::from_fn(|i| f64::from(v[i]) - center);
        [
            std::array::from_fn(|i| sums[0][i] + differences[i]),
            std::array::from_fn(|i| sums[1][i] + differences[i] * differences[i]),
        ]
    }
    #[inline(always)]
    fn accumulate_moment(self, sums: [f64; LANES], weight: [f32; LANES], v: [f32; LANES], center: f64) -> [f64; LANES] {
        std::array::from_fn(|i| sums[i] + f64::from(weight[i]) * (f64::from(v[i]) - center))
    }
    #[inline(always)]
    fn fold(self, sums: [f64; LANES]) -> [f64; 8] {
        std::array::from_fn(|i| sums[i] + sums[i + 8])
    }
}
