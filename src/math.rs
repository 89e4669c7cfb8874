//! Logarithms and powers in `f64`, with the same bits on every machine; and rounding up to `f32`.
//!
//! Those of the standard library come from the system, and the system's own choose among several versions by what the CPU
//! has: about one result in two thousand then differs in its last bit, which can move the limit of a cut. These are computed
//! by the `libm` crate from additions, multiplications and divisions alone. (`sqrt` and rounding are exact everywhere, so
//! the standard library's will do.)

pub(crate) use libm::{exp, exp2, log as ln, log2, pow};

/// The least finite `f32` that is not below `x`.
pub(crate) fn ceil(x: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "corrected below")]
    let nearest = x as f32;
    let above = if f64::from(nearest) < x { nearest.next_up() } else { nearest };
    above.max(f32::MIN)
}
