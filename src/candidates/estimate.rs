//! The total of a row of which few blocks matter.
//!
//! Nearly all of the mass of most rows lies in a few blocks. So all blocks are estimated, which takes a third of the time of
//! sums, and those few are summed. A draw or a cut is then certain unless it comes so near to an edge that the error of the
//! small rest matters; if it does, all blocks are summed.
//!
//! Whether a row is of that kind, a sample tells beforehand. A row that is read for a draw alone is summed from its beginning
//! on, until it is known to be: memory is then read while sums are made.

use super::floor::Floor;
use super::mass::{Precision, Total, join, power};
use super::sample::Sample;
use super::{BLOCK, Candidates, scores};
use crate::kernels::{Base, Block, ESTIMATE, Kernels};
use crate::scores::Scores;

/// Rows of fewer blocks are summed.
const LONG: usize = 16;

/// What is left estimated is at most this part of the mass.
const LIGHT: f64 = 1.0 / 32.0;

/// So many blocks are read before it is asked whether they are.
const SEGMENT: usize = 16;

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

    /// The total of what [`read_for_draw`] left, of which so many are `rough`: of few blocks, if those hold nearly all, else
    /// rough.
    pub(super) fn total_of_read(&mut self, total: Total, rough: usize) -> Total {
        if rough == self.scratch.blocks.len() {
            return total.rough();
        }
        if let Some(total) = self.refine(total, ESTIMATE * LIGHT * total.sum) {
            return total;
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

/// Reads a row for a draw: its maxima, and sums, of which those of the first blocks are rough and the others estimates. Returns
/// whether a score is NaN, and how many are rough.
///
/// Blocks are summed until the row looks as if few of them mattered.
pub(super) fn read_for_draw(kernels: &Kernels, row: Scores<'_>, base: Base, blocks: &mut [Block]) -> (bool, usize) {
    let all = blocks.len();
    let (mut nan, mut rough) = (false, 0);
    let mut seen = Seen { sum: 0.0, largest: 0.0, exponent: i32::MIN / 2 };
    while rough < all {
        let end = if all < LONG { all } else { all.min(rough + SEGMENT) };
        let places = rough * BLOCK..row.len().min(end * BLOCK);
        nan |= kernels.mass_rough(row.slice(places), base, &mut blocks[rough..end]);
        blocks[rough..end].iter().filter(|block| block.sum > 0.0).for_each(|block| seen.add(block));
        rough = end;
        if rough < all && seen.may_be_light(rough) && is_light(&mut blocks[..rough], all) {
            let rest = row.slice(rough * BLOCK..row.len());
            nan |= kernels.mass_estimate(rest, base, &mut blocks[rough..]);
            break;
        }
    }
    (nan, rough)
}

/// Of some blocks, the sum and the largest sum, relative to two to the power of `exponent`.
struct Seen {
    sum: f64,
    largest: f64,
    exponent: i32,
}

impl Seen {
    fn add(&mut self, block: &Block) {
        if block.exponent > self.exponent {
            let factor = power(self.exponent - block.exponent);
            *self = Self { sum: self.sum * factor, largest: self.largest * factor, exponent: block.exponent };
        }
        let sum = block.sum * power(block.exponent - self.exponent);
        self.sum += sum;
        self.largest = if sum > self.largest { sum } else { self.largest };
    }

    /// Whether a few of so many blocks can hold nearly all.
    fn may_be_light(&self, blocks: usize) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "at most 32")]
        let few = few(blocks) as f64;
        few * self.largest >= (1.0 - LIGHT) * self.sum
    }
}

/// Whether most of the mass will be in few blocks, if the others of all are like these. Makes the sums relative to one power of
/// two.
fn is_light(blocks: &mut [Block], all: usize) -> bool {
    // What weighs nothing has no exponent.
    let weigh = |block: &&mut Block| block.sum > 0.0;
    let exponent = blocks.iter_mut().filter(weigh).map(|block| block.exponent).max().unwrap_or(0);
    for block in blocks.iter_mut().filter(weigh) {
        block.sum *= power(block.exponent - exponent);
        block.exponent = exponent;
    }
    #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
    let part = blocks.len() as f64 / all as f64;
    split(blocks, |sum| LIGHT * sum * part).is_some()
}

/// How many of so many blocks are few.
fn few(blocks: usize) -> usize {
    FEW.min(blocks / 4)
}

/// From which sum on blocks are heavy, and the sum of all others, if that is at most what is said of the sum of all and the
/// heavy ones are few.
fn split(blocks: &[Block], most: impl Fn(f64) -> f64) -> Option<(f64, f64)> {
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

    /// Flat, with a few scores above all others early, late and everywhere, with parts that are impossible, near and far from
    /// zero; long rows and short ones.
    #[test]
    fn what_a_draw_reads_is_within_its_error() {
        let mut quick = [0; 3];
        for kernels in available() {
            for length in [1, 700, BLOCK * LONG - 1, BLOCK * LONG, 40_000, 90_001] {
                for lifted in [0..0, 100..103, length - length / 9..length, 0..length / 50, 0..length] {
                    for (from, offset) in [(0, 0.0), (0, -15_000.0), (length / 2, -15_000.0), (length / 3, 20_000.0)] {
                        let height = if lifted.len() == length { 3.0 } else { 14.0 };
                        let score = |at: usize| {
                            let noise = f32::from(u16::try_from(at * 40_503 % 8_191).unwrap_or(0)) / 4_096.0;
                            offset + noise + if lifted.contains(&at) { height * noise } else { 0.0 }
                        };
                        let row: Vec<_> =
                            (0..length).map(|at| if at < from { f32::NEG_INFINITY } else { score(at) }).collect();
                        check(kernels, &row, &mut quick);
                    }
                }
            }
        }
        assert!(quick.iter().all(|&times| times > 10), "{quick:?}");
    }

    fn check(kernels: &'static Kernels, row: &[f32], quick: &mut [usize; 3]) {
        with_workspace(|workspace| {
            let mut candidates = Candidates::new(kernels, row.into(), workspace, Sums::Draw(0.8)).expect("good scores");
            let Some(got) = candidates.total else { return };
            let known: f64 = candidates.scratch.blocks.iter().map(|block| block.sum).sum();
            let exact = candidates.total();
            let error = (got.sum - exact.sum).abs();
            let limit = match got.precision {
                Precision::Exact => 0.0,
                Precision::Rough => crate::kernels::ROUGH * got.sum,
                Precision::Estimated(error) => error,
            };
            assert!(error <= limit + 1e-12 * exact.sum, "{} for {}: {:?}", got.sum, exact.sum, got.precision);
            assert!((known / got.sum - 1.0).abs() < 1e-12 && exact.precision == Precision::Exact);
            quick[match got.precision {
                Precision::Rough if row.len() < LONG * BLOCK => 0,
                Precision::Rough => 1,
                _ => 2,
            }] += 1;
        });
    }
}
