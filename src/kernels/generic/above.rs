//! Block maxima, and the scores that are not far below the largest: for a cut by a share of the best one's probability, in a row
//! of which much may be left.
//!
//! A score is moved out if it is near enough to the largest so far, so that all are there that are near enough to the largest
//! of all, and some that are not. Each block is still in the nearest cache when it is read for them; one whose
//! scores are all too far below is skipped.
//!
//! To compress a vector and store it is what takes the time. Where one score in ten is wanted, two vectors seldom have one in the
//! same lane: then their maximum is compressed, which has all that are wanted of both.

use super::mass::AHEAD;
use super::scan::scan_block;
use super::{BLOCK, Element, LANES, Simd};
use crate::kernels::{Block, Part};
use crate::math::ceil;

/// Writes the largest score of every block to `blocks`; the scores that are at least the largest of this block and all before
/// it plus `distance`, which is not positive, block by block to the front of `values`, which must have room for all and [`LANES`]
/// more; and how many those of a block and all before are, to `parts`. Returns whether any score is NaN.
#[inline(always)]
pub(crate) fn scan_above<S: Simd, E: Element>(
    s: S,
    xs: &[E],
    distance: f64,
    blocks: &mut [Block],
    parts: &mut [Part],
    values: &mut [f32],
) -> bool {
    let mut nan = s.no_flags();
    let (mut largest, mut threshold) = (f32::NEG_INFINITY, f32::MIN);
    let mut count = 0;
    for ((xs, block), part) in xs.chunks(BLOCK).zip(blocks).zip(parts) {
        block.max = scan_block(s, xs, &mut nan);
        if block.max > largest {
            largest = block.max;
            threshold = ceil(f64::from(largest) + distance);
        }
        if block.max >= threshold {
            count += gather(s, xs, threshold, &mut values[count..]);
        }
        #[expect(clippy::cast_possible_truncation, reason = "a vocabulary fits u32")]
        let end = count as u32;
        part.end = end;
    }
    s.any(nan)
}

/// Writes the scores of a block that reach the threshold to the front of `values`, and returns how many those are.
#[inline(always)]
fn gather<S: Simd, E: Element>(s: S, xs: &[E], threshold: f32, values: &mut [f32]) -> usize {
    let limit = s.splat(threshold);
    let mut count = 0;
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let (pairs, rest) = vectors.as_chunks::<2>();
    for [a, b] in pairs {
        s.prefetch(a, AHEAD);
        s.prefetch(b, AHEAD);
        let (a, b) = (s.load(a), s.load(b));
        let (reaching_a, reaching_b) = (s.at_least(a, limit), s.at_least(b, limit));
        if reaching_a & reaching_b == 0 {
            count += push(s, s.max(a, b), reaching_a | reaching_b, &mut values[count..]);
        } else {
            count += push(s, a, reaching_a, &mut values[count..]);
            count += push(s, b, reaching_b, &mut values[count..]);
        }
    }
    for v in rest {
        let v = s.load(v);
        count += push(s, v, s.at_least(v, limit), &mut values[count..]);
    }
    if !tail.is_empty() {
        let v = s.load_tail(tail, f32::NEG_INFINITY);
        count += push(s, v, s.at_least(v, limit), &mut values[count..]);
    }
    count
}

/// Moves the lanes of `v` whose bit is set to the front of `values`, and returns how many those are.
#[inline(always)]
fn push<S: Simd>(s: S, v: S::F32, bits: u32, values: &mut [f32]) -> usize {
    s.compress(v, bits, values.first_chunk_mut().expect("room for a vector behind what was kept"));
    bits.count_ones() as usize
}
