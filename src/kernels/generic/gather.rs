//! The scores that reach a threshold, with their places, in order.
//!
//! Blocks whose maximum is below the threshold are not read. In the others each vector is compared at once, and its
//! lanes that pass are moved to the front and stored whole: the next store overwrites what was too much.

use super::{BLOCK, LANES, Simd};
use crate::kernels::Block;

#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const BLOCK_U32: u32 = BLOCK as u32;
#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const LANES_U32: u32 = LANES as u32;

/// Writes the scores of at least `threshold` and their indices to the front of `values` and `indices`, and returns how
/// many there are. Both must have room for all that pass and [`LANES`] more.
#[inline(always)]
pub(crate) fn gather<S: Simd>(
    s: S,
    xs: &[f32],
    blocks: &[Block],
    threshold: f32,
    values: &mut [f32],
    indices: &mut [u32],
) -> usize {
    let limit = s.splat(threshold);
    let mut count = 0;
    let mut base: u32 = 0;
    for (xs, block) in xs.chunks(BLOCK).zip(blocks) {
        if block.max >= threshold {
            let (vectors, tail) = xs.as_chunks::<LANES>();
            let mut at = base;
            for v in vectors {
                count += compress(s, s.load(v), limit, count, values, at, indices);
                at += LANES_U32;
            }
            if !tail.is_empty() {
                count += compress(s, s.load_tail(tail, f32::NEG_INFINITY), limit, count, values, at, indices);
            }
        }
        base += BLOCK_U32;
    }
    count
}

/// The part of [`gather`] in one vector: how many lanes passed.
#[inline(always)]
fn compress<S: Simd>(
    s: S,
    v: S::F32,
    limit: S::F32,
    count: usize,
    values: &mut [f32],
    base: u32,
    indices: &mut [u32],
) -> usize {
    let bits = s.at_least(v, limit);
    if bits == 0 {
        return 0;
    }
    let values = values[count..].first_chunk_mut().expect("room for a vector behind what was kept");
    let indices = indices[count..].first_chunk_mut().expect("room for a vector behind what was kept");
    s.compress(v, bits, values, base, indices);
    bits.count_ones() as usize
}
