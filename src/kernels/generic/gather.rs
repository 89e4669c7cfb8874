//! The scores that reach a threshold, with their places, in order.
//!
//! Blocks whose maximum is below the threshold are not read. In the others each vector is compared at once, and its
//! lanes that pass are moved to the front and stored whole: the next store overwrites what was too much.

use super::{BLOCK, Element, LANES, Simd};
use crate::kernels::Block;

#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const BLOCK_U32: u32 = BLOCK as u32;
#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const LANES_U32: u32 = LANES as u32;

/// Writes the scores of at least `threshold` and their indices to the front of `values` and `indices`, and returns how
/// many there are. Both must have room for all that pass and [`LANES`] more.
#[inline(always)]
pub(crate) fn gather<S: Simd, E: Element>(
    s: S,
    xs: &[E],
    blocks: &[Block],
    threshold: f32,
    values: &mut [f32],
    indices: &mut [u32],
) -> usize {
    inside::<S, E, false>(s, xs, blocks, [threshold, f32::INFINITY], values, indices)
}

/// [`gather`] of the scores from the first of a range up to the second, without that.
#[inline(always)]
pub(crate) fn gather_between<S: Simd, E: Element>(
    s: S,
    xs: &[E],
    blocks: &[Block],
    range: [f32; 2],
    values: &mut [f32],
    indices: &mut [u32],
) -> usize {
    inside::<S, E, true>(s, xs, blocks, range, values, indices)
}

/// Both: whether anything is above the range need not be asked if nothing can be.
#[inline(always)]
fn inside<S: Simd, E: Element, const BELOW: bool>(
    s: S,
    xs: &[E],
    blocks: &[Block],
    range: [f32; 2],
    values: &mut [f32],
    indices: &mut [u32],
) -> usize {
    let [low, high] = range.map(|x| s.splat(x));
    let mut count = 0;
    let mut base: u32 = 0;
    for (xs, block) in xs.chunks(BLOCK).zip(blocks) {
        if block.max >= range[0] {
            let (vectors, tail) = xs.as_chunks::<LANES>();
            let mut at = base;
            for v in vectors {
                let v = s.load(v);
                let bits = if BELOW { s.at_least(v, low) & !s.at_least(v, high) } else { s.at_least(v, low) };
                count += push(s, v, bits, count, values, at, indices);
                at += LANES_U32;
            }
            if !tail.is_empty() {
                let v = s.load_tail(tail, f32::NEG_INFINITY);
                let bits = if BELOW { s.at_least(v, low) & !s.at_least(v, high) } else { s.at_least(v, low) };
                count += push(s, v, bits, count, values, at, indices);
            }
        }
        base += BLOCK_U32;
    }
    count
}

/// Moves the lanes of `v` whose bit is set behind the `count` that are there, and returns how many those are.
#[inline(always)]
fn push<S: Simd>(
    s: S,
    v: S::F32,
    bits: u32,
    count: usize,
    values: &mut [f32],
    base: u32,
    indices: &mut [u32],
) -> usize {
    if bits == 0 {
        return 0;
    }
    let values = values[count..].first_chunk_mut().expect("room for a vector behind what was kept");
    let indices = indices[count..].first_chunk_mut().expect("room for a vector behind what was kept");
    s.compress(v, bits, values);
    s.compress_places(base, bits, indices);
    bits.count_ones() as usize
}
