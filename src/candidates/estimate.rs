//! The total of a row of which few blocks matter.
//!
//! Nearly all of the mass of most rows lies in a few blocks. So all blocks are estimated, which takes a third of the time of
//! sums, and those few are summed. A draw or a cut is then certain unless it comes so near to an edge that the error of the
//! small rest matters; if it does, all blocks are summed.
//!
//! A sample tells beforehand whether a row is of that kind.

use super::bracket::Sample;
use super::floor::Floor;
use super::mass::{Precision, Total, join};
use super::{BLOCK, Candidates, scores};
use crate::kernels::{Base, Block, ESTIMATE};

/// Rows of fewer blocks are summed.
const LONG: usize = 16;

/// What is left estimated is at most this part of the mass.
const LIGHT: f64 = 1.0 / 32.0;

/// At most so many blocks, and one in four, are few.
const FEW: usize = 32;

impl Candidates<'_> {
    /// The sum of all weights as good as is quick: of few blocks, if those hold nearly all, else rough.
    pub(super) fn quick_total(&mut self) -> Total {
        let blocks = &self.scratch.blocks;
        if self.floor == Floor::NONE && blocks.len() >= LONG {
            let heaviest = self.weight_of_maxima();
            let bound = self.block_bound(FEW.min(self.scratch.blocks.len()));
            let rest = self.sampled_mass(bound);
            if rest <= 2.0 * LIGHT * heaviest
                && let Some(total) = self.estimated_total(|sum| ESTIMATE * LIGHT * sum)
            {
                return total;
            }
        }
        self.summed_total()
    }

    /// The rough sum of all weights.
    pub(super) fn summed_total(&mut self) -> Total {
        self.sum_noted(false);
        join(self.kernels, Base::new(self.temperature), self.max, &mut self.scratch.blocks).rough()
    }

    /// The sum of all weights with at most that error, which is told what the sum is about; `None` if more than a few blocks
    /// must be summed.
    pub(super) fn estimated_total(&mut self, error: impl FnOnce(f64) -> f64) -> Option<Total> {
        let base = Base::new(self.temperature);
        let scores = scores(self.input, self.store, self.view);
        let blocks = &mut self.scratch.blocks;
        self.kernels.estimate(scores, base, self.max, blocks);
        let total = join(self.kernels, base, self.max, blocks);
        self.refine(total, error(total.sum))
    }

    /// Sums as many of the blocks that were estimated as are needed for an error of at most `error`, the heaviest first; `None`,
    /// and nothing is done, if those are many.
    pub(super) fn refine(&mut self, total: Total, error: f64) -> Option<Total> {
        let base = Base::new(self.temperature);
        let scores = scores(self.input, self.store, self.view);
        let blocks = &mut self.scratch.blocks;
        let (bound, light) = split(blocks, total.sum, error / ESTIMATE)?;
        let mut sum = 0.0;
        for (at, block) in blocks.iter_mut().enumerate() {
            if block.sum >= bound {
                let places = at * BLOCK..scores.len().min((at + 1) * BLOCK);
                let block = std::slice::from_mut(block);
                self.kernels.mass_from(scores.slice(places), base, self.max, f32::MIN, block);
            }
            sum += block.sum;
        }
        Some(Total { sum, precision: Precision::Estimated(light * ESTIMATE), ..total })
    }

    /// The sum of the weights of the blocks' maxima.
    fn weight_of_maxima(&mut self) -> f64 {
        let base = Base::new(self.temperature);
        let floats = &mut self.scratch.floats;
        let count = self.scratch.blocks.len();
        super::grow(floats, 2 * count);
        let (maxima, weights) = floats.split_at_mut(count);
        for (max, block) in maxima.iter_mut().zip(&self.scratch.blocks) {
            *max = block.max;
        }
        self.kernels.weights(&*maxima, base, self.max, &mut weights[..count]);
        super::edge::spread_sum(&weights[..count])
    }

    /// The mass of the scores below `bound`, by a look at few.
    pub(super) fn sampled_mass(&mut self, bound: f32) -> f64 {
        let base = Base::new(self.temperature);
        let scores = scores(self.input, self.store, self.view);
        Sample { kernels: self.kernels, base, floats: &mut self.scratch.floats }.mass(scores, self.max, bound)
    }
}

/// From which sum on blocks are heavy, and the sum of all others, if that is at most `most` and the heavy ones are few.
fn split(blocks: &[Block], sum: f64, most: f64) -> Option<(f64, f64)> {
    (3..10).map(|quarters| sum / f64::from(1 << (2 * quarters))).find_map(|bound| {
        let heavy = blocks.iter().filter(|block| block.sum >= bound).count();
        let light: f64 = blocks.iter().map(|block| if block.sum < bound { block.sum } else { 0.0 }).sum();
        (light <= most && heavy <= FEW.min(blocks.len() / 4)).then_some((bound, light))
    })
}
