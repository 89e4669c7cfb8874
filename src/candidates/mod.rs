//! The tokens that are still possible and their scores, in id order.
//!
//! A row starts as the caller's slice. A few changed scores go into a list beside it, and what a mask forbids is only noted
//! (see `edits`); it is copied when many change, or when a stage reads all of a changed row (see `changes`). The first cut that
//! leaves few of it turns it into a list of ids and scores. Both forms are one slice of scores in id order, so that every
//! kernel serves both; a removed token of a whole row has the score -inf.
//!
//! A temperature rewrites nothing: it is kept beside the scores and enters where probabilities are needed, which loses no
//! digit and lets cuts compare scores as they came.
//!
//! Nearly every cut keeps a prefix in order of score (ties to the lower id), so a cut is a threshold and a number of ties:
//! no vocabulary is sorted, unless the shape of its order is what a stage asks about (`prefix`).

mod band;
mod bound;
mod bracket;
mod changes;
mod crossing;
mod cuts;
mod deep;
mod edge;
mod edits;
mod estimate;
mod excess;
mod floor;
mod likely;
mod lowered;
mod mass;
mod nucleus;
mod prefix;
mod radix;
mod read;
mod rewrite;
mod sample;
mod steepest;
#[cfg(test)]
mod tests;
mod typical;
mod workspace;

pub(crate) use cuts::MET;
pub(crate) use mass::probabilities;
pub(crate) use prefix::Verdict;
pub(crate) use rewrite::{finite, scaled};
pub(crate) use workspace::{Workspace, with_workspace};

use crate::error::Error;
use crate::kernels::{BLOCK, Base, Block, Kernels, LANES};
use crate::scores::Scores;
use floor::Floor;
use mass::{Total, join};
use read::{Read, read};
use workspace::{Scratch, Store, grow};

/// What the first read of a row sums, at which temperature.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sums<'m> {
    None,
    /// None, as scores will change: the row is copied.
    Copied,
    /// The same, without what a mask forbids.
    Masked(&'m [u32]),
    /// None, without what a mask forbids, as few scores will be read again: the row is not copied.
    Allowed(&'m [u32]),
    /// None, as what all scores are read for depends on their maxima.
    Later,
    /// As good as a draw needs.
    Draw(f64),
    /// The same, of the scores that are at least the largest plus a distance, which alone are kept. If they are few, nothing is
    /// summed, and all are kept.
    Above {
        distance: f64,
        temperature: f64,
    },
    /// Those of all blocks.
    Exact(f64),
}

/// Which slice holds the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// The caller's row.
    Input,
    /// The caller's row, but for some scores, which are in a list of edits or impossible.
    Edited,
    Copy,
    List(usize),
}

pub(crate) struct Candidates<'a> {
    kernels: &'static Kernels,
    input: Scores<'a>,
    store: &'a mut Store,
    scratch: &'a mut Scratch,
    view: View,
    floor: Floor,
    temperature: f64,
    /// The largest score; -inf when no token is left.
    max: f32,
    /// The sum of all weights, once it is known for these scores and this temperature.
    total: Option<Total>,
    /// What turns the scores that [`Self::remembered`] knows into log-probabilities.
    before: Option<rewrite::Before>,
}

impl<'a> Candidates<'a> {
    /// All tokens of `row`, which is not empty, after one read of it, which takes the sums that are asked for.
    ///
    /// # Errors
    ///
    /// [`Error::BadScore`] for the first NaN or +inf.
    pub(crate) fn new(
        kernels: &'static Kernels,
        row: Scores<'a>,
        workspace: &'a mut Workspace,
        sums: Sums<'_>,
    ) -> Result<Self, Error> {
        let Workspace { store, scratch } = workspace;
        let Read { nan, view, floor, summed } = read(kernels, row, sums, store, scratch);
        let max = checked_max(row, &scratch.blocks, nan)?;
        let mut this =
            Self { kernels, input: row, store, scratch, view, floor, temperature: 1.0, max, total: None, before: None };
        if view != View::Input {
            this.refresh();
        }
        if let Some((temperature, precision)) = summed {
            this.temperature = temperature;
            let base = Base::new(temperature);
            if max > f32::NEG_INFINITY && base.covers(max) {
                let total = join(kernels, base, max, &mut this.scratch.blocks, precision);
                this.total = Some(this.total_of_read(total));
            }
        }
        Ok(this)
    }

    /// The largest score; -inf when no token is left.
    pub(crate) fn max(&self) -> f32 {
        self.max
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.max == f32::NEG_INFINITY
    }

    /// Scores are divided by it before they are exponentiated. Above zero.
    pub(crate) fn set_temperature(&mut self, temperature: f64) {
        if self.temperature.to_bits() != temperature.to_bits() {
            self.temperature = temperature;
            self.total = None;
        }
    }

    pub(crate) fn temperature(&self) -> f64 {
        self.temperature
    }

    /// The scores, in id order. Not of an edited row before [`Self::whole`].
    fn scores(&self) -> Scores<'_> {
        debug_assert!(self.view != View::Edited, "a row is read in one piece");
        scores(self.input, self.store, self.view)
    }

    /// How many scores there are.
    #[inline]
    fn places(&self) -> usize {
        match self.view {
            View::List(length) => length,
            View::Input | View::Edited | View::Copy => self.input.len(),
        }
    }

    /// The token at `place` of [`Self::scores`].
    pub(crate) fn id(&self, place: usize) -> u32 {
        match self.view {
            View::List(_) => self.store.ids[place],
            #[expect(clippy::cast_possible_truncation, reason = "a vocabulary fits u32")]
            View::Input | View::Edited | View::Copy => place as u32,
        }
    }

    /// The tokens that are left, ascending, and their scores.
    pub(crate) fn for_each(&mut self, mut visit: impl FnMut(u32, f32)) {
        self.whole();
        self.scores().for_each(|place, x| {
            if x >= self.floor.at(place) {
                visit(self.id(place), x);
            }
        });
    }

    /// A list of them.
    pub(crate) fn list(&mut self) -> Vec<(u32, f32)> {
        let mut list = Vec::new();
        self.for_each(|id, x| list.push((id, x)));
        list
    }

    /// How many tokens are left.
    pub(crate) fn len(&mut self) -> usize {
        self.whole();
        match self.view {
            View::List(length) if self.floor == Floor::NONE => length,
            _ => self.count_noted(),
        }
    }

    /// The score of a token that is left; -inf for any other.
    pub(crate) fn score(&mut self, id: u32) -> f32 {
        self.whole();
        let place = match self.view {
            View::List(length) => self.store.ids[..length].binary_search(&id).unwrap_or(length),
            View::Input | View::Edited | View::Copy => id as usize,
        };
        let score = self.scores().get(place).filter(|&score| score >= self.floor.at(place));
        score.unwrap_or(f32::NEG_INFINITY)
    }

    /// The best token, of equals the lowest.
    pub(crate) fn best(&mut self) -> u32 {
        self.keep_best(1);
        self.id(0)
    }

    /// Every token with its score as it came, and no temperature.
    pub(crate) fn restart(&mut self) {
        self.view = View::Input;
        self.floor = Floor::NONE;
        self.temperature = 1.0;
        self.total = None;
        self.scratch.blocks.resize(self.input.len().div_ceil(BLOCK), Block::default());
        self.kernels.scan(self.input, &mut self.scratch.blocks);
        self.max = largest(&self.scratch.blocks);
    }

    /// Carries out a cut that was only noted, and copies the rest of an edited row: for what reads all scores.
    fn carry_out(&mut self) {
        self.carry_out_cut();
        self.whole();
    }

    /// Finds the scores of at least `threshold`: how many, with scores and places in the scratch buffers.
    fn gather(&mut self, threshold: f32) -> usize {
        let threshold = threshold.max(f32::MIN);
        self.make_room();
        let Scratch { blocks, values, indices, edits, .. } = &mut *self.scratch;
        let scores = scores(self.input, self.store, self.view);
        if self.view == View::Edited {
            let count = self.kernels.gather(scores, blocks, threshold, edits.words(), values, indices);
            return self.add_edited(count, threshold);
        }
        self.kernels.gather(scores, blocks, threshold, &[], values, indices)
    }

    /// The same for those from the first of a range up to the second, without that; of scores in one piece.
    fn gather_between(&mut self, range: [f32; 2]) -> usize {
        self.make_room();
        let Scratch { blocks, values, indices, .. } = &mut *self.scratch;
        self.kernels.gather_between(scores(self.input, self.store, self.view), blocks, range, values, indices)
    }

    /// Room for all that can be gathered.
    fn make_room(&mut self) {
        let room = self.places() + LANES;
        let Self { store, scratch, .. } = self;
        // The list and what was gathered change places: both grow at the first token.
        for floats in [&mut scratch.values, &mut store.scores] {
            grow(floats, room);
        }
        for ids in [&mut scratch.indices, &mut store.ids] {
            grow(ids, room);
        }
    }

    /// Makes the first `count` scores that were gathered the list of candidates.
    fn adopt(&mut self, count: usize) {
        let Self { store, scratch, .. } = self;
        std::mem::swap(&mut store.scores, &mut scratch.values);
        if matches!(self.view, View::List(_)) {
            // Places ascend and are never behind where they are written to.
            for at in 0..count {
                store.ids[at] = store.ids[scratch.indices[at] as usize];
            }
        } else {
            std::mem::swap(&mut store.ids, &mut scratch.indices);
        }
        self.rescan(count);
    }

    /// The list has `length` entries now, and other sums.
    fn rescan(&mut self, length: usize) {
        self.view = View::List(length);
        self.floor = Floor::NONE;
        self.total = None;
        self.scratch.blocks.resize(length.div_ceil(BLOCK), Block::default());
        self.kernels.scan(&self.store.scores[..length], &mut self.scratch.blocks);
        self.max = largest(&self.scratch.blocks);
        self.refresh();
    }
}

fn scores<'b>(input: Scores<'b>, store: &'b Store, view: View) -> Scores<'b> {
    match view {
        View::Input | View::Edited => input,
        View::Copy => Scores::F32(&store.copy),
        View::List(length) => Scores::F32(&store.scores[..length]),
    }
}

/// The largest score; an error for the first NaN or +inf.
fn checked_max(row: Scores<'_>, blocks: &[Block], nan: bool) -> Result<f32, Error> {
    let max = largest(blocks);
    if nan || max == f32::INFINITY {
        let bad = row.iter().enumerate().find(|(_, x)| x.is_nan() || *x == f32::INFINITY);
        let (token, value) = bad.unwrap_or((0, f32::NAN));
        return Err(Error::BadScore { row: None, token, value });
    }
    Ok(max)
}

/// By eight maxima in turn: one alone waits for itself.
fn largest(blocks: &[Block]) -> f32 {
    let (eights, rest) = blocks.as_chunks::<8>();
    let mut maxima = [f32::NEG_INFINITY; 8];
    let larger = |max: &mut f32, block: &Block| *max = if block.max > *max { block.max } else { *max };
    for eight in eights {
        maxima.iter_mut().zip(eight).for_each(|(max, block)| larger(max, block));
    }
    maxima.iter_mut().zip(rest).for_each(|(max, block)| larger(max, block));
    maxima.into_iter().fold(f32::NEG_INFINITY, f32::max)
}
