//! 128-bit vectors: NEON, which every AArch64 CPU has. Sixteen lanes are four registers.

#![expect(unsafe_code, reason = "vendor intrinsics")]

use std::arch::aarch64::{
    float32x4_t, float64x2_t, uint16x4_t, uint16x8_t, uint32x4_t, vaddq_f32, vaddq_f64, vaddq_s32, vaddvq_u32,
    vandq_u32, vbslq_f32, vceqq_f32, vceqq_u32, vcgeq_f32, vcltq_f32, vcvt_f64_f32, vcvt_high_f64_f32, vdupq_n_f32,
    vdupq_n_f64, vdupq_n_u32, vfmaq_f32, vget_low_f32, vld1_u16, vld1q_f32, vld1q_u16, vld1q_u32, vmaxq_f32, vmaxq_s16,
    vmaxq_u16, vmaxvq_f32, vmaxvq_u32, vminq_u16, vmulq_f32, vmulq_f64, vmvnq_u32, vorrq_u32, vreinterpretq_f32_s32,
    vreinterpretq_f32_u32, vreinterpretq_s16_u16, vreinterpretq_s32_f32, vreinterpretq_u16_s16, vshll_n_u16,
    vshlq_n_s32, vst1q_f32, vst1q_f64, vst1q_u16, vsubq_f32, vsubq_f64,
};

use std::arch::asm;

use half::{bf16, f16};

use crate::kernels::generic::{LANES, Simd};

super::kernels!("neon", Neon::new(), features = "neon");

pub(super) fn detect() -> bool {
    std::arch::is_aarch64_feature_detected!("neon")
}

/// Proof that NEON is enabled.
#[derive(Clone, Copy)]
struct Neon(());

impl Neon {
    // A safe function with target features can be called safely only where they are on, and so the value is a proof.
    #[target_feature(enable = "neon")]
    fn new() -> Self {
        Self(())
    }
}

/// An intrinsic, called in a method of the token.
macro_rules! proven {
    ($call:expr) => {
        // SAFETY: a method was called, so there is a `Neon`, so NEON is enabled; and every address is in an array that has
        // as many elements from there on as the register.
        unsafe { $call }
    };
}

/// One operation on each of the four registers.
macro_rules! each {
    (|$i:ident| $call:expr) => {
        proven!([
            {
                let $i = 0;
                $call
            },
            {
                let $i = 1;
                $call
            },
            {
                let $i = 2;
                $call
            },
            {
                let $i = 3;
                $call
            },
        ])
    };
}

type Quad = [float32x4_t; 4];

#[expect(clippy::inline_always, reason = "only inside a function with the features on do these become instructions")]
impl Simd for Neon {
    type F32 = Quad;
    type F64 = [float64x2_t; 8];
    type Flags = uint32x4_t;
    type U16 = [uint16x8_t; 4];

    #[inline(always)]
    fn splat(self, x: f32) -> Quad {
        proven!([vdupq_n_f32(x); 4])
    }
    #[inline(always)]
    fn load_f32(self, xs: &[f32; LANES]) -> Quad {
        each!(|i| vld1q_f32(xs.as_ptr().add(4 * i)))
    }
    #[inline(always)]
    fn load_f16(self, xs: &[f16; LANES]) -> Quad {
        each!(|i| widened(vld1_u16(xs.as_ptr().add(4 * i).cast())))
    }
    #[inline(always)]
    fn load_bf16(self, xs: &[bf16; LANES]) -> Quad {
        each!(|i| vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(xs.as_ptr().add(4 * i).cast()))))
    }
    #[inline(always)]
    fn store(self, v: Quad, out: &mut [f32; LANES]) {
        each!(|i| vst1q_f32(out.as_mut_ptr().add(4 * i), v[i]));
    }
    #[inline(always)]
    fn add(self, a: Quad, b: Quad) -> Quad {
        each!(|i| vaddq_f32(a[i], b[i]))
    }
    #[inline(always)]
    fn sub(self, a: Quad, b: Quad) -> Quad {
        each!(|i| vsubq_f32(a[i], b[i]))
    }
    #[inline(always)]
    fn mul(self, a: Quad, b: Quad) -> Quad {
        each!(|i| vmulq_f32(a[i], b[i]))
    }
    #[inline(always)]
    fn mul_add(self, a: Quad, b: Quad, c: Quad) -> Quad {
        each!(|i| vfmaq_f32(c[i], a[i], b[i]))
    }
    #[inline(always)]
    fn max(self, a: Quad, b: Quad) -> Quad {
        each!(|i| vmaxq_f32(a[i], b[i]))
    }
    #[inline(always)]
    fn reduce_max(self, [a, b, c, d]: Quad) -> f32 {
        proven!(vmaxvq_f32(vmaxq_f32(vmaxq_f32(a, b), vmaxq_f32(c, d))))
    }
    #[inline(always)]
    fn no_flags(self) -> uint32x4_t {
        proven!(vdupq_n_u32(0))
    }
    #[inline(always)]
    fn flag_nan(self, flags: uint32x4_t, a: Quad, b: Quad) -> uint32x4_t {
        // Only NaN differs from itself.
        let [w, x, y, z] = each!(|i| vmvnq_u32(vandq_u32(vceqq_f32(a[i], a[i]), vceqq_f32(b[i], b[i]))));
        proven!(vorrq_u32(flags, vorrq_u32(vorrq_u32(w, x), vorrq_u32(y, z))))
    }
    #[inline(always)]
    fn any(self, flags: uint32x4_t) -> bool {
        proven!(vmaxvq_u32(flags)) != 0
    }
    #[inline(always)]
    fn load_u16(self, xs: &[u16; 2 * LANES]) -> [uint16x8_t; 4] {
        each!(|i| vld1q_u16(xs.as_ptr().add(8 * i)))
    }
    #[inline(always)]
    fn store_u16(self, v: [uint16x8_t; 4], out: &mut [u16; 2 * LANES]) {
        each!(|i| vst1q_u16(out.as_mut_ptr().add(8 * i), v[i]));
    }
    #[inline(always)]
    fn max_i16(self, a: [uint16x8_t; 4], b: [uint16x8_t; 4]) -> [uint16x8_t; 4] {
        each!(|i| {
            let (a, b) = (vreinterpretq_s16_u16(a[i]), vreinterpretq_s16_u16(b[i]));
            vreinterpretq_u16_s16(vmaxq_s16(a, b))
        })
    }
    #[inline(always)]
    fn max_u16(self, a: [uint16x8_t; 4], b: [uint16x8_t; 4]) -> [uint16x8_t; 4] {
        each!(|i| vmaxq_u16(a[i], b[i]))
    }
    #[inline(always)]
    fn min_u16(self, a: [uint16x8_t; 4], b: [uint16x8_t; 4]) -> [uint16x8_t; 4] {
        each!(|i| vminq_u16(a[i], b[i]))
    }
    #[inline(always)]
    fn at_least(self, a: Quad, b: Quad) -> u32 {
        const EACH: [u32; 4] = [1, 2, 4, 8];
        let [w, x, y, z] = each!(|i| vaddvq_u32(vandq_u32(vcgeq_f32(a[i], b[i]), vld1q_u32(EACH.as_ptr()))));
        w | x << 4 | y << 8 | z << 12
    }
    #[inline(always)]
    fn between(self, v: Quad, low: Quad, high: Quad) -> u32 {
        const EACH: [u32; 4] = [1, 2, 4, 8];
        let [w, x, y, z] = each!(|i| {
            let inside = vandq_u32(vcgeq_f32(v[i], low[i]), vcltq_f32(v[i], high[i]));
            vaddvq_u32(vandq_u32(inside, vld1q_u32(EACH.as_ptr())))
        });
        w | x << 4 | y << 8 | z << 12
    }
    #[inline(always)]
    fn where_at_least(self, a: Quad, b: Quad, v: Quad) -> Quad {
        each!(|i| vbslq_f32(vcgeq_f32(a[i], b[i]), v[i], vdupq_n_f32(0.0)))
    }
    #[inline(always)]
    fn where_below(self, a: Quad, b: Quad, v: Quad) -> Quad {
        each!(|i| vbslq_f32(vcltq_f32(a[i], b[i]), v[i], vdupq_n_f32(0.0)))
    }
    #[inline(always)]
    fn blend(self, bits: u32, v: Quad, other: Quad) -> Quad {
        const EACH: [[u32; 4]; 4] =
            [[1, 2, 4, 8], [16, 32, 64, 128], [256, 512, 1024, 2048], [4096, 8192, 16384, 32768]];
        each!(|i| {
            let each = vld1q_u32(EACH[i].as_ptr());
            vbslq_f32(vceqq_u32(vandq_u32(vdupq_n_u32(bits), each), each), v[i], other[i])
        })
    }
    #[inline(always)]
    fn scale(self, p: Quad, t: Quad) -> Quad {
        each!(|i| {
            let n = vshlq_n_s32::<23>(vreinterpretq_s32_f32(t[i]));
            vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(p[i]), n))
        })
    }
    #[inline(always)]
    fn shift_bits(self, t: Quad) -> Quad {
        each!(|i| vreinterpretq_f32_s32(vshlq_n_s32::<11>(vreinterpretq_s32_f32(t[i]))))
    }
    #[inline(always)]
    fn zero(self) -> [float64x2_t; 8] {
        proven!([vdupq_n_f64(0.0); 8])
    }
    #[inline(always)]
    fn widen(self, [a, b, c, d]: Quad) -> [float64x2_t; 8] {
        proven!([
            vcvt_f64_f32(vget_low_f32(a)),
            vcvt_high_f64_f32(a),
            vcvt_f64_f32(vget_low_f32(b)),
            vcvt_high_f64_f32(b),
            vcvt_f64_f32(vget_low_f32(c)),
            vcvt_high_f64_f32(c),
            vcvt_f64_f32(vget_low_f32(d)),
            vcvt_high_f64_f32(d),
        ])
    }
    #[inline(always)]
    fn accumulate(self, mut sums: [float64x2_t; 8], v: Quad) -> [float64x2_t; 8] {
        let v = self.widen(v);
        for (sum, v) in sums.iter_mut().zip(v) {
            *sum = proven!(vaddq_f64(*sum, v));
        }
        sums
    }
    #[inline(always)]
    fn accumulate_spread(self, [sums, squares]: [[float64x2_t; 8]; 2], v: Quad, center: f64) -> [[float64x2_t; 8]; 2] {
        let (v, mut out) = (self.widen(v), [sums, squares]);
        for (i, v) in v.into_iter().enumerate() {
            proven!({
                let difference = vsubq_f64(v, vdupq_n_f64(center));
                out[0][i] = vaddq_f64(sums[i], difference);
                out[1][i] = vaddq_f64(squares[i], vmulq_f64(difference, difference));
            });
        }
        out
    }
    #[inline(always)]
    fn accumulate_moment(self, mut sums: [float64x2_t; 8], weight: Quad, v: Quad, center: f64) -> [float64x2_t; 8] {
        let (weight, v) = (self.widen(weight), self.widen(v));
        for (sum, (weight, v)) in sums.iter_mut().zip(weight.into_iter().zip(v)) {
            *sum = proven!(vaddq_f64(*sum, vmulq_f64(weight, vsubq_f64(v, vdupq_n_f64(center)))));
        }
        sums
    }
    #[inline(always)]
    fn fold(self, s: [float64x2_t; 8]) -> [f64; 8] {
        let mut lanes = [0.0; 8];
        each!(|i| vst1q_f64(lanes.as_mut_ptr().add(2 * i), vaddq_f64(s[i], s[i + 4])));
        lanes
    }
}

/// Four numbers of binary16. The intrinsic came with Rust 1.94.
#[target_feature(enable = "neon")]
#[inline]
fn widened(half: uint16x4_t) -> float32x4_t {
    let wide: float32x4_t;
    // SAFETY: the instruction is of NEON, which is enabled here; it reads one register, writes the other, and nothing else.
    unsafe {
        asm!(
            "fcvtl {wide:v}.4s, {half:v}.4h",
            half = in(vreg) half,
            wide = lateout(vreg) wide,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    wide
}
