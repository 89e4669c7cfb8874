//! The nucleus of a flat row: thousands of tokens, found without sorting them.
//!
//! A sample of the scores tells between which two the mass is likely reached (as in selection by Floyd and Rivest, with
//! weights). One pass sums all weights and those above that bracket, and takes out the scores inside, some tenth of the row,
//! where the same is done again, until little is left to sort. If the cut is not inside after all, nothing is lost but time.

use super::cuts::{MET, descending};
use super::edge::{Edge, FEW, fill_keys, halved, repeated, spread_sum};
use super::floor::Floor;
use super::mass::{Total, join};
use super::nucleus::Heavy;
use super::{BLOCK, Candidates, LANES, Scratch, grow, scores};
use crate::kernels::{Base, Block, Bracket, Kernels, Part};
use crate::scores::Scores;

/// Scores of a sample that lie side by side.
pub(super) const RUN: usize = 64;

/// Scores of a sample.
pub(super) const SAMPLE: usize = 64 * RUN;

/// Scores of a sample that tells a mass alone.
const PROBE: usize = SAMPLE / 4;

/// The error that a bracket allows for, in standard errors.
pub(super) const CONFIDENCE: f64 = 3.0;

/// Bits of a weight that do not tell its bin: an octave has 128.
const BIN: u32 = 16;

/// Bins, from the largest weight down: 24 octaves.
const BINS: usize = 24 << (23 - BIN);

/// Bins that are looked at together.
const GROUP: usize = 64;

/// A prefix in order of score: all above `threshold`, and the first `ties` that equal it.
struct Prefix {
    threshold: f32,
    ties: usize,
    edge: Edge,
    /// The mass above the bracket.
    above: f64,
}

impl Candidates<'_> {
    /// Cuts a flat row, in which what is `heavy`, if that is known, is not enough. Returns `false`, and changes only the
    /// total, if a sample misled.
    pub(super) fn keep_flat(&mut self, p: f64, min_keep: usize, heavy: Option<Heavy>) -> bool {
        let (bound, heavy) = heavy.map_or((f32::INFINITY, 0.0), |heavy| (heavy.bound, heavy.mass));
        let base = Base::new(self.temperature);
        let row = scores(self.input, self.store, self.view);
        let sample = Sample { kernels: self.kernels, base, floats: &mut self.scratch.floats };
        let target = Target::Nucleus { p, heavy };
        let Some(bracket) = sample.bracket(row, self.max, bound, SAMPLE, &target) else { return false };
        let mut total = self.read(bracket, false);
        let Some(mut prefix) = self.prefix_inside(total, p) else { return false };
        if prefix.edge.in_doubt(p * total.sum * MET, total.doubt(p * MET, prefix.above)) {
            total = self.read(bracket, true);
            let Some(exact) = self.prefix_inside(total, p) else { return false };
            prefix = exact;
        }
        self.keep_prefix_inside(&prefix, total, min_keep);
        true
    }

    fn read(&mut self, bracket: Bracket, exact: bool) -> Total {
        let base = Base::new(self.temperature);
        let row = scores(self.input, self.store, self.view);
        let Scratch { blocks, parts, values, .. } = &mut *self.scratch;
        parts.resize(blocks.len(), Part::default());
        grow(values, row.len() + LANES);
        let total = if exact {
            self.kernels.bracket_exact(row, base, bracket, blocks, parts, values);
            join(self.kernels, base, self.max, blocks)
        } else {
            self.kernels.bracket(row, base, bracket, blocks, parts, values);
            join(self.kernels, base, self.max, blocks).rough()
        };
        self.total = Some(total);
        total
    }

    /// The prefix of mass `p`, if the bracket holds its last score.
    fn prefix_inside(&mut self, total: Total, p: f64) -> Option<Prefix> {
        let base = Base::new(self.temperature);
        let needed = p * total.sum * MET;
        let Scratch { parts, inner, inner_parts, values, floats, shifted, narrowed, keys, .. } = &mut *self.scratch;
        let outside = above(parts);
        let mut better = outside;
        if better >= needed {
            return None;
        }
        // While there are too many inside, the same again among them.
        let mut left = &mut values[..count(parts)];
        // These two change places.
        for buffer in [&mut *shifted, &mut *narrowed] {
            grow(buffer, left.len() + LANES);
        }
        while left.len() > 2 * FEW {
            if are_equal(self.kernels, left) {
                let (threshold, mut weight) = (left[0], [0.0]);
                self.kernels.weights(&[threshold], base, self.max, &mut weight);
                let edge = repeated(weight[0], left.len(), better, needed)?;
                return Some(Prefix { threshold, ties: edge.rank, edge, above: outside });
            }
            let sample = Sample { kernels: self.kernels, base, floats };
            let target = Target::Mass(needed - better);
            let bracket = sample.bracket((&*left).into(), self.max, f32::INFINITY, SAMPLE / 2, &target)?;
            inner.resize(left.len().div_ceil(BLOCK), Block::default());
            inner_parts.resize(inner.len(), Part::default());
            self.kernels.bracket_exact(&*left, base, bracket, inner, inner_parts, narrowed);
            better += above(inner_parts);
            if better >= needed {
                return None;
            }
            let narrower = count(inner_parts);
            let stuck = narrower > left.len() / 2;
            std::mem::swap(shifted, narrowed);
            left = &mut shifted[..narrower];
            if stuck {
                break;
            }
        }
        grow(floats, left.len());
        self.kernels.weights(&*left, base, self.max, &mut floats[..left.len()]);
        fill_keys(keys, left, &floats[..left.len()]);
        let edge = halved(keys, better, needed)?;
        let last = keys[..edge.rank].iter().max()? >> 32;
        let ties = keys[..edge.rank].iter().filter(|&&key| key >> 32 == last).count();
        let threshold = *left.iter().find(|&&x| u64::from(descending(x)) == last)?;
        Some(Prefix { threshold, ties, edge, above: outside })
    }

    /// Notes a cut that is inside the bracket: the blocks' sums are those above the bracket and what is left inside.
    fn keep_prefix_inside(&mut self, prefix: &Prefix, total: Total, min_keep: usize) {
        let &Prefix { threshold, ties, .. } = prefix;
        let Scratch { parts, values, .. } = &*self.scratch;
        let inside = Scores::F32(&values[..count(parts)]);
        let reach = |x| self.kernels.count(inside, x);
        let surplus = reach(threshold) - reach(threshold.next_up()) - ties;
        if min_keep > 1 {
            let scores = scores(self.input, self.store, self.view);
            if self.kernels.count(scores, threshold) - surplus < min_keep {
                return self.keep_best(min_keep);
            }
        }
        self.floor = Floor::with_ties(threshold);
        if surplus > 0 {
            self.floor.end = self.end_of_ties(threshold, ties);
            self.drop_ties_inside();
        }
        let base = Base::new(self.temperature);
        let Scratch { blocks, parts, values, .. } = &mut *self.scratch;
        for (block, part) in blocks.iter_mut().zip(&*parts) {
            block.sum = part.above;
        }
        self.kernels.add_inside(&*values, base, self.max, threshold, parts, blocks);
        let sum = blocks.iter().map(|block| block.sum).sum();
        self.total = Some(Total { sum, ..total });
    }

    /// Makes those scores inside the bracket impossible that equal the floor and are gone.
    fn drop_ties_inside(&mut self) {
        let Floor { score, end } = self.floor;
        let row = scores(self.input, self.store, self.view);
        let Scratch { parts, values, .. } = &mut *self.scratch;
        // The block with the last tie that stays.
        let block = (end - 1) / BLOCK;
        let stay = row.slice(block * BLOCK..end).iter().filter(|&x| x == score).count();
        let start = block.checked_sub(1).map_or(0, |before| parts[before].end as usize);
        let inside = &mut values[start..count(parts)];
        let last = inside.iter().enumerate().filter(|&(_, &x)| x == score).nth(stay - 1);
        let behind = last.map_or(inside.len(), |(at, _)| at + 1);
        for x in &mut inside[behind..] {
            *x = if *x == score { f32::NEG_INFINITY } else { *x };
        }
    }
}

/// Whether all scores are the same: then no bracket is narrower.
fn are_equal(kernels: &Kernels, scores: &[f32]) -> bool {
    let first = scores[0];
    scores.last() == Some(&first)
        && kernels.count(scores, first) == scores.len()
        && kernels.count(scores, first.next_up()) == 0
}

fn above(parts: &[Part]) -> f64 {
    parts.iter().map(|part| part.above).sum()
}

/// How many scores are inside.
fn count(parts: &[Part]) -> usize {
    parts.last().map_or(0, |part| part.end as usize)
}

/// How scores are sampled and weighed.
pub(super) struct Sample<'a> {
    pub(super) kernels: &'a Kernels,
    pub(super) base: Base,
    pub(super) floats: &'a mut Vec<f32>,
}

impl<'a> Sample<'a> {
    /// The mass of the scores below `bound`, by a sample of [`PROBE`]. `max` is the largest score of the row.
    pub(super) fn mass(self, xs: Scores<'_>, max: f32, bound: f32) -> f64 {
        let weights = self.weights(xs, max, bound, PROBE);
        spread_sum(weights) * ratio(xs.len(), weights.len())
    }

    /// Where a target in the scores below `bound` is likely reached, by a sample of `size`. `max` is the largest score of the
    /// row.
    fn bracket(self, xs: Scores<'_>, max: f32, bound: f32, size: usize, target: &Target) -> Option<Bracket> {
        let base = self.base;
        let weights = self.weights(xs, max, bound, size);
        bracket(base, weights, xs.len(), target, max)
    }

    /// Weights of a sample, those of scores from `bound` on zero.
    fn weights(self, xs: Scores<'_>, max: f32, bound: f32, size: usize) -> &'a [f32] {
        grow(self.floats, 2 * SAMPLE);
        let (scores, weights) = self.floats.split_at_mut(SAMPLE);
        let size = xs.len().min(size) / RUN * RUN;
        let (scores, weights) = (&mut scores[..size], &mut weights[..size]);
        take(self.kernels, xs, scores);
        for x in &mut *scores {
            *x = if *x < bound { *x } else { f32::NEG_INFINITY };
        }
        self.kernels.weights(&*scores, self.base, max, weights);
        weights
    }
}

/// Copies runs of scores to `out`.
///
/// Places go by the golden ratio: however many there are, they are spread evenly, and in step with no pattern of the row.
pub(super) fn take(kernels: &Kernels, xs: Scores<'_>, out: &mut [f32]) {
    let places = (xs.len() - RUN + 1) as u64;
    for (run, out) in (0_u64..).zip(out.chunks_mut(RUN)) {
        let spread = run.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let at = ((spread * places) >> 32) as usize;
        kernels.scan_copy(xs.slice(at..at + RUN), out, &mut [Block::default()]);
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths fit 32 bits")]
fn ratio(length: usize, sample: usize) -> f64 {
    length as f64 / sample as f64
}

/// What is to be reached, best first.
enum Target {
    /// With what is `heavy`, which is not in the sample, the share `p` of that and all others.
    Nucleus {
        p: f64,
        heavy: f64,
    },
    Mass(f64),
}

impl Target {
    /// Which share of a mass it is, and the standard error of that by a sample, of which `spread` is the sum of the squares over
    /// the square of the sum.
    fn share(&self, mass: f64, spread: f64) -> (f64, f64) {
        match self {
            Self::Nucleus { p, heavy } => {
                let share = p - (1.0 - p) * heavy / mass;
                (share, (share * (1.0 - share) * spread).max(0.0).sqrt() + (p - share) * spread.sqrt())
            }
            Self::Mass(wanted) => (wanted / mass, (wanted / mass * spread).sqrt()),
        }
    }
}

/// Two scores between which the target is likely reached in `length` scores, by the `weights` of a sample.
fn bracket(base: Base, weights: &[f32], length: usize, target: &Target, max: f32) -> Option<Bracket> {
    // Weights sort as their bits do. None is above two, relative to an even power next to that of the largest.
    const TOP: u32 = 2.0_f32.to_bits() >> BIN;
    let mut bins = [0.0_f32; BINS];
    for weight in weights {
        bins[(TOP.saturating_sub(weight.to_bits() >> BIN) as usize).min(BINS - 1)] += weight;
    }
    let mut squares = [0.0_f32; 8];
    for eight in weights.as_chunks::<8>().0 {
        for (square, weight) in squares.iter_mut().zip(eight) {
            *square += weight * weight;
        }
    }
    let groups = bins.as_chunks::<GROUP>().0.iter().map(|bins| spread_sum(bins));
    let sum: f64 = groups.clone().sum();
    let squares: f64 = squares.iter().copied().map(f64::from).sum();
    let (share, error) = target.share(sum * ratio(length, weights.len()), squares / (sum * sum));
    let error = CONFIDENCE * error;
    let score = |weight: f64| base.score(weight, max);
    // The bin in which a mass is reached, and so its upper and its lower edge.
    let reached = |mass: f64| {
        let mut left = mass;
        let mut passed = |sum: f64| {
            left -= sum;
            left > 0.0
        };
        let group = groups.clone().position(|sum| !passed(sum))?;
        left += groups.clone().nth(group)?;
        let bins = &bins[group * GROUP..(group + 1) * GROUP];
        let bin = bins.iter().position(|&bin| {
            left -= f64::from(bin);
            left <= 0.0
        });
        Some(group * GROUP + bin.unwrap_or(GROUP - 1))
    };
    let edge =
        |bin: usize| f64::from(f32::from_bits((TOP + 1).saturating_sub(u32::try_from(bin).unwrap_or(TOP)) << BIN));
    let high = reached((share - error) * sum).map_or(f32::INFINITY, |bin| score(edge(bin)));
    let low = reached((share + error) * sum).filter(|&bin| bin + 1 < BINS).map_or(f32::MIN, |bin| score(edge(bin + 1)));
    (share > 0.0 && low < high).then_some(Bracket { low, high, max })
}
