//! The kernels that read a whole row, by name, for `benches/kernels.rs`. Behind the feature `bench`; no part of the interface.

use super::{BLOCK, Base, Block, Bracket, Kernels, LANES, Part};
use crate::scores::Scores;

/// What can be run.
pub const NAMES: [&str; 12] = [
    "scan",
    "scan_above",
    "lane_maxima",
    "mass",
    "mass_out",
    "mass_from",
    "estimate",
    "bracket",
    "weights",
    "multiply",
    "gather",
    "count",
];

/// How far below the largest score `gather`, `count` and `bracket` look.
pub const NEAR: f32 = 3.0;

/// The kernels of one instruction set, and buffers for rows of one length.
#[derive(Debug)]
pub struct Bench {
    kernels: &'static Kernels,
    max: f32,
    blocks: Vec<Block>,
    parts: Vec<Part>,
    maxima: Vec<f32>,
    out: Vec<f32>,
    indices: Vec<u32>,
    found: usize,
}

impl Bench {
    /// For rows as long as `row`, of which the largest score is `max`; `multiply` works on a copy of it.
    #[must_use]
    pub fn new(kernels: &'static Kernels, row: &[f32], max: f32) -> Self {
        let count = row.len().div_ceil(BLOCK);
        let mut out = row.to_vec();
        out.resize(row.len() + LANES, f32::NEG_INFINITY);
        Self {
            kernels,
            max,
            blocks: vec![Block { max, ..Block::default() }; count],
            parts: vec![Part::default(); count],
            maxima: vec![0.0; count * LANES],
            indices: vec![0; out.len()],
            out,
            found: 0,
        }
    }

    /// Runs a kernel on a row.
    ///
    /// # Panics
    ///
    /// For a name that is not in [`NAMES`].
    pub fn run<'a>(&mut self, name: &str, row: impl Into<Scores<'a>>) {
        let row = row.into();
        let Self { kernels, max, blocks, parts, maxima, out, indices, found } = self;
        let (base, near) = (Base::new(1.0), *max - NEAR);
        match name {
            "scan" => *found = usize::from(kernels.scan(row, blocks)),
            "scan_above" => {
                *found = usize::from(kernels.scan_above(row, (-NEAR).into(), blocks, parts, out));
            }
            "lane_maxima" => kernels.lane_maxima(row, BLOCK, &[], maxima),
            "mass" => *found = usize::from(kernels.mass(row, base, blocks)),
            "mass_out" => *found = usize::from(kernels.mass_out(row, base, blocks, &mut out[..row.len()])),
            "mass_from" => kernels.mass_from_rough(row, base, *max, f32::MIN, blocks),
            "estimate" => kernels.estimate(row, base, *max, blocks),
            "weights" => kernels.weights(row, base, *max, &mut out[..row.len()]),
            "bracket" => {
                let bracket = Bracket { low: near - 0.5, high: near, max: *max };
                kernels.bracket(row, base, bracket, blocks, parts, out);
            }
            "multiply" => (kernels.multiply)(&mut out[..row.len()], [1.0, 0.0]),
            "gather" => *found = kernels.gather(row, blocks, near, &[], out, indices),
            "count" => *found = kernels.count(row, near),
            _ => panic!("no kernel {name}"),
        }
    }

    /// By what the last run can be checked: the largest score, the sum of `exp(x)`, or how many scores are near the largest.
    #[must_use]
    pub fn answer(&self, name: &str) -> f64 {
        let largest = |xs: &mut dyn Iterator<Item = f32>| f64::from(xs.fold(f32::NEG_INFINITY, f32::max));
        match name {
            "scan" | "scan_above" => largest(&mut self.blocks.iter().map(|block| block.max)),
            "lane_maxima" => largest(&mut self.maxima.iter().copied()),
            "multiply" => self.out.iter().map(|&x| f64::from(x).exp()).sum(),
            "mass" | "mass_out" | "mass_from" | "estimate" | "bracket" => {
                self.blocks.iter().map(|block| block.sum * f64::from(block.exponent).exp2()).sum()
            }
            "weights" => {
                let weights = &self.out[..self.out.len() - LANES];
                weights.iter().copied().map(f64::from).sum::<f64>()
                    * f64::from(Base::new(1.0).exponent(self.max)).exp2()
            }
            _ => f64::from(u32::try_from(self.found).unwrap_or(u32::MAX)),
        }
    }
}
