//! 512-bit vectors: AVX-512 F and BW. Sixteen lanes are one register.

#![expect(unsafe_code, reason = "vendor intrinsics")]

use std::arch::x86_64::{
    __m512, __m512d, __m512i, _CMP_GE_OQ, _CMP_LT_OQ, _CMP_UNORD_Q, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256,
    _mm512_add_epi32, _mm512_add_pd, _mm512_add_ps, _mm512_castpd_ps, _mm512_castps_pd, _mm512_castps_si512,
    _mm512_castps512_ps256, _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cvtepu16_epi32, _mm512_cvtph_ps,
    _mm512_cvtps_pd, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mask_blend_ps,
    _mm512_mask_cmp_ps_mask, _mm512_maskz_compress_epi32, _mm512_maskz_compress_ps, _mm512_maskz_mov_ps,
    _mm512_max_epi16, _mm512_max_epu16, _mm512_max_ps, _mm512_min_epu16, _mm512_mul_pd, _mm512_mul_ps,
    _mm512_reduce_max_ps, _mm512_set1_epi32, _mm512_set1_pd, _mm512_set1_ps, _mm512_setr_epi32, _mm512_setzero_pd,
    _mm512_shuffle_f64x2, _mm512_slli_epi32, _mm512_storeu_pd, _mm512_storeu_ps, _mm512_storeu_si512, _mm512_sub_pd,
    _mm512_sub_ps,
};

use half::{bf16, f16};

use crate::kernels::generic::{LANES, Simd};

super::kernels!("avx512", Avx512::new(), features = "avx512f,avx512bw,popcnt");

pub(super) fn detect() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("popcnt")
}

/// Proof that AVX-512 F and BW are enabled.
#[derive(Clone, Copy)]
struct Avx512(());

impl Avx512 {
    // A safe function with target features can be called safely only where they are on, and so the value is a proof.
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new() -> Self {
        Self(())
    }
}

/// An intrinsic, called in a method of the token.
macro_rules! proven {
    ($call:expr) => {
        // SAFETY: a method was called, so there is an `Avx512`, so AVX-512 F and BW are enabled; and every address is that of
        // an array that has as many elements as the register, of 256 bits for half precision, else of 512. A prefetch alone may
        // name any address: it reads nothing and never faults.
        unsafe { $call }
    };
}

#[expect(clippy::inline_always, reason = "only inside a function with the features on do these become instructions")]
#[expect(clippy::cast_possible_wrap, reason = "lane numbers travel in signed registers")]
#[expect(clippy::cast_possible_truncation, reason = "sixteen bits of a mask")]
impl Simd for Avx512 {
    type F32 = __m512;
    type F64 = [__m512d; 2];
    type Flags = u16;
    type U16 = __m512i;

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        proven!(_mm512_set1_ps(x))
    }
    #[inline(always)]
    fn load_f32(self, xs: &[f32; LANES]) -> __m512 {
        proven!(_mm512_loadu_ps(xs.as_ptr()))
    }
    #[inline(always)]
    fn load_f16(self, xs: &[f16; LANES]) -> __m512 {
        proven!(_mm512_cvtph_ps(_mm256_loadu_si256(xs.as_ptr().cast())))
    }
    #[inline(always)]
    fn load_bf16(self, xs: &[bf16; LANES]) -> __m512 {
        proven!({
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(xs.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        })
    }
    #[inline(always)]
    fn store(self, v: __m512, out: &mut [f32; LANES]) {
        proven!(_mm512_storeu_ps(out.as_mut_ptr(), v));
    }
    #[inline(always)]
    fn prefetch<T>(self, xs: &[T; LANES], ahead: usize) {
        proven!(_mm_prefetch::<_MM_HINT_T0>(xs.as_ptr().wrapping_add(ahead).cast()));
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_mul_ps(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        proven!(_mm512_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        proven!(_mm512_max_ps(a, b))
    }
    #[inline(always)]
    fn reduce_max(self, v: __m512) -> f32 {
        proven!(_mm512_reduce_max_ps(v))
    }
    #[inline(always)]
    fn no_flags(self) -> u16 {
        0
    }
    #[inline(always)]
    fn flag_nan(self, flags: u16, a: __m512, b: __m512) -> u16 {
        flags | proven!(_mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, b))
    }
    #[inline(always)]
    fn any(self, flags: u16) -> bool {
        flags != 0
    }
    #[inline(always)]
    fn load_u16(self, xs: &[u16; 2 * LANES]) -> __m512i {
        proven!(_mm512_loadu_si512(xs.as_ptr().cast()))
    }
    #[inline(always)]
    fn store_u16(self, v: __m512i, out: &mut [u16; 2 * LANES]) {
        proven!(_mm512_storeu_si512(out.as_mut_ptr().cast(), v));
    }
    #[inline(always)]
    fn max_i16(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_max_epi16(a, b))
    }
    #[inline(always)]
    fn max_u16(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_max_epu16(a, b))
    }
    #[inline(always)]
    fn min_u16(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_min_epu16(a, b))
    }
    #[inline(always)]
    fn at_least(self, a: __m512, b: __m512) -> u32 {
        proven!(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, b)).into()
    }
    #[inline(always)]
    fn between(self, v: __m512, low: __m512, high: __m512) -> u32 {
        proven!(_mm512_mask_cmp_ps_mask::<_CMP_GE_OQ>(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(v, high), v, low)).into()
    }
    #[inline(always)]
    fn where_at_least(self, a: __m512, b: __m512, v: __m512) -> __m512 {
        proven!(_mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, b), v))
    }
    #[inline(always)]
    fn where_below(self, a: __m512, b: __m512, v: __m512) -> __m512 {
        proven!(_mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), v))
    }
    #[inline(always)]
    fn blend(self, bits: u32, v: __m512, other: __m512) -> __m512 {
        proven!(_mm512_mask_blend_ps(bits as u16, other, v))
    }
    #[inline(always)]
    fn scale(self, p: __m512, t: __m512) -> __m512 {
        proven!({
            let n = _mm512_slli_epi32::<23>(_mm512_castps_si512(t));
            _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), n))
        })
    }
    #[inline(always)]
    fn shift_bits(self, t: __m512) -> __m512 {
        proven!(_mm512_castsi512_ps(_mm512_slli_epi32::<11>(_mm512_castps_si512(t))))
    }
    #[inline(always)]
    fn compress(self, v: __m512, bits: u32, out: &mut [f32; LANES]) {
        // Into a register and then whole: compressing into memory is slow on some CPUs.
        proven!(_mm512_storeu_ps(out.as_mut_ptr(), _mm512_maskz_compress_ps(bits as u16, v)));
    }
    #[inline(always)]
    fn compress_places(self, base: u32, bits: u32, out: &mut [u32; LANES]) {
        proven!({
            let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            let places = _mm512_add_epi32(lanes, _mm512_set1_epi32(base as i32));
            _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(bits as u16, places));
        });
    }
    #[inline(always)]
    fn zero(self) -> [__m512d; 2] {
        proven!([_mm512_setzero_pd(); 2])
    }
    #[inline(always)]
    fn widen(self, v: __m512) -> [__m512d; 2] {
        proven!({
            let upper = _mm512_castpd_ps(_mm512_shuffle_f64x2::<0b1110>(_mm512_castps_pd(v), _mm512_castps_pd(v)));
            [_mm512_cvtps_pd(_mm512_castps512_ps256(v)), _mm512_cvtps_pd(_mm512_castps512_ps256(upper))]
        })
    }
    #[inline(always)]
    fn accumulate(self, mut sums: [__m512d; 2], v: __m512) -> [__m512d; 2] {
        let v = self.widen(v);
        for (sum, v) in sums.iter_mut().zip(v) {
            *sum = proven!(_mm512_add_pd(*sum, v));
        }
        sums
    }
    #[inline(always)]
    fn accumulate_spread(self, [sums, squares]: [[__m512d; 2]; 2], v: __m512, center: f64) -> [[__m512d; 2]; 2] {
        let (v, mut out) = (self.widen(v), [sums, squares]);
        for (i, v) in v.into_iter().enumerate() {
            proven!({
                let difference = _mm512_sub_pd(v, _mm512_set1_pd(center));
                out[0][i] = _mm512_add_pd(sums[i], difference);
                out[1][i] = _mm512_add_pd(squares[i], _mm512_mul_pd(difference, difference));
            });
        }
        out
    }
    #[inline(always)]
    fn accumulate_moment(self, mut sums: [__m512d; 2], weight: __m512, v: __m512, center: f64) -> [__m512d; 2] {
        let (weight, v) = (self.widen(weight), self.widen(v));
        for (sum, (weight, v)) in sums.iter_mut().zip(weight.into_iter().zip(v)) {
            *sum = proven!(_mm512_add_pd(*sum, _mm512_mul_pd(weight, _mm512_sub_pd(v, _mm512_set1_pd(center)))));
        }
        sums
    }
    #[inline(always)]
    fn fold(self, [low, high]: [__m512d; 2]) -> [f64; 8] {
        let mut lanes = [0.0; 8];
        proven!(_mm512_storeu_pd(lanes.as_mut_ptr(), _mm512_add_pd(low, high)));
        lanes
    }
}
