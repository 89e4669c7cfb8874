//! Kernels that write a row: shifted, scaled, masked.

use super::{Element, LANES, Simd, bits, to_line};

/// `max(x - max, lowest finite)`, and -inf where `x` is -inf: what may be far below stays possible.
#[inline(always)]
pub(crate) fn shift<S: Simd, E: Element>(s: S, xs: &[E], max: f32, out: &mut [f32]) {
    let max = s.splat(max);
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let (outs, out_tail) = out.as_chunks_mut::<LANES>();
    for (v, out) in vectors.iter().zip(outs) {
        s.store(shifted(s, s.load(v), max), out);
    }
    if !tail.is_empty() {
        s.store_tail(shifted(s, s.load_tail(tail, 0.0), max), out_tail);
    }
}

#[inline(always)]
fn shifted<S: Simd>(s: S, x: S::F32, max: S::F32) -> S::F32 {
    let lowest = s.splat(f32::MIN);
    let difference = s.max(s.sub(x, max), lowest);
    s.blend(s.at_least(x, lowest), difference, s.splat(f32::NEG_INFINITY))
}

/// `(x - max) - log_total`.
#[inline(always)]
pub(crate) fn subtract<S: Simd, E: Element>(s: S, xs: &[E], max: f32, log_total: f32, out: &mut [f32]) {
    let (max, log_total) = (s.splat(max), s.splat(log_total));
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let (outs, out_tail) = out.as_chunks_mut::<LANES>();
    for (v, out) in vectors.iter().zip(outs) {
        s.store(s.sub(s.sub(s.load(v), max), log_total), out);
    }
    if !tail.is_empty() {
        s.store_tail(s.sub(s.sub(s.load_tail(tail, 0.0), max), log_total), out_tail);
    }
}

/// `x · factor`, in place, the factor given in two floats: one rounding at the end, so that a number times its reciprocal
/// is one.
#[inline(always)]
pub(crate) fn multiply<S: Simd>(s: S, xs: &mut [f32], factor: [f32; 2]) {
    let [high, low] = [s.splat(factor[0]), s.splat(factor[1])];
    // Every product is on its own, so vectors may begin where cache lines do.
    let (head, rest) = xs.split_at_mut(to_line(xs));
    let (vectors, tail) = rest.as_chunks_mut::<LANES>();
    for v in vectors {
        let x = s.load(v);
        s.store(s.mul_add(x, high, s.mul(x, low)), v);
    }
    for end in [head, tail] {
        let x = s.load_tail(end, 0.0);
        s.store_tail(s.mul_add(x, high, s.mul(x, low)), end);
    }
}

/// -inf wherever the packed mask has a zero bit (token `t` is bit `t & 31` of word `t >> 5`), or no bit at all.
#[inline(always)]
pub(crate) fn mask<S: Simd>(s: S, xs: &mut [f32], words: &[u32]) {
    let gone = s.splat(f32::NEG_INFINITY);
    let (vectors, tail) = xs.as_chunks_mut::<LANES>();
    let whole = vectors.len();
    for (i, v) in vectors.iter_mut().enumerate() {
        s.store(s.blend(bits(words, i), s.load(v), gone), v);
    }
    if !tail.is_empty() {
        s.store_tail(s.blend(bits(words, whole), s.load_tail(tail, 0.0), gone), tail);
    }
}

/// The scores as `f32`, and -inf at the places whose bit of `except` is set.
#[inline(always)]
pub(crate) fn copy<S: Simd, E: Element>(s: S, xs: &[E], except: &[u32], out: &mut [f32]) {
    if except.is_empty() {
        return E::widen(s, xs, out);
    }
    let gone = s.splat(f32::NEG_INFINITY);
    let (vectors, tail) = xs.as_chunks::<LANES>();
    let (outs, out_tail) = out.as_chunks_mut::<LANES>();
    for (i, (v, out)) in vectors.iter().zip(outs).enumerate() {
        s.store(s.blend(bits(except, i), gone, s.load(v)), out);
    }
    if !tail.is_empty() {
        s.store_tail(s.blend(bits(except, vectors.len()), gone, s.load_tail(tail, 0.0)), out_tail);
    }
}
