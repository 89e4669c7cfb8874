//! The scores that reach a threshold, with their places, in order.
//!
//! Blocks whose maximum is below the threshold are not read. In the others four vectors are compared at once, and the lanes
//! that pass are moved to the front and stored whole: the next store overwrites what was too much.

use super::{BLOCK, Element, LANES, Simd, bits};
use crate::kernels::Block;

#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const BLOCK_U32: u32 = BLOCK as u32;
#[expect(clippy::cast_possible_truncation, reason = "small constants")]
const LANES_U32: u32 = LANES as u32;

/// Blocks of which one number says which are to be read.
const GROUP: usize = 64;

/// Writes the scores of at least `threshold` and their indices to the front of `values` and `indices`, and returns how
/// many there are, but for the places whose bit of `except` is set. Both must have room for all that pass and [`LANES`] more.
#[inline(always)]
pub(crate) fn gather<S: Simd, E: Element>(
    s: S,
    xs: &[E],
    blocks: &[Block],
    threshold: f32,
    except: &[u32],
    values: &mut [f32],
    indices: &mut [u32],
) -> usize {
    let limit = s.splat(threshold);
    let mut count = 0;
    for (group, group_blocks) in (0..).step_by(GROUP).zip(blocks.chunks(GROUP)) {
        // Which are to be read, without a branch that nobody could foresee.
        let mut reached =
            group_blocks.iter().rev().fold(0_u64, |bits, block| bits << 1 | u64::from(block.max >= threshold));
        while reached != 0 {
            let start = (group + reached.trailing_zeros()) * BLOCK_U32;
            reached &= reached - 1;
            let end = xs.len().min(start as usize + BLOCK);
            let mut at = start;
            let (quads, rest) = xs[start as usize..end].as_chunks::<{ 4 * LANES }>();
            for quad in quads {
                let (vectors, _) = quad.as_chunks::<LANES>();
                let (a, b) = (s.load(&vectors[0]), s.load(&vectors[1]));
                let (c, d) = (s.load(&vectors[2]), s.load(&vectors[3]));
                // Most of a block is below: one compare for four vectors.
                if s.at_least(s.max(s.max(a, b), s.max(c, d)), limit) != 0 {
                    for (v, at) in [a, b, c, d].into_iter().zip((at..).step_by(LANES)) {
                        count += push(s, v, reaching(s, v, limit, except, at), count, values, at, indices);
                    }
                }
                at += 4 * LANES_U32;
            }
            let (vectors, tail) = rest.as_chunks::<LANES>();
            for v in vectors {
                let v = s.load(v);
                count += push(s, v, reaching(s, v, limit, except, at), count, values, at, indices);
                at += LANES_U32;
            }
            if !tail.is_empty() {
                let v = s.load_tail(tail, f32::NEG_INFINITY);
                count += push(s, v, reaching(s, v, limit, except, at), count, values, at, indices);
            }
        }
    }
    count
}

/// [`gather`] of the scores from the first of a range up to the second, without that. Of those there are many.
#[inline(always)]
pub(crate) fn gather_between<S: Simd, E: Element>(
    s: S,
    xs: &[E],
    blocks: &[Block],
    range: [f32; 2],
    values: &mut [f32],
    indices: &mut [u32],
) -> usize {
    let [low, high] = range.map(|x| s.splat(x));
    let mut count = 0;
    for ((xs, block), start) in xs.chunks(BLOCK).zip(blocks).zip((0..).step_by(BLOCK)) {
        if block.max >= range[0] {
            let (vectors, tail) = xs.as_chunks::<LANES>();
            let mut at = start;
            for v in vectors {
                let v = s.load(v);
                count += push(s, v, s.between(v, low, high), count, values, at, indices);
                at += LANES_U32;
            }
            if !tail.is_empty() {
                let v = s.load_tail(tail, f32::NEG_INFINITY);
                count += push(s, v, s.between(v, low, high), count, values, at, indices);
            }
        }
    }
    count
}

/// The lanes of `v`, of which the first is at `place`, that reach the limit and are not excepted.
#[inline(always)]
fn reaching<S: Simd>(s: S, v: S::F32, limit: S::F32, except: &[u32], place: u32) -> u32 {
    let reaching = s.at_least(v, limit);
    if reaching == 0 { 0 } else { reaching & !bits(except, place as usize / LANES) }
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
