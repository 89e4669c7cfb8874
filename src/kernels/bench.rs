//! The kernels that read a whole row, by name, for `benches/kernels.rs`. Behind the feature `bench`; no part of the interface.

use super::{BLOCK, Base, Block, Kernels, LANES};
use crate::scores::Scores;

/// What can be run.
pub const NAMES: [&str; 9] =
    ["scan", "lane_maxima", "mass", "mass_rough", "mass_out", "weights", "multiply", "gather", "count"];

/// How far below the largest score `gather` and `count` look.
pub const NEAR: f32 = 3.0;

/// The kernels of one instruction set, and buffers for rows of one length.
#[derive(Debug)]
pub struct Bench {
    kernels: &'static Kernels,
    max: f32,
    blocks: Vec<Block>,
    maxima: Vec<f32>,
    out: Vec<f32>,
    indices: Vec<u32>,
    found: usize,
}

impl Bench {
    /// For rows of `vocab` scores, of which the largest is `max`.
    #[must_use]
    pub fn new(kernels: &'static Kernels, vocab: usize, max: f32) -> Self {
        let count = vocab.div_ceil(BLOCK);
        Self {
            kernels,
            max,
            blocks: vec![Block { max, ..Block::default() }; count],
            maxima: vec![0.0; count * LANES],
            out: vec![0.0; vocab + LANES],
            indices: vec![0; vocab + LANES],
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
        let Self { kernels, max, blocks, maxima, out, indices, found } = self;
        let (base, near) = (Base::new(1.0), *max - NEAR);
        match name {
            "scan" => *found = usize::from(kernels.scan(row, blocks)),
            "lane_maxima" => kernels.lane_maxima(row, BLOCK, maxima),
            "mass" => *found = usize::from(kernels.mass(row, base, blocks)),
            "mass_rough" => *found = usize::from(kernels.mass_rough(row, base, blocks)),
            "mass_out" => *found = usize::from(kernels.mass_out(row, base, blocks, &mut out[..row.len()])),
            "weights" => kernels.weights(row, base, *max, &mut out[..row.len()]),
            "multiply" => (kernels.multiply)(&mut out[..row.len()], [1.0, 0.0]),
            "gather" => *found = kernels.gather(row, blocks, near, out, indices),
            "count" => *found = kernels.count(row, near),
            _ => panic!("no kernel {name}"),
        }
    }

    /// By what the last run can be checked: the largest score, the sum of `exp(x)`, or how many scores are near the largest.
    #[must_use]
    pub fn answer(&self, name: &str) -> f64 {
        let largest = |xs: &mut dyn Iterator<Item = f32>| f64::from(xs.fold(f32::NEG_INFINITY, f32::max));
        match name {
            "scan" => largest(&mut self.blocks.iter().map(|block| block.max)),
            "lane_maxima" => largest(&mut self.maxima.iter().copied()),
            "mass" | "mass_rough" | "mass_out" => {
                self.blocks.iter().map(|block| block.sum * f64::from(block.exponent).exp2()).sum()
            }
            "weights" => {
                let exponent = (f64::from(self.max) * std::f64::consts::LOG2_E).round_ties_even();
                self.out.iter().copied().map(f64::from).sum::<f64>() * exponent.exp2()
            }
            _ => f64::from(u32::try_from(self.found).unwrap_or(u32::MAX)),
        }
    }
}
