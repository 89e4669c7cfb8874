//! What a row may be made of. Every number of half precision is an `f32`: loading converts, and loses nothing.

use half::{bf16, f16};

use super::{LANES, Simd};

/// A number that scores come as.
pub(crate) trait Element: Copy + Into<f32> + 'static {
    /// Sixteen of them, as `f32`.
    fn load<S: Simd>(s: S, xs: &[Self; LANES]) -> S::F32;

    /// Up to fifteen, filled up with `fill`.
    fn load_tail<S: Simd>(s: S, xs: &[Self], fill: f32) -> S::F32;

    /// All of them into `out`, which is as long.
    fn widen<S: Simd>(s: S, xs: &[Self], out: &mut [f32]);
}

impl Element for f32 {
    #[inline(always)]
    fn load<S: Simd>(s: S, xs: &[Self; LANES]) -> S::F32 {
        s.load_f32(xs)
    }

    #[inline(always)]
    fn load_tail<S: Simd>(s: S, xs: &[Self], fill: f32) -> S::F32 {
        let mut lanes = [fill; LANES];
        lanes[..xs.len()].copy_from_slice(xs);
        s.load_f32(&lanes)
    }

    #[inline(always)]
    fn widen<S: Simd>(_: S, xs: &[Self], out: &mut [f32]) {
        out.copy_from_slice(xs);
    }
}

macro_rules! half_precision {
    ($number:ty, $load:ident) => {
        impl Element for $number {
            #[inline(always)]
            fn load<S: Simd>(s: S, xs: &[Self; LANES]) -> S::F32 {
                s.$load(xs)
            }

            #[inline(always)]
            fn load_tail<S: Simd>(s: S, xs: &[Self], fill: f32) -> S::F32 {
                // The fill may be no number of half precision.
                let mut lanes = [Self::ZERO; LANES];
                lanes[..xs.len()].copy_from_slice(xs);
                s.blend((1 << xs.len()) - 1, s.$load(&lanes), s.splat(fill))
            }

            #[inline(always)]
            fn widen<S: Simd>(s: S, xs: &[Self], out: &mut [f32]) {
                let (vectors, tail) = xs.as_chunks::<LANES>();
                let (outs, out_tail) = out.as_chunks_mut::<LANES>();
                for (v, out) in vectors.iter().zip(outs) {
                    s.store(s.$load(v), out);
                }
                if !tail.is_empty() {
                    s.store_tail(Self::load_tail(s, tail, 0.0), out_tail);
                }
            }
        }
    };
}

half_precision!(f16, load_f16);
half_precision!(bf16, load_bf16);
