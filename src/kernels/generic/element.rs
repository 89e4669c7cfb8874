//! What a row may be made of. Every number of half precision is an `f32`: loading converts, and loses nothing.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::halves::{self, Half};
use super::{LANES, Simd, scan};

/// A number that scores come as.
pub(crate) trait Element: Copy + Into<f32> + 'static {
    /// Sixteen of them, as `f32`.
    fn load<S: Simd>(s: S, xs: &[Self; LANES]) -> S::F32;

    /// Up to fifteen, filled up with `fill`.
    fn load_tail<S: Simd>(s: S, xs: &[Self], fill: f32) -> S::F32;

    /// All of them into `out`, which is as long.
    fn widen<S: Simd>(s: S, xs: &[Self], out: &mut [f32]);

    /// The largest of a block, which is never -0; marks NaN.
    fn largest<S: Simd>(s: S, xs: &[Self], nan: &mut S::Flags) -> f32;

    /// The largest of each of sixteen interleaved parts; -inf where a part is empty.
    fn lane_maxima<S: Simd>(s: S, xs: &[Self]) -> S::F32;
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

    #[inline(always)]
    fn largest<S: Simd>(s: S, xs: &[Self], nan: &mut S::Flags) -> f32 {
        scan::largest(s, xs, nan)
    }

    #[inline(always)]
    fn lane_maxima<S: Simd>(s: S, xs: &[Self]) -> S::F32 {
        scan::lanes(s, xs)
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

            #[inline(always)]
            fn largest<S: Simd>(s: S, xs: &[Self], nan: &mut S::Flags) -> f32 {
                halves::largest(s, xs, nan)
            }

            #[inline(always)]
            fn lane_maxima<S: Simd>(s: S, xs: &[Self]) -> S::F32 {
                halves::lanes(s, xs)
            }
        }

        impl Half for $number {
            const LOWEST: u16 = Self::NEG_INFINITY.to_bits();

            #[inline(always)]
            fn bits(xs: &[Self]) -> &[u16] {
                xs.reinterpret_cast()
            }

            #[inline(always)]
            fn load_bits<S: Simd>(s: S, bits: &[u16; LANES]) -> S::F32 {
                s.$load(&bits.map(Self::from_bits))
            }
        }
    };
}

half_precision!(f16, load_f16);
half_precision!(bf16, load_bf16);
