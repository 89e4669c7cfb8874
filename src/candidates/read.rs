//! The first read of a row, with all that is known to be needed of it.
//!
//! For a draw alone its sums are made while it comes from memory, as good as a draw needs. It is summed from its beginning on,
//! until it looks as if a few blocks held nearly all of its mass. The others are then estimated, and in the end what is heavy is
//! summed: if it was a wrong guess, all.
//!
//! Where a share of the best one's probability cuts it first, only what is above weighs anything. If the beginning of the row
//! looks as if that was much, it is gathered as the row comes, a little too much of it, and summed in the end. So exponentials
//! are those of a tenth of a flat row instead of all.
//!
//! A mask is applied on the way. Where sums follow, what is allowed is copied; otherwise the forbidden places are noted and passed
//! over. A NaN or +inf is an error where it is forbidden as well.

use super::estimate::{LIGHT, LONG, few, split};
use super::floor::Floor;
use super::mass::{Precision, Total, power};
use super::workspace::{Scratch, Store, grow};
use super::{BLOCK, Candidates, LANES, Sums, View, largest};
use crate::kernels::{Base, Block, ESTIMATE, Kernels, Part};
use crate::math::ceil;
use crate::scores::Scores;

/// Blocks that are summed before the row is looked at, and between looks.
const SEGMENT: usize = 16;

/// If so many blocks of the first [`SEGMENT`] have a score above a share of the best one's probability, many of all likely do.
const MOST: usize = 12;

/// What the first read of a row leaves beside its blocks.
pub(super) struct Read {
    /// Whether a score is NaN; of a row that is masked and not copied, or +inf.
    pub(super) nan: bool,
    /// Where the scores are.
    pub(super) view: View,
    /// Under what was summed.
    pub(super) floor: Floor,
    /// The temperature at which the blocks were summed, and how right the sums are.
    pub(super) summed: Option<(f64, Precision)>,
}

/// Reads a row for the first time, with the sums that are asked for.
pub(super) fn read(
    kernels: &Kernels,
    row: Scores<'_>,
    sums: Sums<'_>,
    store: &mut Store,
    scratch: &mut Scratch,
) -> Read {
    scratch.blocks.resize(row.len().div_ceil(BLOCK), Block::default());
    let Scratch { blocks, edits, .. } = &mut *scratch;
    let (mut view, mut floor) = (View::Input, Floor::NONE);
    let (nan, summed) = match sums {
        Sums::None | Sums::Later => (kernels.scan(row, blocks), None),
        Sums::Copied | Sums::Masked(_) => {
            let mask = if let Sums::Masked(mask) = sums { Some(mask) } else { None };
            view = View::Copy;
            store.copy.resize(row.len(), 0.0);
            (kernels.scan_copy(row, mask, &mut store.copy, blocks), None)
        }
        Sums::Allowed(mask) => {
            view = View::Edited;
            edits.restart(blocks.len(), Some(mask));
            (kernels.scan_except(row, edits.words(), blocks), None)
        }
        Sums::Draw(temperature) => {
            let (nan, precision) = read_for_draw(kernels, row, Base::new(temperature), blocks);
            (nan, Some((temperature, precision)))
        }
        Sums::Above { distance, temperature } => {
            let nan;
            (nan, floor) = read_above(kernels, row, distance, Base::new(temperature), scratch);
            (nan, (floor != Floor::NONE).then_some((temperature, Precision::Rough)))
        }
        Sums::Exact(temperature) => {
            (kernels.mass(row, Base::new(temperature), blocks), Some((temperature, Precision::Exact)))
        }
    };
    Read { nan, view, floor, summed }
}

impl Candidates<'_> {
    /// The total for a draw, of what [`read_for_draw`] left: of few blocks, if those hold nearly all, else rough.
    pub(super) fn total_of_read(&mut self, total: Total) -> Total {
        if total.precision != Precision::UNKNOWN {
            return total;
        }
        self.refine(total, ESTIMATE * LIGHT * total.sum).unwrap_or_else(|| self.sum_noted(Precision::Rough))
    }
}

/// Reads a row for a draw: its maxima, and sums, which are rough, or else those of the first blocks are and all others are
/// estimates. Returns whether a score is NaN, and how right the sums are.
fn read_for_draw(kernels: &Kernels, row: Scores<'_>, base: Base, blocks: &mut [Block]) -> (bool, Precision) {
    let all = blocks.len();
    let (mut nan, mut rough) = (false, 0);
    let mut seen = Seen { sum: 0.0, largest: 0.0, exponent: i32::MIN / 2 };
    while rough < all {
        let end = if all < LONG { all } else { all.min(rough + SEGMENT) };
        let places = rough * BLOCK..row.len().min(end * BLOCK);
        nan |= kernels.mass_rough(row.slice(places), base, &mut blocks[rough..end]);
        blocks[rough..end].iter().filter(|block| block.sum > 0.0).for_each(|block| seen.add(block));
        rough = end;
        if rough < all && seen.may_be_light(rough) {
            let (summed, others) = blocks.split_at_mut(rough);
            to_one_power(summed);
            if is_light(summed, all) {
                nan |= kernels.mass_estimate(row.slice(rough * BLOCK..row.len()), base, others);
                return (nan, Precision::UNKNOWN);
            }
        }
    }
    (nan, Precision::Rough)
}

/// Reads a row of which those scores are wanted that are at least the largest plus a distance, which is negative. If they are
/// likely many, they are gathered meanwhile, and sums are theirs alone. Returns whether a score is NaN, and the floor under what
/// was summed, or none.
fn read_above(kernels: &Kernels, row: Scores<'_>, distance: f64, base: Base, scratch: &mut Scratch) -> (bool, Floor) {
    let Scratch { blocks, parts, values, .. } = scratch;
    let floor = |blocks: &[Block]| Floor::with_ties(ceil(f64::from(largest(blocks)) + distance));
    let first = SEGMENT.min(blocks.len());
    let (start, end) = (row.len().min(first * BLOCK), row.len());
    let (first, others) = blocks.split_at_mut(first);
    let nan = kernels.scan(row.slice(0..start), first);
    let threshold = floor(first).score;
    let reaching = first.iter().filter(|block| block.max >= threshold).count();
    if others.is_empty() || reaching < MOST {
        return (kernels.scan(row.slice(start..end), others) || nan, Floor::NONE);
    }
    parts.resize(blocks.len(), Part::default());
    grow(values, row.len() + LANES);
    // From the first on: what was read is near.
    let nan = kernels.scan_above(row, distance, blocks, parts, values);
    let (max, floor) = (largest(blocks), floor(blocks));
    if nan || !max.is_finite() || !base.covers(max) || !floor.is_low(blocks) {
        return (nan, Floor::NONE);
    }
    for block in &mut *blocks {
        (block.exponent, block.sum) = (base.exponent(max), 0.0);
    }
    kernels.add_inside(&*values, base, max, floor.score, parts, blocks);
    (nan, floor)
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

/// Makes sums relative to one power of two.
fn to_one_power(blocks: &mut [Block]) {
    // What weighs nothing has no exponent.
    let weigh = |block: &&mut Block| block.sum > 0.0;
    let exponent = blocks.iter_mut().filter(weigh).map(|block| block.exponent).max().unwrap_or(0);
    for block in blocks.iter_mut().filter(weigh) {
        block.sum *= power(block.exponent - exponent);
        block.exponent = exponent;
    }
}

/// Whether most of the mass will be in few blocks, if the others of all are like these, whose sums are relative to one power of
/// two.
fn is_light(blocks: &[Block], all: usize) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
    let part = blocks.len() as f64 / all as f64;
    split(blocks, |sum| LIGHT * sum * part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::with_workspace;
    use crate::kernels::available;

    /// What a share of the best leaves of flat rows and others, with the best ones early or late, and of rows that cannot be weighed
    /// as they stand: as its definition says, and with the sum of all weights by another read.
    #[test]
    fn what_is_read_above_a_share_is_what_it_leaves() {
        let noise = |at: usize| f32::from(u16::try_from(at * 40_503 % 8_191).unwrap()) / 2_048.0;
        let lifted: [fn(usize) -> f32; 6] = [
            |_| 0.0,
            |at| f32::from(at == 39_000) * 2.0,
            |at| if at < 20_000 { -9.0 } else { 0.0 },
            |at| f32::from(at == 39_000) * 30.0,
            |at| f32::from(at == 3) * 30.0,
            |_| 1e6,
        ];
        // Far below the best, and near it.
        let summed = [[true; 2], [true, false], [true; 2], [false; 2], [false; 2], [false; 2]];
        for (lift, summed) in lifted.into_iter().zip(summed) {
            let row: Vec<_> = (0..40_000).map(|at| noise(at) + lift(at)).collect();
            let ways = [-3.0, -0.7].into_iter().zip([1.0, 0.6]).zip(summed);
            for (kernels, ((distance, temperature), summed)) in
                available().flat_map(|k| ways.clone().map(move |way| (k, way)))
            {
                with_workspace(|workspace| {
                    let sums = Sums::Above { distance, temperature };
                    let mut candidates = Candidates::new(kernels, (&row).into(), workspace, sums).expect("good scores");
                    assert_eq!(summed, candidates.total.is_some());
                    let threshold = f64::from(candidates.max()) + distance;
                    candidates.keep_at_least(ceil(threshold), 1);
                    candidates.set_temperature(temperature);
                    let quick = candidates.total;
                    assert_eq!(summed, quick.is_some(), "the cut forgets the sum");
                    let kept = (0..).zip(row.iter().copied()).filter(|&(_, x)| f64::from(x) >= threshold);
                    assert_eq!(kept.collect::<Vec<(u32, f32)>>(), candidates.list());
                    let exact = candidates.total();
                    assert!(quick.is_none_or(|quick| (quick.sum - exact.sum).abs() <= quick.doubt(1.0, 0.0)));
                });
            }
        }
    }

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
            assert!(error <= got.doubt(1.0, 0.0), "{} for {}: {:?}", got.sum, exact.sum, got.precision);
            assert!((known - got.sum).abs() <= got.rounding() && exact.precision == Precision::Exact);
            quick[match got.precision {
                Precision::Rough if row.len() < LONG * BLOCK => 0,
                Precision::Rough => 1,
                _ => 2,
            }] += 1;
        });
    }
}
