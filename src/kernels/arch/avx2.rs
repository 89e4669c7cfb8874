//! 256-bit vectors: AVX2, FMA and F16C. Sixteen lanes are two registers.

#![expect(unsafe_code, reason = "vendor intrinsics")]

use std::arch::x86_64::{
    __m256, __m256d, __m256i, _CMP_GE_OQ, _CMP_LT_OQ, _CMP_UNORD_Q, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch,
    _mm256_add_epi32, _mm256_add_pd, _mm256_add_ps, _mm256_and_ps, _mm256_and_si256, _mm256_blendv_ps,
    _mm256_castps_si256, _mm256_castps256_ps128, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cmpeq_epi32,
    _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_cvtps_pd, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_loadu_ps,
    _mm256_loadu_si256, _mm256_max_epi16, _mm256_max_epu16, _mm256_max_ps, _mm256_min_epu16, _mm256_movemask_ps,
    _mm256_mul_pd, _mm256_mul_ps, _mm256_or_ps, _mm256_permutevar8x32_epi32, _mm256_permutevar8x32_ps,
    _mm256_set1_epi32, _mm256_set1_pd, _mm256_set1_ps, _mm256_setr_epi32, _mm256_setzero_pd, _mm256_setzero_ps,
    _mm256_slli_epi32, _mm256_storeu_pd, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_pd, _mm256_sub_ps,
};

use half::{bf16, f16};

use crate::kernels::generic::{LANES, Simd};

super::kernels!("avx2", Avx2::new(), features = "avx2,fma,f16c,popcnt");

pub(super) fn detect() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("popcnt")
}

/// Proof that AVX2, FMA and F16C are enabled.
#[derive(Clone, Copy)]
struct Avx2(());

impl Avx2 {
    // A safe function with target features can be called safely only where they are on, and so the value is a proof.
    #[target_feature(enable = "avx2,fma,f16c")]
    fn new() -> Self {
        Self(())
    }
}

/// An intrinsic, called in a method of the token.
macro_rules! proven {
    ($call:expr) => {
        // SAFETY: a method was called, so there is an `Avx2`, so AVX2, FMA and F16C are enabled; and every address is in an
        // array that has as many elements from there on as the register. A prefetch alone may name any address: it reads nothing
        // and never faults.
        unsafe { $call }
    };
}

/// For each of the 256 masks of eight lanes, the lanes that are set, in order.
static FRONT: [[u32; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 8 {
            if bits >> lane & 1 == 1 {
                table[bits][at] = lane;
                at += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};

#[expect(clippy::inline_always, reason = "only inside a function with the features on do these become instructions")]
#[expect(clippy::cast_possible_wrap, reason = "lane numbers and masks travel in signed registers")]
#[expect(clippy::cast_sign_loss, reason = "eight bits of a mask")]
impl Simd for Avx2 {
    type F32 = [__m256; 2];
    type F64 = [__m256d; 4];
    type Flags = __m256;
    type U16 = [__m256i; 2];

    #[inline(always)]
    fn splat(self, x: f32) -> [__m256; 2] {
        proven!([_mm256_set1_ps(x); 2])
    }
    #[inline(always)]
    fn load_f32(self, xs: &[f32; LANES]) -> [__m256; 2] {
        proven!([_mm256_loadu_ps(xs.as_ptr()), _mm256_loadu_ps(xs.as_ptr().add(8))])
    }
    #[inline(always)]
    fn load_f16(self, xs: &[f16; LANES]) -> [__m256; 2] {
        proven!([
            _mm256_cvtph_ps(_mm_loadu_si128(xs.as_ptr().cast())),
            _mm256_cvtph_ps(_mm_loadu_si128(xs.as_ptr().add(8).cast())),
        ])
    }
    #[inline(always)]
    fn load_bf16(self, xs: &[bf16; LANES]) -> [__m256; 2] {
        proven!({
            let low = _mm256_cvtepu16_epi32(_mm_loadu_si128(xs.as_ptr().cast()));
            let high = _mm256_cvtepu16_epi32(_mm_loadu_si128(xs.as_ptr().add(8).cast()));
            [_mm256_castsi256_ps(_mm256_slli_epi32::<16>(low)), _mm256_castsi256_ps(_mm256_slli_epi32::<16>(high))]
        })
    }
    #[inline(always)]
    fn store(self, [low, high]: [__m256; 2], out: &mut [f32; LANES]) {
        proven!({
            _mm256_storeu_ps(out.as_mut_ptr(), low);
            _mm256_storeu_ps(out.as_mut_ptr().add(8), high);
        });
    }
    #[inline(always)]
    fn prefetch<T>(self, xs: &[T; LANES], ahead: usize) {
        proven!(_mm_prefetch::<_MM_HINT_T0>(xs.as_ptr().wrapping_add(ahead).cast()));
    }
    #[inline(always)]
    fn add(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        proven!([_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn sub(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        proven!([_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn mul(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        proven!([_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn mul_add(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        proven!([_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])])
    }
    #[inline(always)]
    fn max(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        proven!([_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])])
    }
    #[inline(always)]
    fn reduce_max(self, [low, high]: [__m256; 2]) -> f32 {
        let mut lanes = [0.0; 8];
        proven!(_mm256_storeu_ps(lanes.as_mut_ptr(), _mm256_max_ps(low, high)));
        let [a, b, c, d, e, f, g, h] = lanes;
        a.max(e).max(c.max(g)).max(b.max(f).max(d.max(h)))
    }
    #[inline(always)]
    fn no_flags(self) -> __m256 {
        proven!(_mm256_setzero_ps())
    }
    #[inline(always)]
    fn flag_nan(self, flags: __m256, a: [__m256; 2], b: [__m256; 2]) -> __m256 {
        proven!({
            let low = _mm256_cmp_ps::<_CMP_UNORD_Q>(a[0], b[0]);
            let high = _mm256_cmp_ps::<_CMP_UNORD_Q>(a[1], b[1]);
            _mm256_or_ps(flags, _mm256_or_ps(low, high))
        })
    }
    #[inline(always)]
    fn any(self, flags: __m256) -> bool {
        proven!(_mm256_movemask_ps(flags)) != 0
    }
    #[inline(always)]
    fn load_u16(self, xs: &[u16; 2 * LANES]) -> [__m256i; 2] {
        proven!([_mm256_loadu_si256(xs.as_ptr().cast()), _mm256_loadu_si256(xs.as_ptr().add(16).cast())])
    }
    #[inline(always)]
    fn store_u16(self, [low, high]: [__m256i; 2], out: &mut [u16; 2 * LANES]) {
        proven!({
            _mm256_storeu_si256(out.as_mut_ptr().cast(), low);
            _mm256_storeu_si256(out.as_mut_ptr().add(16).cast(), high);
        });
    }
    #[inline(always)]
    fn max_i16(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        proven!([_mm256_max_epi16(a[0], b[0]), _mm256_max_epi16(a[1], b[1])])
    }
    #[inline(always)]
    fn max_u16(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        proven!([_mm256_max_epu16(a[0], b[0]), _mm256_max_epu16(a[1], b[1])])
    }
    #[inline(always)]
    fn min_u16(self, a: [__m256i; 2], b: [__m256i; 2]) -> [__m256i; 2] {
        proven!([_mm256_min_epu16(a[0], b[0]), _mm256_min_epu16(a[1], b[1])])
    }
    #[inline(always)]
    fn at_least(self, a: [__m256; 2], b: [__m256; 2]) -> u32 {
        proven!({
            let low = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(a[0], b[0]));
            let high = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(a[1], b[1]));
            (low | high << 8) as u32
        })
    }
    #[inline(always)]
    fn between(self, v: [__m256; 2], low: [__m256; 2], high: [__m256; 2]) -> u32 {
        proven!({
            let [low, high] = [0, 1].map(|i| {
                let (reaching, below) =
                    (_mm256_cmp_ps::<_CMP_GE_OQ>(v[i], low[i]), _mm256_cmp_ps::<_CMP_LT_OQ>(v[i], high[i]));
                _mm256_movemask_ps(_mm256_and_ps(reaching, below))
            });
            (low | high << 8) as u32
        })
    }
    #[inline(always)]
    fn where_at_least(self, a: [__m256; 2], b: [__m256; 2], v: [__m256; 2]) -> [__m256; 2] {
        proven!([
            _mm256_and_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(a[0], b[0]), v[0]),
            _mm256_and_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(a[1], b[1]), v[1]),
        ])
    }
    #[inline(always)]
    fn where_below(self, a: [__m256; 2], b: [__m256; 2], v: [__m256; 2]) -> [__m256; 2] {
        proven!([
            _mm256_and_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a[0], b[0]), v[0]),
            _mm256_and_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a[1], b[1]), v[1]),
        ])
    }
    #[inline(always)]
    fn blend(self, bits: u32, v: [__m256; 2], other: [__m256; 2]) -> [__m256; 2] {
        proven!({
            let low = _mm256_blendv_ps(other[0], v[0], lanes_of(bits));
            let high = _mm256_blendv_ps(other[1], v[1], lanes_of(bits >> 8));
            [low, high]
        })
    }
    #[inline(always)]
    fn scale(self, p: [__m256; 2], t: [__m256; 2]) -> [__m256; 2] {
        proven!([scale(p[0], t[0]), scale(p[1], t[1])])
    }
    #[inline(always)]
    fn shift_bits(self, t: [__m256; 2]) -> [__m256; 2] {
        proven!(t.map(|t| _mm256_castsi256_ps(_mm256_slli_epi32::<11>(_mm256_castps_si256(t)))))
    }
    #[inline(always)]
    fn compress(self, v: [__m256; 2], bits: u32, out: &mut [f32; LANES]) {
        let [low, high] = halves(bits);
        let mut back = [0.0_f32; 8];
        proven!({
            let front = _mm256_permutevar8x32_ps(v[0], _mm256_loadu_si256(FRONT[low].as_ptr().cast()));
            _mm256_storeu_ps(out.as_mut_ptr(), front);
            let behind = _mm256_permutevar8x32_ps(v[1], _mm256_loadu_si256(FRONT[high].as_ptr().cast()));
            _mm256_storeu_ps(back.as_mut_ptr(), behind);
        });
        // The upper half starts behind the lower one, at most at lane 8, and so ends inside the array.
        let at = low.count_ones() as usize;
        out[at..at + 8].copy_from_slice(&back);
    }
    #[inline(always)]
    fn compress_places(self, base: u32, bits: u32, out: &mut [u32; LANES]) {
        let [low, high] = halves(bits);
        let mut back = [0_u32; 8];
        proven!({
            let lanes = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(base as i32));
            let front = _mm256_permutevar8x32_epi32(lanes, _mm256_loadu_si256(FRONT[low].as_ptr().cast()));
            _mm256_storeu_si256(out.as_mut_ptr().cast(), front);
            let lanes = _mm256_add_epi32(lanes, _mm256_set1_epi32(8));
            let behind = _mm256_permutevar8x32_epi32(lanes, _mm256_loadu_si256(FRONT[high].as_ptr().cast()));
            _mm256_storeu_si256(back.as_mut_ptr().cast(), behind);
        });
        let at = low.count_ones() as usize;
        out[at..at + 8].copy_from_slice(&back);
    }
    #[inline(always)]
    fn zero(self) -> [__m256d; 4] {
        proven!([_mm256_setzero_pd(); 4])
    }
    #[inline(always)]
    fn widen(self, v: [__m256; 2]) -> [__m256d; 4] {
        proven!([
            _mm256_cvtps_pd(_mm256_castps256_ps128(v[0])),
            _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(v[0])),
            _mm256_cvtps_pd(_mm256_castps256_ps128(v[1])),
            _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(v[1])),
        ])
    }
    #[inline(always)]
    fn accumulate(self, mut sums: [__m256d; 4], v: [__m256; 2]) -> [__m256d; 4] {
        let v = self.widen(v);
        for (sum, v) in sums.iter_mut().zip(v) {
            *sum = proven!(_mm256_add_pd(*sum, v));
        }
        sums
    }
    #[inline(always)]
    fn accumulate_spread(self, [sums, squares]: [[__m256d; 4]; 2], v: [__m256; 2], center: f64) -> [[__m256d; 4]; 2] {
        let (v, mut out) = (self.widen(v), [sums, squares]);
        for (i, v) in v.into_iter().enumerate() {
            proven!({
                let difference = _mm256_sub_pd(v, _mm256_set1_pd(center));
                out[0][i] = _mm256_add_pd(sums[i], difference);
                out[1][i] = _mm256_add_pd(squares[i], _mm256_mul_pd(difference, difference));
            });
        }
        out
    }
    #[inline(always)]
    fn accumulate_moment(
        self,
        mut sums: [__m256d; 4],
        weight: [__m256; 2],
        v: [__m256; 2],
        center: f64,
    ) -> [__m256d; 4] {
        let (weight, v) = (self.widen(weight), self.widen(v));
        for (sum, (weight, v)) in sums.iter_mut().zip(weight.into_iter().zip(v)) {
            *sum = proven!(_mm256_add_pd(*sum, _mm256_mul_pd(weight, _mm256_sub_pd(v, _mm256_set1_pd(center)))));
        }
        sums
    }
    #[inline(always)]
    fn fold(self, sums: [__m256d; 4]) -> [f64; 8] {
        let mut lanes = [0.0; 8];
        proven!({
            _mm256_storeu_pd(lanes.as_mut_ptr(), _mm256_add_pd(sums[0], sums[2]));
            _mm256_storeu_pd(lanes.as_mut_ptr().add(4), _mm256_add_pd(sums[1], sums[3]));
        });
        lanes
    }
}

/// All ones in the lanes whose bit, of the lowest eight, is set.
#[target_feature(enable = "avx2")]
#[inline]
#[expect(clippy::cast_possible_wrap, reason = "bits travel in signed registers")]
fn lanes_of(bits: u32) -> __m256 {
    let each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits as i32), each), each))
}

/// The bits of the lower and of the upper eight lanes.
#[inline]
fn halves(bits: u32) -> [usize; 2] {
    [bits & 0xff, bits >> 8 & 0xff].map(|half| half as usize)
}

/// `p · 2^n`, where `t` is `1.5 · 2^23 + n`.
#[target_feature(enable = "avx2")]
#[inline]
fn scale(p: __m256, t: __m256) -> __m256 {
    let n: __m256i = _mm256_slli_epi32::<23>(_mm256_castps_si256(t));
    _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), n))
}
