//! One pass for a cut by distance from a center in a flat row: what is surely near is summed, and what may be is taken out.
//!
//! As `bracket` does it, no branch depends on where scores lie.

use super::mass::Top;
use super::{BLOCK, Element, LANES, Simd};
use crate::kernels::{Band, Base, Near};

/// Sums over the scores inside the band's core, weights relative to the rounded weight of `max`; and writes those inside the
/// band but not in its core, in order, to the front of `values`, which must have room for them and [`LANES`] more.
#[inline(always)]
pub(crate) fn band<S: Simd, E: Element>(s: S, xs: &[E], base: Base, max: f32, band: Band, values: &mut [f32]) -> Near {
    let [core, all] = [band.core, band.all].map(|[low, high]| [s.splat(low), s.splat(high)]);
    let mut sums = Sums { base, top: Top::new(s, max, base), max, core, all, block: [s.zero(); 2], values };
    let mut near = Near { count: 0, mass: 0.0, moment: 0.0, doubtful: 0 };
    for xs in xs.chunks(BLOCK) {
        let (vectors, tail) = xs.as_chunks::<LANES>();
        for v in vectors {
            sums.take(s, s.load(v), &mut near);
        }
        if !tail.is_empty() {
            sums.take(s, s.load_tail(tail, f32::NEG_INFINITY), &mut near);
        }
        near.mass += s.sum(sums.block[0]);
        near.moment += s.sum(sums.block[1]);
        sums.block = [s.zero(); 2];
    }
    near
}

/// The sums over a block, and all that they take.
struct Sums<'a, S: Simd> {
    base: Base,
    top: Top<S>,
    max: f32,
    core: [S::F32; 2],
    all: [S::F32; 2],
    block: [S::F64; 2],
    values: &'a mut [f32],
}

impl<S: Simd> Sums<'_, S> {
    #[inline(always)]
    fn take(&mut self, s: S, x: S::F32, near: &mut Near) {
        let core = s.between(x, self.core[0], self.core[1]);
        let doubtful = s.between(x, self.all[0], self.all[1]) & !core;
        let weight = s.blend(core, self.top.weight(s, x, self.base), s.splat(0.0));
        // Kept finite, so that a weight of zero makes the product zero.
        let finite = s.max(x, s.splat(f32::MIN));
        self.block[0] = s.accumulate(self.block[0], weight);
        self.block[1] = s.accumulate_moment(self.block[1], weight, finite, self.max.into());
        let out = self.values[near.doubtful..].first_chunk_mut().expect("room for a vector behind what was kept");
        s.compress(x, doubtful, out);
        near.count += core.count_ones() as usize;
        near.doubtful += doubtful.count_ones() as usize;
    }
}
