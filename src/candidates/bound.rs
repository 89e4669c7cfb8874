//! A lower bound of the k-th largest score.
//!
//! The k-th largest of any maxima of disjoint parts is one. With block maxima at hand, only blocks that reach the bound are read
//! again, and little more than `k` scores come out of them. When there are not enough blocks, the sixteen lanes of spans of
//! scores are the parts.
//!
//! Where many parts have the bound as their maximum, it is likely the k-th score itself. Where the best stand side by side, one
//! part has many of them, and the bound is raised, by halving, until few reach it.

use super::cuts::{ascending, descending};
use super::{BLOCK, Candidates, LANES, Scratch, View, grow};

/// How many times more parts than `k` there must be for their maxima to be a good bound. Of blocks half as many will do:
/// their maxima are at hand.
pub(super) const SPARE: usize = 3;

/// A bound for the best `k` is good enough if at most `k / FINE` more maxima reach it.
const FINE: usize = 8;

/// What brings out no more than so many times `k` is near enough to the best `k` to look at each.
pub(super) const NEAR: usize = 4;

/// The best stand side by side if more than one in so many of the best one's block reach the bound.
const CROWDED: usize = 4;

/// Of so many scores the maxima are taken lane by lane.
const SPANS: [usize; 3] = [4 * BLOCK, BLOCK, BLOCK / 4];

/// A lower bound of one of the largest scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) score: f32,
    /// How many scores, at least, equal it, if so many do that they should not be gathered; else zero.
    pub(super) ties: usize,
}

impl Bound {
    /// All candidates reach it.
    pub(super) const NONE: Self = Self { score: f32::MIN, ties: 0 };

    /// The same, but for scores that should not be gathered.
    pub(super) fn without_ties(self) -> f32 {
        if self.ties > 0 { self.score.next_up() } else { self.score }
    }
}

impl Candidates<'_> {
    /// Whether [`Self::bound`] finds one for the best `k`.
    pub(super) fn is_bounded(&self, k: usize) -> bool {
        k <= most(self.places(), SPANS[2])
    }

    /// A lower bound of the k-th largest score; none when there is no good one.
    pub(super) fn bound(&mut self, k: usize) -> Bound {
        if k * SPARE <= 2 * self.scratch.blocks.len() {
            return self.block_bound(k);
        }
        let scores = super::scores(self.input, self.store, self.view);
        let Scratch { floats, edits, .. } = &mut *self.scratch;
        let Some(span) = SPANS.into_iter().find(|&span| k <= most(scores.len(), span)) else {
            return Bound::NONE;
        };
        // Another token may ask for another k.
        let length = |span| scores.len().div_ceil(span) * LANES;
        grow(floats, length(SPANS[2]));
        let length = length(span);
        let except = if self.view == View::Edited { edits.words() } else { &[] };
        self.kernels.lane_maxima(scores, span, except, &mut floats[..length]);
        self.bound_among(length, k)
    }

    /// The k-th largest maximum of a block, or a little less; `k` is at most their number.
    pub(super) fn block_bound(&mut self, k: usize) -> Bound {
        let Scratch { blocks, floats, .. } = &mut *self.scratch;
        // Whole vectors: a part of one takes longer.
        let length = blocks.len().next_multiple_of(LANES);
        grow(floats, length);
        floats[..length].fill(f32::NEG_INFINITY);
        for (max, block) in floats.iter_mut().zip(blocks) {
            *max = block.max;
        }
        self.bound_among(length, k)
    }

    /// What `k` of the first `length` scratch floats reach, and few more unless they are equal; none if there are not so many
    /// above -inf.
    ///
    /// Found by halving: to count takes no branch, and a selection takes one for every number.
    fn bound_among(&self, length: usize, k: usize) -> Bound {
        let xs = &self.scratch.floats[..length];
        let (mut reached, mut missed) = (descending(self.kernels.least(xs)), descending(self.max) - 1);
        let (mut parts, mut above) = (self.kernels.count(xs, f32::MIN), 0);
        if parts < k {
            return Bound::NONE;
        }
        while reached - missed > 1 {
            let middle = reached.midpoint(missed);
            let count = self.kernels.count(xs, ascending(middle));
            if count < k {
                (missed, above) = (middle, count);
                continue;
            }
            (reached, parts) = (middle, count);
            if parts <= k + k / FINE {
                return Bound { score: ascending(reached), ties: 0 };
            }
        }
        let ties = parts - above;
        Bound { score: ascending(reached), ties: if ties > k / 2 { ties } else { 0 } }
    }

    /// A higher bound for the best `k`, if those stand side by side.
    pub(super) fn raised(&self, bound: Bound, k: usize) -> Bound {
        if bound.ties > 0 || bound.score == f32::MIN || self.view == View::Edited {
            return bound;
        }
        let start = BLOCK * self.block_of_max();
        let beside = self.scores().slice(start..self.places().min(start + BLOCK));
        if self.kernels.count(beside, bound.score) * CROWDED <= beside.len() {
            return bound;
        }
        let (mut reached, mut missed) = (descending(bound.score), descending(self.max) - 1);
        while reached - missed > 1 {
            let middle = reached.midpoint(missed);
            let count = self.count_from(ascending(middle));
            *(if count < k { &mut missed } else { &mut reached }) = middle;
            if (k..=NEAR * k).contains(&count) {
                break;
            }
        }
        Bound { score: ascending(reached), ties: 0 }
    }
}

/// The largest `k` that maxima of lanes are a good bound for.
fn most(length: usize, span: usize) -> usize {
    length / span * LANES / SPARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::available;

    /// The best of a row in order, from either end or from the middle, stand in one part of it: not many more than they reach
    /// the bound.
    #[test]
    fn few_reach_the_bound_where_the_best_stand_side_by_side() {
        let length = 40_000_u16;
        let rows: [Vec<f32>; 4] = [
            (0..length).map(f32::from).collect(),
            (0..length).map(|at| -f32::from(at)).collect(),
            (0..length).map(|at| f32::from(at.min(length - 1 - at))).collect(),
            (0..length).map(|at| f32::from(at) * f32::from(at)).collect(),
        ];
        for (row, k) in rows.iter().flat_map(|row| [2, 20, 50, 60, 300].map(|k| (row, k))) {
            for kernels in available() {
                with_workspace(|workspace| {
                    let mut candidates =
                        Candidates::new(kernels, row.into(), workspace, Sums::None).expect("good scores");
                    let bound = candidates.bound(k);
                    let raised = candidates.raised(bound, k);
                    let count = candidates.count_from(raised.score);
                    assert!((k..=NEAR * k).contains(&count), "{count} for {k}");
                    assert!(raised.ties == 0 && candidates.gather(raised.without_ties()) == count);
                });
            }
        }
    }
}
