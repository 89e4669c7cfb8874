//! Slices in, slices out: the loops that read a row of scores.
//!
//! `generic` has each kernel once; `arch` has one file per instruction set, which instantiates them. The table of
//! kernels in use is chosen at the first call, by what the CPU has; [`available`] lists all that could be, for tests.

pub(crate) mod arch;
#[cfg(feature = "bench")]
#[doc(hidden)]
pub mod bench;
pub(crate) mod generic;

use std::sync::OnceLock;

pub(crate) use generic::mass::ROUGH;
pub(crate) use generic::{BLOCK, LANES};

/// What one pass leaves of a block of scores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Block {
    /// The largest score.
    pub(crate) max: f32,
    /// The logarithm to base two of the largest weight, rounded.
    pub(crate) exponent: i32,
    /// The sum of the weights, relative to two to the power of `exponent`.
    pub(crate) sum: f64,
}

/// The factor between a score and the logarithm to base two of its weight, `log2(e) / T`, in two floats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Base {
    pub(crate) high: f32,
    pub(crate) low: f32,
    factor: f64,
}

impl Base {
    /// The largest `|x · factor|` at which the split into integer and fraction keeps every digit.
    const REACH: f64 = 32_768.0;

    /// For a temperature above zero.
    pub(crate) fn new(temperature: f64) -> Self {
        let factor = (std::f64::consts::LOG2_E / temperature).min(f64::from(f32::MAX));
        let [high, low] = split(factor);
        Self { high, low, factor }
    }

    /// Whether a row whose largest score is `max` can be weighed as it stands.
    pub(crate) fn covers(self, max: f32) -> bool {
        (f64::from(max) * self.factor).abs() <= Self::REACH
    }

    /// The least finite score whose weight, relative to `2^exponent`, is at least 2^-126.
    pub(crate) fn least(self, exponent: f32) -> f32 {
        ceil((f64::from(exponent) - 126.0) / self.factor)
    }
}

/// The nearest `f32`, and the nearest of what is left: 48 bits of `x`.
#[expect(clippy::cast_possible_truncation, reason = "the rest goes into the second")]
pub(crate) fn split(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, (x - f64::from(high)) as f32]
}

/// The least finite `f32` that is not below `x`.
pub(crate) fn ceil(x: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "corrected below")]
    let nearest = x as f32;
    let above = if f64::from(nearest) < x { nearest.next_up() } else { nearest };
    above.max(f32::MIN)
}

type Bracket = fn(&[f32], Base, f32, [f32; 2], &mut [Block], &mut [f32], &mut [u32]) -> usize;
type Gather = fn(&[f32], &[Block], f32, &mut [f32], &mut [u32]) -> usize;

/// The kernels of one instruction set. What each does stands in `generic`.
pub struct Kernels {
    pub(crate) name: &'static str,
    pub(crate) scan: fn(&[f32], &mut [Block]) -> bool,
    pub(crate) scan_copy: fn(&[f32], &mut [f32], &mut [Block]) -> bool,
    pub(crate) lane_maxima: fn(&[f32], usize, &mut [f32]),
    pub(crate) mass: fn(&[f32], Base, &mut [Block]) -> bool,
    pub(crate) mass_rough: fn(&[f32], Base, &mut [Block]) -> bool,
    pub(crate) mass_out: fn(&[f32], Base, &mut [Block], &mut [f32]) -> bool,
    pub(crate) mass_from: fn(&[f32], Base, f32, f32, &mut [Block]),
    pub(crate) mass_from_rough: fn(&[f32], Base, f32, f32, &mut [Block]),
    pub(crate) bracket: Bracket,
    pub(crate) weights: fn(&[f32], Base, f32, &mut [f32]),
    pub(crate) moment: fn(&[f32], Base, f32) -> f64,
    pub(crate) spread: fn(&[f32], f32) -> [f64; 2],
    pub(crate) least: fn(&[f32]) -> f32,
    pub(crate) gather: Gather,
    pub(crate) position: fn(&[f32], f32) -> Option<usize>,
    pub(crate) count: fn(&[f32], f32) -> usize,
    pub(crate) shift: fn(&[f32], f32, &mut [f32]),
    pub(crate) subtract: fn(&[f32], f32, f32, &mut [f32]),
    pub(crate) multiply: fn(&mut [f32], [f32; 2]),
    pub(crate) mask: fn(&mut [f32], &[u32]),
    pub(crate) complete: fn(&[f32], &[u32], &mut [f32]),
}

impl Kernels {
    /// `"avx512"`, `"avx2"`, `"neon"` or `"portable"`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kernels").field(&self.name).finish()
    }
}

/// The kernels that this CPU can run, best first. Never empty.
pub fn available() -> impl Iterator<Item = &'static Kernels> {
    arch::CANDIDATES.iter().filter(|candidate| (candidate.detect)()).map(|candidate| candidate.kernels)
}

static ACTIVE: OnceLock<&'static Kernels> = OnceLock::new();

/// The kernels in use: those of [`select`], or else the best that this CPU can run.
///
/// # Panics
///
/// Never: the portable kernels always run.
pub fn active() -> &'static Kernels {
    ACTIVE.get_or_init(|| available().next().expect("the portable kernels always run"))
}

/// Chooses the kernels by name, before their first use. Returns whether they are now in use: `false` when this CPU cannot
/// run them, the name is unknown, or others are in use already.
#[must_use]
pub fn select(name: &str) -> bool {
    available().find(|kernels| kernels.name == name).is_some_and(|kernels| {
        let active = ACTIVE.get_or_init(|| kernels);
        active.name == kernels.name
    })
}

#[cfg(test)]
mod tests;
