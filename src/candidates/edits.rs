//! Changes of single scores, and of all.
//!
//! A stage changes few scores of many, and most of the row is never read again. So a changed score goes into the copy, and a
//! bit for each place says which are there. A gather reads the caller's row and corrects what it found; what reads all scores
//! has the rest of the row copied first.

use super::{BLOCK, Candidates, Scratch, View, largest};

/// Places that share a word of bits.
const WORD: usize = 32;

/// A row of so few scores is copied at the first change.
const SMALL: usize = 2048;

/// Words of a block.
const WORDS: usize = BLOCK / WORD;

impl Candidates<'_> {
    /// Replaces the score of `id` by `change` of it. A token that is impossible or unknown stays so, and a change does not
    /// make one impossible unless it returns -inf. Call [`Self::settle`] after the last change.
    #[inline]
    pub(crate) fn change(&mut self, id: u32, change: impl FnOnce(f32) -> f32) {
        self.carry_out_cut();
        if self.view == View::Input {
            self.edit();
        }
        let place = match self.view {
            View::List(length) => self.store.ids[..length].binary_search(&id).unwrap_or(length),
            View::Input | View::Edited | View::Copy => id as usize,
        };
        if place >= self.places() {
            return;
        }
        let before = self.score_at(place);
        if before == f32::NEG_INFINITY {
            return;
        }
        let after = change(before);
        match self.view {
            View::List(_) => self.store.scores[place] = after,
            View::Input | View::Edited | View::Copy => self.store.copy[place] = after,
        }
        if self.view == View::Edited {
            self.scratch.edited[place / WORD] |= 1 << (place % WORD);
        }
        // A maximum is only in doubt where the score that it was has fallen.
        let block = &mut self.scratch.blocks[place / BLOCK];
        if after >= block.max {
            block.max = after + 0.0;
        } else if before == block.max {
            self.scratch.stale[place / BLOCK] = true;
        }
    }

    /// Makes all tokens impossible whose bit in the packed `mask` is zero or missing.
    pub(crate) fn mask(&mut self, mask: &[u32]) {
        let kernels = self.kernels;
        (kernels.mask)(self.owned(), mask);
        self.scratch.stale.fill(true);
    }

    /// Makes all tokens impossible but those of `allowed`.
    pub(crate) fn allow(&mut self, allowed: &[u32]) {
        let mut kept = std::mem::take(&mut self.scratch.floats);
        kept.clear();
        let copy = self.owned();
        kept.extend(allowed.iter().map(|&id| copy[id as usize]));
        copy.fill(f32::NEG_INFINITY);
        for (&id, &score) in allowed.iter().zip(&kept) {
            copy[id as usize] = score;
        }
        self.scratch.floats = kept;
        self.scratch.stale.fill(true);
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
        let Scratch { blocks, stale, edited, .. } = &mut *self.scratch;
        for (at, (block, stale)) in blocks.iter_mut().zip(stale).enumerate() {
            if std::mem::take(stale) {
                let places = at * BLOCK..self.input.len().min((at + 1) * BLOCK);
                let mut scores = [0.0; BLOCK];
                let scores = &mut scores[..places.len()];
                scores.copy_from_slice(&self.store.copy[places.clone()]);
                if self.view == View::Edited {
                    self.kernels.complete(self.input.slice(places), &edited[at * WORDS..], scores);
                }
                self.kernels.scan(&*scores, std::slice::from_mut(block));
            }
        }
        self.max = largest(&self.scratch.blocks);
        self.total = None;
    }

    /// The score at a place of an edited row.
    #[inline]
    pub(super) fn edited(&self, place: usize) -> f32 {
        let is_edited = self.scratch.edited[place / WORD] >> (place % WORD) & 1 == 1;
        if is_edited { self.store.copy[place] } else { self.input.get(place).unwrap_or(f32::NEG_INFINITY) }
    }

    /// The scores, to be changed: of the row a copy, made at the first change.
    pub(super) fn owned(&mut self) -> &mut [f32] {
        self.carry_out();
        if self.view == View::Input {
            self.store.copy.resize(self.input.len(), 0.0);
            self.kernels.scan_copy(self.input, &mut self.store.copy, &mut self.scratch.blocks);
            self.view = View::Copy;
            self.refresh();
        }
        match self.view {
            View::List(length) => &mut self.store.scores[..length],
            View::Input | View::Edited | View::Copy => &mut self.store.copy,
        }
    }

    /// Copies the rest of an edited row.
    pub(super) fn whole(&mut self) {
        if self.view == View::Edited {
            self.kernels.complete(self.input, &self.scratch.edited, &mut self.store.copy);
            self.view = View::Copy;
        }
    }

    /// Makes what was gathered from the caller's row, `count` scores of at least `threshold`, that of the edited row, and
    /// returns how many those are.
    pub(super) fn correct(&mut self, count: usize, threshold: f32) -> usize {
        let mut kept = 0;
        for at in 0..count {
            let place = self.scratch.indices[at];
            let x = self.edited(place as usize);
            self.scratch.indices[kept] = place;
            self.scratch.values[kept] = x;
            kept += usize::from(x >= threshold);
        }
        self.find_risen(threshold);
        let Scratch { values, indices, risen, .. } = &mut *self.scratch;
        let total = kept + risen.len();
        // Merged from behind, both ascending.
        while let Some(place) = risen.pop() {
            while kept > 0 && indices[kept - 1] > place {
                let to = kept + risen.len();
                (values[to], indices[to]) = (values[kept - 1], indices[kept - 1]);
                kept -= 1;
            }
            let to = kept + risen.len();
            (values[to], indices[to]) = (self.store.copy[place as usize], place);
        }
        total
    }

    /// The places whose scores have come to `threshold` by a change.
    fn find_risen(&mut self, threshold: f32) {
        let Scratch { blocks, edited, risen, .. } = &mut *self.scratch;
        risen.clear();
        for (words, start) in edited.chunks(WORDS).zip((0..).step_by(BLOCK)) {
            if blocks[start / BLOCK].max < threshold {
                continue;
            }
            for (&word, start) in words.iter().zip((start..).step_by(WORD)) {
                let mut left = word;
                while left != 0 {
                    let place = start + left.trailing_zeros() as usize;
                    left &= left - 1;
                    if self.input.get(place).is_some_and(|x| x < threshold) && self.store.copy[place] >= threshold {
                        #[expect(clippy::cast_possible_truncation, reason = "a vocabulary fits u32")]
                        risen.push(place as u32);
                    }
                }
            }
        }
    }

    /// From here on scores of the row are changed.
    fn edit(&mut self) {
        if self.input.len() <= SMALL {
            self.owned();
            return;
        }
        self.store.copy.resize(self.input.len(), 0.0);
        let Scratch { blocks, edited, .. } = &mut *self.scratch;
        edited.clear();
        edited.resize(blocks.len() * WORDS, 0);
        self.view = View::Edited;
        self.refresh();
    }

    /// Nothing is stale.
    pub(super) fn refresh(&mut self) {
        self.scratch.stale.clear();
        self.scratch.stale.reserve(self.input.len().div_ceil(BLOCK));
        self.scratch.stale.resize(self.scratch.blocks.len(), false);
    }
}
