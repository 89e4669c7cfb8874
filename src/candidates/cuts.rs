//! Cuts: the best `k`, all above a threshold, the shortest prefix of a given mass.
//!
//! # The k-th largest score
//!
//! The k-th largest of any maxima of disjoint parts is a lower bound of the k-th largest score. With block maxima at hand,
//! only blocks that reach the bound are read again, and little more than `k` scores come out of them, among which the k-th
//! is selected. When there are not several times `k` blocks, the sixteen lanes of each block are the parts.
//!
//! # The nucleus
//!
//! The total is known from the blocks' sums. Most of it usually lies in few tokens: a bound by block maxima brings them
//! out, they are sorted, and if they hold the mass the cut is found. If they do not, the bound is lowered, and at last all
//! candidates are halved by selection, each time towards the half in which the mass is reached.
//!
//! A mass that is met within float32 rounding (2^-20, relative) counts as met.

use super::{Candidates, LANES, Scratch, View};

/// A limit counts as met when this part of it is.
pub(crate) const MET: f64 = 1.0 - 1.0 / 1_048_576.0;

/// How many times more parts than `k` there must be for their maxima to be a good bound.
const SPARE: usize = 3;

impl Candidates<'_> {
    /// Keeps the `k` best, of equals the lower ids. `k` is at least 1.
    pub(crate) fn keep_best(&mut self, k: usize) {
        if k >= self.scores().len() {
            return;
        }
        let bound = self.bound(k);
        let count = self.gather(bound);
        self.adopt(count);
        if count > k {
            let (threshold, ties) = self.kth(k);
            self.keep_prefix(threshold, ties);
        }
    }

    /// Keeps the scores of at least `threshold`, but no fewer than the `min_keep` best.
    pub(crate) fn keep_at_least(&mut self, threshold: f32, min_keep: usize) {
        if min_keep > 1 && (self.kernels.count)(self.scores(), threshold.max(f32::MIN)) < min_keep {
            return self.keep_best(min_keep);
        }
        let count = self.gather(threshold.min(self.max));
        self.adopt(count);
    }

    /// Keeps the shortest prefix, best first, whose probability is at least `p`, but no fewer than the `min_keep` best.
    /// `p` is in (0, 1); there must be a candidate.
    pub(crate) fn keep_mass(&mut self, p: f64, min_keep: usize) {
        let needed = p * self.total().sum * MET;
        let length = self.scores().len();
        let mut parts = 32;
        loop {
            let all = parts * SPARE > self.scratch.blocks.len();
            let bound = if all { f32::MIN } else { self.bound(parts) };
            let count = self.gather(bound);
            self.weigh_gathered(count);
            let found = if count <= 4096 { self.sorted_prefix(count, needed) } else { None };
            let found = if all && found.is_none() { Some(self.halved_prefix(count, needed)) } else { found };
            if let Some(rank) = found {
                return self.keep_best(rank.max(min_keep).min(length));
            }
            // A whole vocabulary is better halved than sorted.
            parts = if count > length / 8 { length } else { parts * 8 };
        }
    }

    /// A lower bound of the k-th largest score; `f32::MIN` when there is no good one.
    fn bound(&mut self, k: usize) -> f32 {
        let scores = super::scores(self.input, self.store, self.view);
        let Scratch { blocks, floats, .. } = &mut *self.scratch;
        if k * SPARE <= blocks.len() {
            floats.clear();
            floats.extend(blocks.iter().map(|block| block.max));
        } else if k * SPARE <= blocks.len() * LANES {
            floats.clear();
            floats.resize(blocks.len() * LANES, 0.0);
            (self.kernels.lane_maxima)(scores, floats);
        } else {
            return f32::MIN;
        }
        nth_largest(floats, k).max(f32::MIN)
    }

    /// The k-th largest score of the list, and how many of its equals belong to the `k` best.
    fn kth(&mut self, k: usize) -> (f32, usize) {
        let scores = super::scores(self.input, self.store, self.view);
        let floats = &mut self.scratch.floats;
        floats.clear();
        floats.extend_from_slice(scores);
        let threshold = nth_largest(floats, k);
        let above = scores.iter().filter(|&&x| x > threshold).count();
        (threshold, k - above)
    }

    /// Of the list, keeps the scores above `threshold` and the first `ties` that equal it.
    fn keep_prefix(&mut self, threshold: f32, mut ties: usize) {
        let View::List(length) = self.view else { return };
        let mut kept = 0;
        for at in 0..length {
            let x = self.store.scores[at];
            let tie = x == threshold;
            if x > threshold || (tie && ties > 0) {
                ties -= usize::from(tie);
                self.store.scores[kept] = x;
                self.store.ids[kept] = self.store.ids[at];
                kept += 1;
            }
        }
        self.rescan(kept);
    }

    /// How many of the gathered scores, best first, have the weight `needed`; `None` if all have not.
    fn sorted_prefix(&mut self, count: usize, needed: f64) -> Option<usize> {
        let Scratch { values, floats, keys, .. } = &mut *self.scratch;
        fill_keys(keys, &values[..count], &floats[..count]);
        keys.sort_unstable();
        prefix(keys, 0.0, needed).ok()
    }

    /// How many of the gathered scores, best first, have the weight `needed`; all, if rounding leaves them below.
    fn halved_prefix(&mut self, count: usize, needed: f64) -> usize {
        let Scratch { values, floats, keys, .. } = &mut *self.scratch;
        fill_keys(keys, &values[..count], &floats[..count]);
        let (mut rest, mut rank, mut sum) = (keys.as_mut_slice(), 0, 0.0);
        while rest.len() > 64 {
            let middle = rest.len() / 2;
            rest.select_nth_unstable(middle);
            let (better, worse) = rest.split_at_mut(middle);
            let mass: f64 = better.iter().copied().map(weight).sum();
            if sum + mass >= needed {
                rest = better;
            } else {
                sum += mass;
                rank += middle;
                rest = worse;
            }
        }
        rest.sort_unstable();
        rank + prefix(rest, sum, needed).unwrap_or(rest.len())
    }

    /// The `k` best tokens and their log-probabilities, best first; those that are impossible come last, by id.
    pub(crate) fn top(&mut self, k: usize) -> Vec<(u32, f64)> {
        if k == 0 {
            return Vec::new();
        }
        let length = self.scores().len();
        let (max, log_sum) = (f64::from(self.max), self.total().log());
        let temperature = self.temperature;
        self.keep_best(k);
        let ranked = self.ranked();
        let logprob = |x: f32| (f64::from(x) - max) / temperature - log_sum;
        let mut top: Vec<_> = ranked.iter().map(|&(id, x)| (id, logprob(x))).collect();
        let mut left: Vec<_> = ranked.iter().map(|&(id, _)| id).collect();
        left.sort_unstable();
        let impossible = (0..).filter(|id| left.binary_search(id).is_err());
        top.extend(impossible.take(k.min(length) - left.len()).map(|id| (id, f64::NEG_INFINITY)));
        top
    }

    /// The candidates, best first, of equals the lower id: `(id, score)`.
    pub(crate) fn ranked(&mut self) -> Vec<(u32, f32)> {
        let mut ranked: Vec<_> = self.iter().collect();
        ranked.sort_unstable_by_key(|&(id, x)| u64::from(descending(x)) << 32 | u64::from(id));
        ranked
    }
}

/// The k-th largest; the order of the rest is lost.
fn nth_largest(xs: &mut [f32], k: usize) -> f32 {
    *xs.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
}

/// An integer that ascends as `x` descends; -0 and +0 have the same.
fn descending(x: f32) -> u32 {
    let bits = (x + 0.0).to_bits();
    if bits >> 31 == 1 { bits } else { !(bits | 1 << 31) }
}

/// Keys that sort by score, best first, and carry the weight. Equal scores have equal weights, so their order is no matter.
fn fill_keys(keys: &mut Vec<u64>, scores: &[f32], weights: &[f32]) {
    keys.clear();
    let pairs = scores.iter().zip(weights);
    keys.extend(pairs.map(|(&x, weight)| u64::from(descending(x)) << 32 | u64::from(weight.to_bits())));
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is the weight")]
fn weight(key: u64) -> f64 {
    f64::from(f32::from_bits(key as u32))
}

/// How many keys it takes for `sum` to reach `needed`, or else the sum of all.
fn prefix(keys: &[u64], mut sum: f64, needed: f64) -> Result<usize, f64> {
    for (at, &key) in keys.iter().enumerate() {
        sum += weight(key);
        if sum >= needed {
            return Ok(at + 1);
        }
    }
    Err(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_as_scores_descend() {
        let xs = [f32::MAX, 1.0, f32::from_bits(1), 0.0, -f32::from_bits(1), -1.0, f32::MIN, f32::NEG_INFINITY];
        assert!(xs.map(descending).is_sorted());
        assert_eq!(descending(0.0), descending(-0.0));
    }
}
