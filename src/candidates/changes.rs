//! Changes of single scores, and of all.
//!
//! Single ones of the caller's row go into a list (see `edits`): a gather reads the row and adds those of the list, and what
//! reads all scores has the row copied first.

use super::edits::Doubt;
use super::{BLOCK, Candidates, Scratch, View, grow, largest, scores};
use crate::scores::Scores;

/// A row is copied when one in so many of its scores has changed.
const RARE: usize = 8;

impl Candidates<'_> {
    /// Replaces the score of each id by `change` of it and of what comes with the id. A token that is impossible or unknown
    /// stays so, and a change does not make one impossible unless it returns -inf. Call [`Self::settle`] after the last change.
    pub(crate) fn change<T>(
        &mut self,
        ids: impl IntoIterator<Item = (u32, T), IntoIter: ExactSizeIterator>,
        change: impl Fn(f32, T) -> f32,
    ) {
        self.carry_out_cut();
        let ids = ids.into_iter();
        if self.view == View::Input {
            self.view = View::Edited;
            self.scratch.edits.restart(self.scratch.blocks.len(), None);
            self.refresh();
        }
        let Scratch { blocks, stale, edits, .. } = &mut *self.scratch;
        let mut doubt = Doubt { blocks, stale };
        match self.view {
            View::Input | View::Edited => {
                match self.input {
                    Scores::F32(xs) => edits.change(ids, |at| xs.get(at).copied(), change, &mut doubt),
                    half => edits.change(ids, |at| half.get(at), change, &mut doubt),
                }
                if edits.list().len() * RARE > self.input.len() {
                    self.whole();
                }
            }
            View::Copy => {
                for (id, with) in ids {
                    if let Some(score) = self.store.copy.get_mut(id as usize) {
                        doubt.changed(id as usize, score, |x| change(x, with));
                    }
                }
            }
            View::List(length) => {
                for (id, with) in ids {
                    if let Ok(place) = self.store.ids[..length].binary_search(&id) {
                        doubt.changed(place, &mut self.store.scores[place], |x| change(x, with));
                    }
                }
            }
        }
    }

    /// Makes each of the ids impossible. Call [`Self::settle`] after.
    pub(crate) fn ban(&mut self, ids: &[u32]) {
        self.change(ids.iter().map(|&id| (id, ())), |_, ()| f32::NEG_INFINITY);
    }

    /// Makes all tokens impossible whose bit in the packed `mask` is zero or missing.
    pub(crate) fn mask(&mut self, mask: &[u32]) {
        let kernels = self.kernels;
        (kernels.mask)(self.owned(), mask);
        self.scratch.stale.fill(true);
    }

    /// Makes all tokens impossible but those of `allowed`. Before any cut.
    pub(crate) fn allow(&mut self, allowed: &[u32]) {
        self.whole();
        self.make_room();
        let row = scores(self.input, self.store, self.view);
        let Scratch { values, indices, gone: ids, .. } = &mut *self.scratch;
        ids.clear();
        ids.extend_from_slice(allowed);
        ids.sort_unstable();
        ids.dedup();
        let mut count = 0;
        for &id in &*ids {
            if let Some(x) = row.get(id as usize).filter(|&x| x > f32::NEG_INFINITY) {
                (values[count], indices[count]) = (x, id);
                count += 1;
            }
        }
        self.adopt(count);
    }

    /// Brings the maxima up to date after changes; a list loses what has become impossible.
    pub(crate) fn settle(&mut self) {
        match self.view {
            View::Input => return,
            View::List(_) => {
                let count = self.gather(f32::MIN);
                return self.adopt(count);
            }
            View::Edited | View::Copy => {}
        }
        let scores = scores(self.input, self.store, self.view);
        let Scratch { blocks, stale, indices, edits, .. } = &mut *self.scratch;
        // Without a branch, which nobody could foresee.
        grow(indices, stale.len());
        let mut count = 0;
        for (at, stale) in (0..).zip(&mut *stale) {
            indices[count] = at;
            count += usize::from(std::mem::take(stale));
        }
        if count > 0 {
            let is_edited = self.view == View::Edited;
            let (except, list) = if is_edited { (edits.words(), edits.list()) } else { (&[][..], &[][..]) };
            self.kernels.rescan(scores, except, &indices[..count], blocks);
            for &(place, score) in list {
                let max = &mut blocks[place as usize / BLOCK].max;
                if score > *max {
                    *max = score + 0.0;
                }
            }
        }
        self.max = largest(&self.scratch.blocks);
        self.total = None;
    }

    /// The scores, to be changed: of the row a copy, made at the first change.
    pub(super) fn owned(&mut self) -> &mut [f32] {
        self.carry_out();
        if self.view == View::Input {
            self.store.copy.resize(self.input.len(), 0.0);
            self.kernels.scan_copy(self.input, None, &mut self.store.copy, &mut self.scratch.blocks);
            self.view = View::Copy;
            self.refresh();
        }
        match self.view {
            View::List(length) => &mut self.store.scores[..length],
            View::Input | View::Edited | View::Copy => &mut self.store.copy,
        }
    }

    /// Copies an edited row.
    pub(super) fn whole(&mut self) {
        if self.view == View::Edited {
            let (copy, edits) = (&mut self.store.copy, &self.scratch.edits);
            copy.resize(self.input.len(), 0.0);
            self.kernels.copy(self.input, edits.words(), copy);
            for &(place, score) in edits.list() {
                copy[place as usize] = score;
            }
            self.view = View::Copy;
        }
    }

    /// Adds to the `count` scores of at least `threshold` that were gathered from the caller's row those of the list, and
    /// returns how many there are then.
    pub(super) fn add_edited(&mut self, count: usize, threshold: f32) -> usize {
        let Scratch { values, indices, edits, risen, .. } = &mut *self.scratch;
        risen.clear();
        risen.extend(edits.list().iter().filter(|&&(_, score)| score >= threshold));
        risen.sort_unstable_by_key(|&(place, _)| place);
        let total = count + risen.len();
        let mut left = count;
        // Merged from behind, both ascending.
        while let Some((place, score)) = risen.pop() {
            while left > 0 && indices[left - 1] > place {
                let to = left + risen.len();
                (values[to], indices[to]) = (values[left - 1], indices[left - 1]);
                left -= 1;
            }
            let to = left + risen.len();
            (values[to], indices[to]) = (score, place);
        }
        total
    }

    /// Nothing is stale.
    pub(super) fn refresh(&mut self) {
        self.scratch.stale.clear();
        self.scratch.stale.reserve(self.input.len().div_ceil(BLOCK));
        self.scratch.stale.resize(self.scratch.blocks.len(), false);
    }
}
