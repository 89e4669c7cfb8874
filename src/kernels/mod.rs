//! Slices in, slices out: the loops that read a row of scores.
//!
//! `generic` has each kernel once; `arch` has one file per instruction set, which instantiates them. The table of
//! kernels in use is chosen at the first call, by what the CPU has; [`available`] lists all that could be, for tests.

pub(crate) mod arch;
#[cfg(feature = "bench")]
#[doc(hidden)]
#[expect(clippy::disallowed_methods, reason = "what is right comes from elsewhere than what is tested")]
pub mod bench;
pub(crate) mod generic;

use std::sync::OnceLock;

use half::{bf16, f16};

use crate::math;
use crate::scores::Scores;
pub(crate) use generic::estimate::ESTIMATE;
pub(crate) use generic::mass::ROUGH;
pub(crate) use generic::{BLOCK, LANES, WORD};

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

/// A range of scores, `low` inside and `high` outside, in which a mass is expected to be reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bracket {
    pub(crate) low: f32,
    pub(crate) high: f32,
    /// What weights are relative to: the largest score.
    pub(crate) max: f32,
}

/// What one pass that takes scores out leaves of a block beside its maximum and sum.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Part {
    /// The sum of the weights of scores above a bracket, relative to the same power of two as that of the block. Nothing else
    /// writes it.
    pub(crate) above: f64,
    /// How many scores of this block and those before were taken out.
    pub(crate) end: u32,
}

/// Two ranges of scores, one inside the other, each with its lower end and without its upper one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Band {
    /// Where all count.
    pub(crate) core: [f32; 2],
    /// Beyond which none does.
    pub(crate) all: [f32; 2],
}

/// What one pass with a band leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    /// How many scores are in the core.
    pub(crate) count: usize,
    /// The sum of their weights.
    pub(crate) mass: f64,
    /// The sum of weight times distance from the largest score, which is not positive.
    pub(crate) moment: f64,
    /// How many others are in the band.
    pub(crate) doubtful: usize,
}

/// The factor between a score and the logarithm to base two of its weight, `log2(e) / T`, in two floats. Where it would be
/// beyond all floats, scores are first measured from the largest and then lifted: see [`Base::lift`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Base {
    pub(crate) high: f32,
    pub(crate) low: f32,
    factor: f64,
    lifted: bool,
}

impl Base {
    /// The largest `|x · factor|` at which the split into integer and fraction keeps every digit.
    const REACH: f64 = 32_768.0;

    /// So much that the least difference of two floats, 2^-149, makes 2^9 of the largest factor: no weight is left.
    const LIFT: f32 = 1_073_741_824.0;

    /// For a temperature above zero.
    pub(crate) fn new(temperature: f64) -> Self {
        let factor = std::f64::consts::LOG2_E / temperature;
        let lifted = factor > f64::from(f32::MAX);
        // Lifted, the least difference of two floats leaves no weight at the largest factor.
        let factor = if lifted { (factor / f64::from(Self::LIFT)).min(f64::from(f32::MAX)) } else { factor };
        let [high, low] = split(factor);
        Self { high, low, factor, lifted }
    }

    /// Multiplies scores that are measured from the largest, if the factor is that of such.
    pub(crate) fn lift(self, xs: &mut [f32]) {
        if self.lifted {
            xs.iter_mut().filter(|x| **x > f32::NEG_INFINITY).for_each(|x| *x = (*x * Self::LIFT).max(f32::MIN));
        }
    }

    /// Whether a row whose largest score is `max` can be weighed as it stands.
    pub(crate) fn covers(self, max: f32) -> bool {
        !self.lifted && (f64::from(max) * self.factor).abs() <= Self::REACH
    }

    /// Whether scores of which the largest is `max` can be weighed as part of a row that is covered. Those that lie above are
    /// of a row that is not; those below are more than 126 powers of two below the best, and weigh nothing.
    pub(crate) fn weighs(self, max: f32) -> bool {
        (-Self::REACH - 128.0..=Self::REACH).contains(&(f64::from(max) * self.factor))
    }

    /// The even integer next to `max · factor`, for a `max` that [`Self::weighs`]: weights are relative to two to the power of it.
    #[inline(always)]
    pub(crate) fn exponent(self, max: f32) -> i32 {
        // Floats of this size are two apart, so adding it rounds to an even integer.
        const EVEN: f64 = 13_510_798_882_111_488.0;
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^15, and an integer")]
        let even = (f64::from(max) * self.factor + EVEN - EVEN) as i32;
        even
    }

    /// The score whose weight, relative to that power of two for `max`, is `weight`, which is above zero.
    pub(crate) fn score(self, weight: f64, max: f32) -> f32 {
        math::ceil((math::log2(weight) + f64::from(self.exponent(max))) / self.factor)
    }

    /// The least finite score whose weight, relative to `2^exponent`, is at least 2^-126.
    pub(crate) fn least(self, exponent: i32) -> f32 {
        math::ceil((f64::from(exponent) - 126.0) / self.factor)
    }
}

/// The nearest `f32`, and the nearest of what is left: 48 bits of `x`.
#[expect(clippy::cast_possible_truncation, reason = "the rest goes into the second")]
pub(crate) fn split(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, (x - f64::from(high)) as f32]
}

/// The kernels of one instruction set. What each does stands in `generic`.
pub struct Kernels {
    pub(crate) name: &'static str,
    pub(crate) f32: Readers<f32>,
    pub(crate) f16: Readers<f16>,
    pub(crate) bf16: Readers<bf16>,
    pub(crate) multiply: fn(&mut [f32], [f32; 2]),
    pub(crate) mask: fn(&mut [f32], &[u32]),
}

/// Kernels that read a row: the entries of the table, for rows of one kind, and the methods that take any.
macro_rules! readers {
    ($(fn $kernel:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        /// The kernels that read a row of `E`.
        pub(crate) struct Readers<E: 'static> {
            $(pub(crate) $kernel: fn(&[E], $($type),*) $(-> $result)?,)*
        }

        impl Kernels {
            $(#[inline]
            pub(crate) fn $kernel<'x>(&self, xs: impl Into<Scores<'x>>, $($arg: $type),*) $(-> $result)? {
                match xs.into() {
                    Scores::F32(xs) => (self.f32.$kernel)(xs, $($arg),*),
                    Scores::F16(xs) => (self.f16.$kernel)(xs, $($arg),*),
                    Scores::Bf16(xs) => (self.bf16.$kernel)(xs, $($arg),*),
                }
            })*
        }
    };
}

readers! {
    fn scan(blocks: &mut [Block]) -> bool;
    fn scan_above(distance: f64, blocks: &mut [Block], parts: &mut [Part], values: &mut [f32]) -> bool;
    fn scan_copy(mask: Option<&[u32]>, out: &mut [f32], blocks: &mut [Block]) -> bool;
    fn scan_except(except: &[u32], blocks: &mut [Block]) -> bool;
    fn rescan(except: &[u32], stale: &[u32], blocks: &mut [Block]);
    fn lane_maxima(span: usize, except: &[u32], maxima: &mut [f32]);
    fn mass(base: Base, blocks: &mut [Block]) -> bool;
    fn mass_rough(base: Base, blocks: &mut [Block]) -> bool;
    fn mass_estimate(base: Base, blocks: &mut [Block]) -> bool;
    fn mass_out(base: Base, blocks: &mut [Block], out: &mut [f32]) -> bool;
    fn mass_from(base: Base, max: f32, threshold: f32, blocks: &mut [Block]);
    fn mass_from_rough(base: Base, max: f32, threshold: f32, blocks: &mut [Block]);
    fn estimate(base: Base, max: f32, blocks: &mut [Block]);
    fn bracket(base: Base, bracket: Bracket, blocks: &mut [Block], parts: &mut [Part], values: &mut [f32]);
    fn bracket_exact(base: Base, bracket: Bracket, blocks: &mut [Block], parts: &mut [Part], values: &mut [f32]);
    fn add_inside(base: Base, max: f32, threshold: f32, parts: &[Part], blocks: &mut [Block]);
    fn band(base: Base, max: f32, band: Band, values: &mut [f32]) -> Near;
    fn weights(base: Base, max: f32, out: &mut [f32]);
    fn moment(base: Base, max: f32) -> f64;
    fn spread(center: f32) -> [f64; 2];
    fn least() -> f32;
    fn gather(blocks: &[Block], threshold: f32, except: &[u32], values: &mut [f32], indices: &mut [u32]) -> usize;
    fn gather_between(blocks: &[Block], range: [f32; 2], values: &mut [f32], indices: &mut [u32]) -> usize;
    fn position(threshold: f32) -> Option<usize>;
    fn count(threshold: f32) -> usize;
    fn shift(max: f32, out: &mut [f32]);
    fn subtract(max: f32, log_total: f32, out: &mut [f32]);
    fn copy(except: &[u32], out: &mut [f32]);
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
#[expect(clippy::disallowed_methods, reason = "what is right comes from elsewhere than what is tested")]
mod tests;
