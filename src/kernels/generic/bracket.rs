//! One pass for all that a cut by mass in a flat row needs: sums, what is above a bracket, and the scores inside.
//!
//! A score above the bracket is added to one sum, any other to another; one inside is moved to the front of its vector, which
//! is stored whole: no branch depends on where scores lie, as in a flat row none of those could be foreseen.
//!
//! The ports that vectors go through are what limits it: a compare, a mask or an addition less per vector is a hundredth of
//! the time or two.

use super::mass::Top;
use super::{BLOCK, Element, LANES, Simd};
use crate::kernels::{Base, Block, Bracket, Part};

/// Writes, for every block, an exponent and the sum of the weights, to `blocks`; the sum of those above the bracket, and how
/// many scores are inside, to `parts`; and the scores inside, in order, to the front of `values`, which must have room for
/// them and [`LANES`] more.
///
/// Not `EXACT`, eight weights at a time are added in `f32` first: the sums are then right within [`super::mass::ROUGH`],
/// relative, as are those of all that is not above.
#[inline(always)]
pub(crate) fn bracket<S: Simd, E: Element, const EXACT: bool>(
    s: S,
    xs: &[E],
    base: Base,
    bracket: Bracket,
    blocks: &mut [Block],
    parts: &mut [Part],
    values: &mut [f32],
) {
    let top = Top::new(s, bracket.max, base);
    let mut inside = Inside { low: s.splat(bracket.low), high: s.splat(bracket.high), count: 0, values };
    for ((xs, block), part) in xs.chunks(BLOCK).zip(blocks).zip(parts) {
        let [above, others] = sums::<S, E, EXACT>(s, xs, base, top, &mut inside);
        (block.exponent, block.sum, part.above) = (top.exponent, above + others, above);
        #[expect(clippy::cast_possible_truncation, reason = "a vocabulary fits u32")]
        let end = inside.count as u32;
        part.end = end;
    }
}

/// Where scores inside the bracket go.
struct Inside<'a, S: Simd> {
    low: S::F32,
    high: S::F32,
    count: usize,
    values: &'a mut [f32],
}

impl<S: Simd> Inside<'_, S> {
    #[inline(always)]
    fn push(&mut self, s: S, x: S::F32) {
        let bits = s.between(x, self.low, self.high);
        let out = self.values[self.count..].first_chunk_mut().expect("room for a vector behind what was kept");
        s.compress(x, bits, out);
        self.count += bits.count_ones() as usize;
    }

    /// The weight of `x`: the first if `x` is above the bracket, or else the second.
    #[inline(always)]
    fn weigh(&mut self, s: S, x: S::F32, base: Base, top: Top<S>) -> [S::F32; 2] {
        let weight = top.weight(s, x, base);
        self.push(s, x);
        let other = s.where_below(x, self.high, weight);
        [s.sub(weight, other), other]
    }

    /// The same of four vectors, added up.
    #[inline(always)]
    fn weigh_quad<E: Element>(&mut self, s: S, [a, b, c, d]: &[[E; LANES]; 4], base: Base, top: Top<S>) -> [S::F32; 2] {
        let a = self.weigh(s, s.load(a), base, top);
        let b = self.weigh(s, s.load(b), base, top);
        let c = self.weigh(s, s.load(c), base, top);
        let d = self.weigh(s, s.load(d), base, top);
        [s.add(s.add(a[0], b[0]), s.add(c[0], d[0])), s.add(s.add(a[1], b[1]), s.add(c[1], d[1]))]
    }
}

/// The sum of the weights above the bracket, and of all others.
#[inline(always)]
fn sums<S: Simd, E: Element, const EXACT: bool>(
    s: S,
    xs: &[E],
    base: Base,
    top: Top<S>,
    inside: &mut Inside<'_, S>,
) -> [f64; 2] {
    let mut sums = [s.zero(), s.zero()];
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let (quads, vectors) = if EXACT { (&[][..], vectors) } else { vectors.as_chunks::<4>() };
    let (octets, quads) = quads.as_chunks::<2>();
    for [a, b] in octets {
        let a = inside.weigh_quad(s, a, base, top);
        let b = inside.weigh_quad(s, b, base, top);
        sums = [s.accumulate(sums[0], s.add(a[0], b[0])), s.accumulate(sums[1], s.add(a[1], b[1]))];
    }
    for quad in quads {
        let [above, other] = inside.weigh_quad(s, quad, base, top);
        sums = [s.accumulate(sums[0], above), s.accumulate(sums[1], other)];
    }
    for v in vectors {
        let [above, other] = inside.weigh(s, s.load(v), base, top);
        sums = [s.accumulate(sums[0], above), s.accumulate(sums[1], other)];
    }
    if !tail.is_empty() {
        let [above, other] = inside.weigh(s, s.load_tail(tail, f32::NEG_INFINITY), base, top);
        sums = [s.accumulate(sums[0], above), s.accumulate(sums[1], other)];
    }
    sums.map(|sums| s.sum(sums))
}

/// Adds, to the sum of every block, the weights of those scores that were taken out and reach `threshold`. `xs` holds them as
/// [`bracket`] or `scan_above` left them, and [`LANES`] more; weights are relative to the rounded weight of `max`.
#[inline(always)]
pub(crate) fn add_inside<S: Simd, E: Element>(
    s: S,
    xs: &[E],
    base: Base,
    max: f32,
    threshold: f32,
    parts: &[Part],
    blocks: &mut [Block],
) {
    let mut top = Top::new(s, max, base);
    top.least = s.max(top.least, s.splat(threshold));
    let mut at = 0;
    for (part, block) in parts.iter().zip(blocks) {
        let end = part.end as usize;
        let mut sums = s.zero();
        while at < end {
            let v = xs[at..].first_chunk().expect("a vector behind the last score");
            let weight = top.weight(s, s.load(v), base);
            // Of the last vector, what belongs to the next block counts there.
            let bits = if end - at < LANES { (1 << (end - at)) - 1 } else { u32::MAX };
            sums = s.accumulate(sums, s.blend(bits, weight, s.splat(0.0)));
            at += LANES;
        }
        at = end;
        block.sum += s.sum(sums);
    }
}
