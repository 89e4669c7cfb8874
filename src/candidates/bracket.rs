//! The nucleus of a flat row: thousands of tokens, found without sorting them.
//!
//! A sample of the scores tells between which two the mass is likely reached (as in selection by Floyd and Rivest, with
//! weights). One pass sums all weights and those above that bracket, and takes out the scores inside, some tenth of the row,
//! where the same is done again, until little is left to sort. If the cut is not inside after all, nothing is lost but time.
//!
//! Where a plan cuts by mass first, this pass is the first read of the row, if the sample says that the row is flat. Peaks that
//! the sample has missed end it: the rest of the row is then summed as usual.

use super::cuts::{MET, descending};
use super::edge::{Edge, FEW, fill_keys, halved, spread_sum};
use super::mass::{Total, join, power};
use super::{BLOCK, Candidates, LANES, Scratch, grow, scores};
use crate::kernels::{Base, Block, Bracket, Kernels, Part, Read};
use crate::scores::Scores;

/// Scores of a sample that lie side by side.
pub(super) const RUN: usize = 64;

/// Scores of a sample.
pub(super) const SAMPLE: usize = 64 * RUN;

/// Scores that are looked at before the others: whether the row is flat.
const PROBE: usize = SAMPLE / 4;

/// A row is flat when the weights of the probe add up to so many of the largest.
const FLAT: f64 = 8.0;

/// So much of the mass is more than a score of a flat row can have.
const PEAK: f64 = 0.05;

/// The error that a bracket allows for, in standard errors.
pub(super) const CONFIDENCE: f64 = 3.0;

/// Bits of a weight that do not tell its bin: an octave has 128.
const BIN: u32 = 16;

/// Bins, from the largest weight down: 24 octaves.
const BINS: usize = 24 << (23 - BIN);

/// A prefix in order of score: all above `threshold`, and the first `ties` that equal it.
struct Prefix {
    threshold: f32,
    ties: usize,
    edge: Edge,
}

/// The first read of a row for a nucleus of `p`: maxima and rough sums. Returns whether a score is NaN, and the bracket, if
/// the row was read with one.
pub(super) fn read(
    kernels: &Kernels,
    row: Scores<'_>,
    base: Base,
    p: f64,
    scratch: &mut Scratch,
) -> (bool, Option<Bracket>) {
    let sample = Sample { kernels, base, floats: &mut scratch.floats };
    let Some(bracket) = sample.of_row(row, p) else {
        return (kernels.mass_rough(row, base, &mut scratch.blocks), None);
    };
    let Scratch { blocks, parts, values, .. } = scratch;
    parts.resize(blocks.len(), Part::default());
    grow(values, row.len() + LANES);
    let Read { blocks: read, nan } = kernels.bracket(row, base, bracket, blocks, parts, values);
    if read == blocks.len() {
        return (nan, Some(bracket));
    }
    let rest = kernels.mass_rough(row.slice(read * BLOCK..row.len()), base, &mut blocks[read..]);
    (nan || rest, None)
}

impl Candidates<'_> {
    /// Cuts a flat row, in which the scores of at least `heavy` are not enough and the `share` of the mass of the others is
    /// needed. Returns `false`, and leaves all as it was, if a sample misled.
    pub(super) fn keep_flat(&mut self, p: f64, min_keep: usize, heavy: f32, share: f64) -> bool {
        let base = Base::new(self.temperature);
        let row = scores(self.input, self.store, self.view);
        let sample = Sample { kernels: self.kernels, base, floats: &mut self.scratch.floats };
        let Some(bracket) = sample.bracket(row, self.max, heavy, SAMPLE, |_| share) else { return false };
        self.read_again(bracket, false);
        self.keep_bracketed(bracket, p, min_keep)
    }

    /// Cuts a row that was read with a bracket: `false` if the cut is not inside.
    pub(super) fn keep_bracketed(&mut self, bracket: Bracket, p: f64, min_keep: usize) -> bool {
        let Some(mut total) = self.total else { return false };
        let Some(mut prefix) = self.prefix_inside(bracket, total, p) else { return false };
        // The sum above is rough as well.
        if prefix.edge.in_doubt(p * total.sum * MET, 2.0 * total.error) {
            total = self.read_again(bracket, true);
            let Some(exact) = self.prefix_inside(bracket, total, p) else { return false };
            prefix = exact;
        }
        self.keep_prefix_inside(&prefix, bracket, total, min_keep);
        true
    }

    fn read_again(&mut self, bracket: Bracket, exact: bool) -> Total {
        let base = Base::new(self.temperature);
        let bracket = Bracket { ceiling: f32::INFINITY, ..bracket };
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
    fn prefix_inside(&mut self, bracket: Bracket, total: Total, p: f64) -> Option<Prefix> {
        let base = Base::new(self.temperature);
        let needed = p * total.sum * MET;
        let Scratch { parts, inner, inner_parts, values, floats, shifted, narrowed, keys, .. } = &mut *self.scratch;
        let mut better = above(parts) * unit(base, bracket, total);
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
            let sample = Sample { kernels: self.kernels, base, floats };
            let bracket = sample
                .bracket((&*left).into(), self.max, f32::INFINITY, SAMPLE / 2, |mass| (needed - better) / mass)?;
            inner.resize(left.len().div_ceil(BLOCK), Block::default());
            inner_parts.resize(inner.len(), Part::default());
            let read = if total.error > 0.0 { Kernels::bracket } else { Kernels::bracket_exact };
            read(self.kernels, &*left, base, bracket, inner, inner_parts, narrowed);
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
        Some(Prefix { threshold, ties, edge })
    }

    /// Carries out a cut that is inside the bracket. If it leaves all that equal the threshold, it is only noted, and the
    /// blocks' sums are those above the bracket and what is left inside.
    fn keep_prefix_inside(&mut self, prefix: &Prefix, bracket: Bracket, total: Total, min_keep: usize) {
        let &Prefix { threshold, ties, .. } = prefix;
        let base = Base::new(self.temperature);
        let Scratch { blocks, parts, values, .. } = &mut *self.scratch;
        let inside = Scores::F32(&values[..count(parts)]);
        let reach = |x| self.kernels.count(inside, x);
        let surplus = reach(threshold) - reach(threshold.next_up()) - ties;
        if min_keep > 1 {
            let scores = scores(self.input, self.store, self.view);
            if self.kernels.count(scores, threshold) - surplus < min_keep {
                return self.keep_best(min_keep);
            }
        }
        if surplus > 0 {
            let count = self.gather(threshold);
            self.adopt(count);
            return self.keep_prefix(threshold, ties);
        }
        let unit = unit(base, bracket, total);
        for (block, part) in blocks.iter_mut().zip(&*parts) {
            block.sum = part.above * unit;
        }
        self.kernels.add_inside(&*values, base, self.max, threshold, parts, blocks);
        let sum = blocks.iter().map(|block| block.sum).sum();
        self.floor = threshold;
        let kept = Total { sum, error: 0.0, ..total };
        self.total = Some(if total.error > 0.0 { kept.rough() } else { kept });
    }
}

/// What the sums of a pass with `bracket` are multiplied by to be relative to the weights of a row of `total`.
fn unit(base: Base, bracket: Bracket, total: Total) -> f64 {
    power(base.exponent(bracket.max) - total.exponent)
}

fn above(parts: &[Part]) -> f64 {
    parts.iter().map(|part| part.above).sum()
}

/// How many scores are inside.
fn count(parts: &[Part]) -> usize {
    parts.last().map_or(0, |part| part.end as usize)
}

/// How scores are sampled and weighed.
struct Sample<'a> {
    kernels: &'a Kernels,
    base: Base,
    floats: &'a mut Vec<f32>,
}

impl Sample<'_> {
    /// Where the share `p` of the mass is likely reached, in a row of which nothing is known; `None` if it is not flat, or
    /// cannot be weighed as it stands.
    fn of_row(self, row: Scores<'_>, p: f64) -> Option<Bracket> {
        if row.len() < 2 * SAMPLE {
            return None;
        }
        grow(self.floats, 2 * SAMPLE);
        let (scores, weights) = self.floats.split_at_mut(SAMPLE);
        let covers = |max: f32| max.is_finite() && self.base.covers(max);
        let max = take(self.kernels, row, 0, &mut scores[..PROBE]).filter(|&max| covers(max))?;
        self.kernels.weights(&scores[..PROBE], self.base, max, &mut weights[..PROBE]);
        let largest = weights[..PROBE].iter().fold(0.0, |largest: f32, &weight| largest.max(weight));
        if spread_sum(&weights[..PROBE]) < FLAT * f64::from(largest) {
            return None;
        }
        let others = take(self.kernels, row, (PROBE / RUN) as u64, &mut scores[PROBE..]).filter(|&max| covers(max))?;
        let max = max.max(others);
        self.kernels.weights(&*scores, self.base, max, &mut weights[..SAMPLE]);
        bracket(self.base, &weights[..SAMPLE], row.len(), |_| p, max)
    }

    /// Where a share of the mass of the scores below `bound` is likely reached, by a sample of `size`: the share is told by
    /// the mass that the sample estimates. `max` is the largest score of the row.
    fn bracket(
        self,
        xs: Scores<'_>,
        max: f32,
        bound: f32,
        size: usize,
        share: impl FnOnce(f64) -> f64,
    ) -> Option<Bracket> {
        grow(self.floats, 2 * SAMPLE);
        let (scores, weights) = self.floats.split_at_mut(SAMPLE);
        let scores = &mut scores[..xs.len().min(size) / RUN * RUN];
        take(self.kernels, xs, 0, scores)?;
        for x in &mut *scores {
            *x = if *x < bound { *x } else { f32::NEG_INFINITY };
        }
        let weights = &mut weights[..scores.len()];
        self.kernels.weights(&*scores, self.base, max, weights);
        let bracket = bracket(self.base, weights, xs.len(), share, max)?;
        Some(Bracket { ceiling: f32::INFINITY, ..bracket })
    }
}

/// Copies runs of scores, from the run numbered `first` on, to `out`. Returns the largest; `None` if a score is NaN.
///
/// Places go by the golden ratio: however many there are, they are spread evenly, and in step with no pattern of the row.
pub(super) fn take(kernels: &Kernels, xs: Scores<'_>, first: u64, out: &mut [f32]) -> Option<f32> {
    let mut max = f32::NEG_INFINITY;
    let places = (xs.len() - RUN + 1) as u64;
    for (run, out) in (first..).zip(out.chunks_mut(RUN)) {
        let spread = run.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let at = ((spread * places) >> 32) as usize;
        let mut block = [Block::default()];
        if kernels.scan_copy(xs.slice(at..at + RUN), out, &mut block) {
            return None;
        }
        max = max.max(block[0].max);
    }
    Some(max)
}

/// Two scores between which a share of the mass of `length` scores is likely reached, by the `weights` of a sample.
fn bracket(base: Base, weights: &[f32], length: usize, share: impl FnOnce(f64) -> f64, max: f32) -> Option<Bracket> {
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
    let sum: f64 = bins.iter().copied().map(f64::from).sum();
    let squares: f64 = squares.iter().copied().map(f64::from).sum();
    #[expect(clippy::cast_precision_loss, reason = "lengths fit 32 bits")]
    let mass = sum * (length as f64 / weights.len() as f64);
    let share = share(mass).clamp(0.0, 1.0);
    let error = CONFIDENCE * (share * (1.0 - share) * squares).sqrt();
    let score = |weight: f64| base.score(weight, max);
    // The bin in which a mass is reached, and so its upper and its lower edge.
    let reached = |mass: f64| {
        let mut left = mass;
        bins.iter().position(|&bin| {
            left -= f64::from(bin);
            left <= 0.0
        })
    };
    let edge =
        |bin: usize| f64::from(f32::from_bits((TOP + 1).saturating_sub(u32::try_from(bin).unwrap_or(TOP)) << BIN));
    let high = reached(share * sum - error).map_or(f32::INFINITY, |bin| score(edge(bin)));
    let low = reached(share * sum + error).filter(|&bin| bin + 1 < BINS).map_or(f32::MIN, |bin| score(edge(bin + 1)));
    (low < high).then(|| Bracket { low, high, max, ceiling: score(PEAK * mass) })
}
