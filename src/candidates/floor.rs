//! A cut that is only noted: what fell to it still stands there.
//!
//! When most of a row stays, moving it into a list would be the most expensive part. The cut is then noted as a score and a
//! place: before that place all stay that reach the score, behind it only what is above. These are two ranges with a threshold
//! each, for kernels that know nothing of ties; only the block between is looked at score by score. Sums and the draw skip what
//! is gone, and whatever else comes first carries the cut out.

use super::mass::{Precision, Total, join};
use super::{Candidates, Scratch, View, scores};
use crate::kernels::{BLOCK, Base, Block, Kernels};
use crate::scores::Scores;

/// A row is flat, seen from a floor, when more than one in so many blocks reaches it.
const FLAT: usize = 4;

/// What is left of scores in id order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Floor {
    /// Lower scores are no candidates any more.
    pub(super) score: f32,
    /// Nor are those that equal it, from this place on.
    pub(super) end: usize,
}

impl Floor {
    /// Nothing is noted.
    pub(super) const NONE: Self = Self::with_ties(f32::MIN);

    /// Of all that reach a score.
    pub(super) const fn with_ties(score: f32) -> Self {
        Self { score, end: usize::MAX }
    }

    /// The least score of a candidate at `place`.
    #[inline]
    pub(super) fn at(self, place: usize) -> f32 {
        if place < self.end { self.score } else { self.score.next_up() }
    }

    /// How many of so many blocks begin before the end of the ties, and as many of so many places.
    fn split(self, blocks: usize, places: usize) -> (usize, usize) {
        let blocks = blocks.min(self.end.div_ceil(BLOCK));
        (blocks, places.min(blocks * BLOCK))
    }

    /// Whether a good part of the row is to be read for what is above.
    pub(super) fn is_low(self, blocks: &[Block]) -> bool {
        let (before, behind) = blocks.split_at(self.split(blocks.len(), 0).0);
        let reaching = |blocks: &[Block], score| blocks.iter().filter(|block| block.max >= score).count();
        let reached = reaching(before, self.score) + reaching(behind, self.score.next_up());
        reached * FLAT > blocks.len()
    }
}

impl Candidates<'_> {
    /// Keeps the scores above `last`, and of those that equal it the first `inside`; unless there are `more`, all.
    pub(super) fn keep_down_to(&mut self, last: f32, inside: usize, more: bool) {
        if !more {
            return self.keep_at_least(last, 1);
        }
        let floor = Floor { score: last, end: self.end_of_ties(last, inside) };
        self.cut(floor);
    }

    /// Keeps what is above the floor: carried out at once, unless it is much of a row.
    pub(super) fn cut(&mut self, floor: Floor) {
        self.floor = floor;
        if !matches!(self.view, View::List(_)) && floor.is_low(&self.scratch.blocks) {
            self.whole();
            self.total = None;
        } else {
            let count = self.gather_noted();
            self.adopt(count);
        }
    }

    /// Carries out a cut that was only noted.
    #[inline]
    pub(super) fn carry_out_cut(&mut self) {
        if self.floor != Floor::NONE {
            let count = self.gather_noted();
            self.adopt(count);
        }
    }

    /// The place behind the first `ties` scores that equal this one.
    ///
    /// Read from the first on: where many are equal, the few that stay are soon found.
    pub(super) fn end_of_ties(&self, score: f32, mut ties: usize) -> usize {
        let row = self.scores();
        for (block, start) in
            self.scratch.blocks.iter().zip((0..).step_by(BLOCK)).filter(|(block, _)| block.max >= score)
        {
            let scores = row.slice(start..row.len().min(start + BLOCK));
            let better = if block.max > score { self.kernels.count(scores, score.next_up()) } else { 0 };
            let equal = self.kernels.count(scores, score) - better;
            if equal >= ties {
                let mut equal = scores.iter().zip(start..).filter(|&(x, _)| x == score);
                return equal.nth(ties - 1).map_or(row.len(), |(_, place)| place + 1);
            }
            ties -= equal;
        }
        row.len()
    }

    /// How many scores are above the floor.
    pub(super) fn count_noted(&self) -> usize {
        let (row, Floor { score, end }) = (self.scores(), self.floor);
        let (end, all) = (end.min(row.len()), row.len());
        self.kernels.count(row.slice(0..end), score) + self.kernels.count(row.slice(end..all), score.next_up())
    }

    /// Gathers the scores above the floor.
    fn gather_noted(&mut self) -> usize {
        let Floor { score, end } = self.floor;
        let places = self.places();
        if end >= places {
            return self.gather(score);
        }
        self.make_room();
        let row = scores(self.input, self.store, self.view);
        let Scratch { blocks, values, indices, .. } = &mut *self.scratch;
        let (split, start) = self.floor.split(blocks.len(), places);
        let (before, behind) = blocks.split_at(split);
        let found = self.kernels.gather(row.slice(0..start), before, score, &[], values, indices);
        let first = indices[..found].partition_point(|&place| (place as usize) < end);
        let mut count = first;
        for at in first..found {
            (values[count], indices[count]) = (values[at], indices[at]);
            count += usize::from(values[count] > score);
        }
        let (values, indices) = (&mut values[count..], &mut indices[count..]);
        let more = self.kernels.gather(row.slice(start..places), behind, score.next_up(), &[], values, indices);
        #[expect(clippy::cast_possible_truncation, reason = "a vocabulary fits u32")]
        let start = start as u32;
        for place in &mut indices[..more] {
            *place += start;
        }
        count + more
    }

    /// The sum of the weights of all scores above the floor, block by block, exact or rough.
    pub(super) fn sum_noted(&mut self, precision: Precision) -> Total {
        let (kernels, max, floor, base) = (self.kernels, self.max, self.floor, Base::new(self.temperature));
        let sum = |row: Scores<'_>, threshold: f32, blocks: &mut [Block]| {
            let sum = if precision == Precision::Exact { Kernels::mass_from } else { Kernels::mass_from_rough };
            sum(kernels, row, base, max, threshold, blocks);
        };
        let row = scores(self.input, self.store, self.view);
        let blocks = &mut self.scratch.blocks;
        let (split, start) = floor.split(blocks.len(), row.len());
        let (before, behind) = blocks.split_at_mut(split);
        sum(row.slice(0..start), floor.score, before);
        sum(row.slice(start..row.len()), floor.score.next_up(), behind);
        if floor.end < start {
            let first = (split - 1) * BLOCK;
            let mut stay = [f32::NEG_INFINITY; BLOCK];
            row.slice(first..start).for_each(|at, x| stay[at] = if x < floor.at(first + at) { stay[at] } else { x });
            sum(Scores::F32(&stay[..start - first]), floor.score, &mut before[split - 1..]);
        }
        join(kernels, base, max, blocks, precision)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::{Readers, active};

    thread_local! {
        static COUNTED: Cell<usize> = const { Cell::new(0) };
    }

    /// A kernel that tells how many scores it was given.
    fn count(xs: &[f32], threshold: f32) -> usize {
        COUNTED.set(COUNTED.get() + xs.len());
        xs.iter().filter(|&&x| x >= threshold).count()
    }

    const LENGTH: usize = 40_000;

    /// Behind the end of the ties, and where all are below, nothing is looked at.
    #[test]
    fn few_ties_are_soon_found() {
        let base = active();
        let kernels = Kernels {
            f32: Readers { count, ..base.f32 },
            f16: Readers { ..base.f16 },
            bf16: Readers { ..base.bf16 },
            ..*base
        };
        let kernels = Box::leak(Box::new(kernels));
        let rows: [fn(usize) -> f32; 4] = [
            |_| 1.5,
            |at| if at % 3 == 0 { 1.5 } else { 2.0 },
            |at| if at % 7 == 0 { 1.5 } else { -1.0 },
            |at| if at >= LENGTH / 2 { 1.5 } else { -1.0 },
        ];
        for row in rows.map(|score| (0..LENGTH).map(score).collect::<Vec<_>>()) {
            let start = row.iter().position(|&x| x >= 1.5).unwrap() / BLOCK * BLOCK;
            for ties in [1, 50, 1_000, 5_000] {
                let end = (0..LENGTH).filter(|&at| row[at] == 1.5).nth(ties - 1).unwrap() + 1;
                with_workspace(|workspace| {
                    let candidates =
                        Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                    COUNTED.set(0);
                    assert_eq!(end, candidates.end_of_ties(1.5, ties));
                    // Better ones as well.
                    let most = 2 * (end.next_multiple_of(BLOCK) - start);
                    assert!(COUNTED.get() <= most, "{} of {most} for {ties}", COUNTED.get());
                });
            }
        }
    }
}
