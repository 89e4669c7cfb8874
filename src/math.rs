//! Logarithms and powers in `f64`, with the same bits on every machine.
//!
//! Those of the standard library come from the system, and the system's own choose among several versions by what the CPU
//! has: about one result in two thousand then differs in its last bit, which can move the limit of a cut. These are computed
//! by the `libm` crate from additions, multiplications and divisions alone. (`sqrt` and rounding are exact everywhere, so
//! the standard library's will do.)

pub(crate) use libm::{exp, exp2, log as ln, log2, pow};
