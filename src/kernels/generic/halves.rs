//! Maxima of half precision, found on the bits: nothing is converted but what is found, and a register holds twice as many.
//!
//! The bits are a sign, and then a size that ascends with the number, up to infinity and, above it, NaN. Of many,
//!
//! ```text
//! the largest, as integers with a sign,       is the largest number, unless all have the sign; or a NaN without sign
//! the largest, as integers without a sign,    is a NaN with the sign, if there is one
//! the least, as integers without a sign,      is the largest number, if all have the sign
//! ```
//!
//! both for binary16 and for bfloat16. Of the first and the last the larger, as numbers, is the largest number in any case.

use super::{Element, LANES, Simd, to_line};

/// Lanes of sixteen bits.
const WIDE: usize = 2 * LANES;

/// A number of sixteen bits.
pub(super) trait Half: Element {
    /// The bits of -inf.
    const LOWEST: u16;

    fn bits(xs: &[Self]) -> &[u16];

    /// Sixteen of them, as `f32`.
    fn load_bits<S: Simd>(s: S, bits: &[u16; LANES]) -> S::F32;
}

/// The largest number of one block, which is never -0; marks NaN.
///
/// The vectors between the ends lie where a cache line begins; those at the ends overlap with them.
#[inline(always)]
pub(super) fn largest<S: Simd, H: Half>(s: S, xs: &[H], nan: &mut S::Flags) -> f32 {
    let bits = H::bits(xs);
    let [first, last] = match (bits.first_chunk(), bits.last_chunk()) {
        (Some(first), Some(last)) => [s.load_u16(first), s.load_u16(last)],
        _ => [load_tail::<S, H>(s, bits); 2],
    };
    let (mut signed, mut most) = (s.max_i16(first, last), s.max_u16(first, last));
    let (vectors, _) = bits[to_line(bits)..].as_chunks::<WIDE>();
    for v in vectors {
        let v = s.load_u16(v);
        (signed, most) = (s.max_i16(signed, v), s.max_u16(most, v));
    }
    let ([a, b], [c, d]) = (widened::<S, H>(s, signed), widened::<S, H>(s, most));
    *nan = s.flag_nan(s.flag_nan(*nan, a, b), c, d);
    let max = s.reduce_max(s.max(a, b));
    if max.is_sign_positive() {
        return max;
    }
    // All have the sign. The block is read again, which is still near, instead of by three operations a vector always.
    let mut smallest = s.min_u16(first, last);
    for v in vectors {
        smallest = s.min_u16(smallest, s.load_u16(v));
    }
    let [a, b] = widened::<S, H>(s, smallest);
    // Adding +0 turns -0 into +0 and changes nothing else.
    s.reduce_max(s.max(a, b)) + 0.0
}

/// The largest number of each of sixteen interleaved parts; -inf where a part is empty.
#[inline(always)]
pub(super) fn lanes<S: Simd, H: Half>(s: S, xs: &[H]) -> S::F32 {
    let (vectors, tail) = H::bits(xs).as_chunks::<WIDE>();
    let none = load_tail::<S, H>(s, &[]);
    let (mut signed, mut least) = (none, none);
    for v in vectors {
        let v = s.load_u16(v);
        (signed, least) = (s.max_i16(signed, v), s.min_u16(least, v));
    }
    if !tail.is_empty() {
        let v = load_tail::<S, H>(s, tail);
        (signed, least) = (s.max_i16(signed, v), s.min_u16(least, v));
    }
    let ([a, b], [c, d]) = (widened::<S, H>(s, signed), widened::<S, H>(s, least));
    s.max(s.max(a, b), s.max(c, d))
}

/// Up to thirty-one numbers, filled up with -inf.
#[inline(always)]
fn load_tail<S: Simd, H: Half>(s: S, bits: &[u16]) -> S::U16 {
    let mut lanes = [H::LOWEST; WIDE];
    lanes[..bits.len()].copy_from_slice(bits);
    s.load_u16(&lanes)
}

/// All lanes, as `f32`.
#[inline(always)]
fn widened<S: Simd, H: Half>(s: S, v: S::U16) -> [S::F32; 2] {
    let mut lanes = [0; WIDE];
    s.store_u16(v, &mut lanes);
    let (halves, _) = lanes.as_chunks();
    [H::load_bits(s, &halves[0]), H::load_bits(s, &halves[1])]
}
