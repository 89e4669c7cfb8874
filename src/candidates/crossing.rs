//! Where sums over candidates in some order cross a limit, found without sorting them.
//!
//! A radix selection with weights: a pass throws the candidates into bins by the leading bits of their keys, as far as these
//! differ, and adds up what falls into each. The bin in which the limit is crossed goes on, until all its keys are equal.
//! Keys are distances from a center, as bits, which ascend as non-negative floats do; bins are then fractions of octaves.
//!
//! The best few candidates often settle it. If they do not, the row is flat, and `band` leaves few to select among.

use super::bound::SPARE;
use super::cuts::least;
use super::edge::spread_sum;
use super::{Candidates, LANES, Scratch};

/// A bin is the leading so many bits of what keys differ by.
const BITS: u32 = 9;

/// What is nearer to the center than the farthest by more than so many octaves shares a bin at first.
const OCTAVES: u64 = 24;

/// No score so many temperatures below the best has a weight: what has one is at most 127 powers of two below, which are 88.03.
pub(super) const WEIGHTY: f64 = 89.0;

/// So few candidates are looked at one by one, as fast as any guess would spare some.
pub(super) const FEW: usize = 2048;

/// Where those that were taken out hold less than this share of the whole, some more will not do.
const WORTH: f64 = 0.1;

/// A candidate among others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// The bits of its distance.
    pub(super) key: u64,
    pub(super) score: f32,
    pub(super) weight: f32,
    /// How many equal ones it stands for.
    pub(super) times: u32,
}

/// Two sums over candidates: of their weights, and of what else the question is about.
pub(super) type Sums = [f64; 2];

/// Where a limit is crossed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    /// The least distance at which it is.
    pub(super) distance: f64,
    /// The sums over all that are nearer.
    pub(super) before: Sums,
    /// How many candidates stand in the scratch buffers, among them all in doubt; with their weights, unless one stands for all.
    pub(super) gathered: usize,
    /// How many candidates the one at that distance stands for, if all in doubt are equal; else one.
    pub(super) times: usize,
}

/// The scores of at least `bound`, which stand in the scratch buffers with their weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heavy {
    pub(super) bound: f32,
    pub(super) count: usize,
}

/// Whom to ask about, and how.
#[derive(Clone, Copy)]
pub(super) struct Question<A, S> {
    /// The largest score.
    pub(super) max: f64,
    /// What a distance is measured from, relative to the largest score.
    pub(super) center: f64,
    /// How far beyond the last one candidates must be known.
    pub(super) slack: f64,
    /// Whether those count whose weight is zero.
    pub(super) weightless: bool,
    /// What candidates add to the sums: by the sum of their weights, that of weight times distance from the largest score,
    /// which is not positive, and their number.
    pub(super) adds: A,
    /// Whether sums have not come to the limit.
    pub(super) short: S,
}

impl<A: Fn([f64; 3]) -> Sums, S> Question<A, S> {
    /// How far a score is from the center.
    pub(super) fn distance(&self, score: f32) -> f64 {
        ((f64::from(score) - self.max) - self.center).abs()
    }

    /// The scores that are nearer than this: from the first, which is the least, up to the second.
    pub(super) fn nearer(&self, distance: f64) -> [f32; 2] {
        let from_center = |x: f32| (f64::from(x) - self.max) - self.center;
        [least(|x| from_center(x) > -distance), least(|x| from_center(x) >= distance)]
    }

    pub(super) fn item(&self, (&score, &weight): (&f32, &f32)) -> Item {
        Item { key: self.distance(score).to_bits(), score, weight, times: 1 }
    }

    /// Whether a candidate of this weight counts.
    pub(super) fn counts(&self, item: &Item) -> bool {
        self.weightless || item.weight > 0.0
    }

    /// What it adds to the sums, and all that it stands for.
    pub(super) fn added_by(&self, item: Item) -> Sums {
        self.added_by_equals(item, item.times as usize)
    }

    /// What so many like it add.
    pub(super) fn added_by_equals(&self, item: Item, times: usize) -> Sums {
        #[expect(clippy::cast_precision_loss, reason = "a vocabulary fits 32 bits")]
        let times = times as f64;
        let weight = f64::from(item.weight);
        (self.adds)([weight, weight * (f64::from(item.score) - self.max), 1.0]).map(|sum| sum * times)
    }
}

impl Candidates<'_> {
    /// The least distance from the center at which the sums over all that are no farther are not short; or the largest, if
    /// they still are. Those at that distance, or one for all, are then `tied`, and among the gathered are all whose distance
    /// differs from it by no more than the slack.
    pub(super) fn crossing<A, S>(&mut self, question: &Question<A, S>) -> Crossing
    where
        A: Fn([f64; 3]) -> Sums,
        S: Fn(Sums) -> bool,
    {
        let total = self.total();
        let many = self.scratch.blocks.len() * LANES / SPARE;
        let mut parts = 32;
        let mut heavy = Heavy { bound: f32::INFINITY, count: 0 };
        loop {
            let whole = self.all_at_once(parts);
            if whole && let Some(crossing) = self.crossing_in_band(question, total, heavy) {
                return crossing;
            }
            let bound = if whole { f32::MIN } else { self.bound(parts).without_ties() };
            let count = self.gather(bound);
            self.weigh_gathered(count, total.shift);
            let Scratch { values, floats, tied, .. } = &mut *self.scratch;
            let least = self.kernels.least(&values[..count]);
            let farthest = question.distance(self.max).max(question.distance(least));
            // At the bound itself rounding may hide a score just below, which was not gathered.
            let reach = if whole {
                f64::INFINITY
            } else {
                question.center - (f64::from(bound) - question.max) - question.slack
            };
            let bins = Bins::up_to(farthest.min(question.center.abs() + WEIGHTY * self.temperature));
            let near = values[..count].iter().zip(&*floats).map(|pair| question.item(pair));
            let near = near.filter(|item| question.counts(item) && (whole || f64::from_bits(item.key) < reach));
            if let Some((key, before)) = bins.crossed(near, question, [0.0; 2], whole, tied) {
                return Crossing { distance: f64::from_bits(key), before, gathered: count, times: 1 };
            }
            let worth = spread_sum(&floats[..count]) >= WORTH * total.sum;
            parts = if worth && parts < many { many.min(parts * 8) } else { self.places() };
            heavy = Heavy { bound, count };
        }
    }

    /// Whether no good bound brings out the best `parts` alone.
    pub(super) fn all_at_once(&self, parts: usize) -> bool {
        self.places() <= FEW || parts * SPARE > self.scratch.blocks.len() * LANES
    }
}

/// How keys are told apart in one pass: those outside count as those at the ends.
pub(super) struct Bins {
    low: u64,
    high: u64,
    shift: u32,
}

impl Bins {
    fn new(low: u64, high: u64) -> Self {
        Self { low, high, shift: (u64::BITS - (high - low).leading_zeros()).saturating_sub(BITS) }
    }

    /// For distances up to this one.
    fn up_to(high: f64) -> Self {
        Self::new(high.to_bits().saturating_sub(OCTAVES << 52), high.to_bits())
    }

    /// For distances between these.
    pub(super) fn between(low: f64, high: f64) -> Self {
        Self::new(low.to_bits(), high.to_bits())
    }

    /// For these, which are some.
    fn of(items: &[Item]) -> Self {
        let keys = items.iter().map(|item| item.key);
        let (low, high) = keys.fold((u64::MAX, 0), |(low, high), key| (low.min(key), high.max(key)));
        Self::new(low, high)
    }

    #[expect(clippy::cast_possible_truncation, reason = "so many bits are left")]
    fn bin(&self, key: u64) -> usize {
        (key.clamp(self.low, self.high).wrapping_sub(self.low) >> self.shift) as usize
    }

    /// The key at which the limit is crossed as items are added to the sums `before`, or the last one of the `whole`; the sums
    /// without those at it; and in `tied` those.
    pub(super) fn crossed<A: Fn([f64; 3]) -> Sums, S: Fn(Sums) -> bool>(
        mut self,
        items: impl Iterator<Item = Item> + Clone,
        question: &Question<A, S>,
        mut before: Sums,
        whole: bool,
        tied: &mut Vec<Item>,
    ) -> Option<(u64, Sums)> {
        let bin = self.bin_crossed(items.clone(), question, whole, &mut before)?;
        tied.clear();
        tied.extend(items.filter(|item| self.bin(item.key) == bin));
        loop {
            self = Self::of(tied);
            if self.low == self.high {
                return Some((self.high, before));
            }
            // Added up in another order, they may just be short again: then it is the last.
            if let Some(bin) = self.bin_crossed(tied.iter().copied(), question, true, &mut before) {
                tied.retain(|item| self.bin(item.key) == bin);
            }
        }
    }

    /// The first bin up to which the sums are not short, or with `last` the last that holds anything; and the sums before.
    fn bin_crossed<A: Fn([f64; 3]) -> Sums, S: Fn(Sums) -> bool>(
        &self,
        items: impl Iterator<Item = Item>,
        question: &Question<A, S>,
        last: bool,
        before: &mut Sums,
    ) -> Option<usize> {
        let mut bins = [[0.0; 2]; 1 << BITS];
        for item in items {
            let bin = &mut bins[self.bin(item.key)];
            *bin = add(*bin, question.added_by(item));
        }
        let filled = |more: &Sums| *more != [0.0; 2];
        let last = if last { bins.iter().rposition(filled) } else { None };
        bins.iter().enumerate().find_map(|(bin, &more)| {
            let sums = add(*before, more);
            if filled(&more) && (Some(bin) == last || !(question.short)(sums)) {
                return Some(bin);
            }
            *before = sums;
            None
        })
    }
}

/// The sums over both.
pub(super) fn add(sums: Sums, more: Sums) -> Sums {
    [sums[0] + more[0], sums[1] + more[1]]
}
