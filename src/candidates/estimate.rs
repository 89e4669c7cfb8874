//! The total of a row of which few blocks matter.
//!
//! Nearly all of the mass of most rows lies in a few blocks. So all blocks are estimated, which takes a third of the time of
//! sums, and those few are summed. A draw or a cut is then certain unless it comes so near to an edge that the error of the
//! small rest matters; if it does, all blocks are summed. Whether a row is of that kind, a sample tells beforehand.

use super::floor::Floor;
use super::mass::{Precision, Total, join};
use super::sample::Sample;
use super::{BLOCK, Candidates, scores};
use crate::kernels::{Base, Block, ESTIMATE};

/// Rows of fewer blocks are summed.
pub(super) const LONG: usize = 16;

/// What is left estimated is at most this part of the mass.
pub(super) const LIGHT: f64 = 1.0 / 32.0;

/// Blocks are told apart by how many powers of four they are below the heaviest, up to so many.
const LEVELS: usize = 10;

/// At most so many blocks, and one in four, are few.
const FEW: usize = 32;

impl Candidates<'_> {
    /// The sum of all weights as good as is quick: of few blocks, if those hold nearly all, else rough.
    pub(super) fn quick_total(&mut self) -> Total {
        let blocks = &self.scratch.blocks;
        if self.floor == Floor::NONE && blocks.len() >= LONG {
            let heaviest = self.weight_of_maxima();
            let bound = self.block_bound(FEW.min(self.scratch.blocks.len())).score;
            let rest = self.sampled_mass(bound);
            if rest <= 2.0 * LIGHT * heaviest
                && let Some(total) = self.estimated_total(|sum| ESTIMATE * LIGHT * sum)
            {
                return total;
            }
        }
        self.sum_noted(Precision::Rough)
    }

    /// The sum of all weights with at most that error, which is told what the sum is about; `None` if more than a few blocks
    /// must be summed.
    pub(super) fn estimated_total(&mut self, error: impl FnOnce(f64) -> f64) -> Option<Total> {
        let base = Base::new(self.temperature);
        let scores = scores(self.input, self.store, self.view);
        let blocks = &mut self.scratch.blocks;
        self.kernels.estimate(scores, base, self.max, blocks);
        let total = join(self.kernels, base, self.max, blocks, Precision::UNKNOWN);
        self.refine(total, error(total.sum))
    }

    /// Sums as many of the blocks that were estimated as are needed for an error of at most `error`, the heaviest first; `None`,
    /// and nothing is done, if those are many, or rounding is no less an error.
    pub(super) fn refine(&mut self, total: Total, error: f64) -> Option<Total> {
        if error < 2.0 * total.rounding() {
            return None;
        }
        let base = Base::new(self.temperature);
        let scores = scores(self.input, self.store, self.view);
        let blocks = &mut self.scratch.blocks;
        let (bound, light) = split(blocks, |_| error / ESTIMATE)?;
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
        let floats = &mut self.scratch.floats;
        Sample { kernels: self.kernels, base, max: self.max, floats }.mass(scores, bound)
    }
}

/// How many of so many blocks are few.
pub(super) fn few(blocks: usize) -> usize {
    FEW.min(blocks / 4)
}

/// From which sum on blocks are heavy, and the sum of all others, if that is at most what is said of the sum of all and the
/// heavy ones are few.
pub(super) fn split(blocks: &[Block], most: impl Fn(f64) -> f64) -> Option<(f64, f64)> {
    // By the power of four below the largest; one pass, as each would wait for its own sum.
    let exponent = |sum: f64| sum.to_bits() >> 52;
    let largest = blocks.iter().map(|block| exponent(block.sum)).max()?;
    let (mut counts, mut sums) = ([0; LEVELS + 1], [0.0; LEVELS + 1]);
    for block in blocks {
        let level = usize::try_from((largest - exponent(block.sum)) / 2).map_or(LEVELS, |level| level.min(LEVELS));
        counts[level] += 1;
        sums[level] += block.sum;
    }
    let mut light = sums[LEVELS];
    let most = most(sums.iter().sum());
    let mut heavy = blocks.len() - counts[LEVELS];
    let mut found = None;
    for level in (0..LEVELS).rev() {
        if light > most {
            break;
        }
        if heavy <= few(blocks.len()) {
            let bound = largest.saturating_sub(2 * level as u64 + 1) << 52;
            found = Some((f64::from_bits(bound), light));
        }
        light += sums[level];
        heavy -= counts[level];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::available;

    /// Where one block holds all, hardly anything is left estimated; yet sums in another order differ, and no cut may rest on
    /// less.
    #[test]
    fn no_total_is_better_than_rounding() {
        let row: Vec<f32> = (0..40 * BLOCK).map(|at| if at / BLOCK == 7 { 1.0 } else { -900.0 }).collect();
        for kernels in available() {
            with_workspace(|workspace| {
                let mut candidates =
                    Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                let total = candidates.estimated_total(|sum| sum / 1_000.0).expect("one block is few");
                assert!(matches!(total.precision, Precision::Estimated(error) if error < total.rounding()));
                assert!(candidates.refine(total, 2.0 * total.rounding()).is_some());
                assert!(candidates.refine(total, total.rounding()).is_none());
            });
        }
    }
}
