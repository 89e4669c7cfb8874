//! Changed scores of a row that is not copied.
//!
//! A stage changes few scores of many, and most of the row is never read again. So changed scores go into a list, and a bit
//! for each place says that the caller's row does not tell its score any more. What reads the row passes over those places
//! and looks at the list beside.
//!
//! What a mask forbids has a bit as well, and nothing in the list: it is impossible, and no change finds it.

use crate::kernels::{BLOCK, Block, WORD};

/// Words of a block.
const WORDS: usize = BLOCK / WORD;

/// Places that share a chain: so few that a walk through it is short.
const SPAN: usize = 64;

/// The end of a chain.
const END: u32 = u32::MAX;

/// The changed scores of a row.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// Places and scores, in the order in which they were first changed.
    list: Vec<(u32, f32)>,
    /// Bits of places that are in the list, and of those that are impossible.
    words: Vec<u32>,
    index: Index,
}

/// Where the list has a place. Only asked, and so only made, when scores change once more.
#[derive(Debug, Default)]
struct Index {
    /// The last entry of each span of places, and for each entry the one before it.
    heads: Vec<u32>,
    chains: Vec<u32>,
    /// The entry after that which was found last: stages often change the same scores in the same order.
    next: usize,
}

impl Edits {
    /// None, of a row of so many blocks; of a packed `mask`, all are impossible whose bit is zero or missing.
    pub(super) fn restart(&mut self, blocks: usize, mask: Option<&[u32]>) {
        self.list.clear();
        self.words.clear();
        if let Some(mask) = mask {
            let length = mask.len().min(blocks * WORDS);
            self.words.extend(mask[..length].iter().map(|word| !word));
        }
        self.words.resize(blocks * WORDS, if mask.is_some() { !0 } else { 0 });
        self.index.heads.clear();
        self.index.chains.clear();
    }

    /// Places and scores, in the order in which they were first changed.
    pub(super) fn list(&self) -> &[(u32, f32)] {
        &self.list
    }

    /// The bits of places whose scores are not those of the row.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// Changes scores of which the row says what they were at first.
    #[inline]
    pub(super) fn change<T>(
        &mut self,
        ids: impl ExactSizeIterator<Item = (u32, T)>,
        row: impl Fn(usize) -> Option<f32>,
        change: impl Fn(f32, T) -> f32,
        doubt: &mut Doubt<'_>,
    ) {
        let Self { list, words, index } = self;
        let mut count = list.len();
        list.resize(count + ids.len(), (0, 0.0));
        let (list, words) = (&mut list[..], &mut words[..]);
        index.next = 0;
        for (id, with) in ids {
            let place = id as usize;
            let Some(came) = row(place) else { continue };
            let (word, bit) = (&mut words[place / WORD], 1 << (place % WORD));
            if *word & bit == 0 {
                if came > f32::NEG_INFINITY {
                    *word |= bit;
                    let after = change(came, with);
                    list[count] = (id, after);
                    count += 1;
                    doubt.note(place, came, after);
                }
            } else if let Some(at) = index.find(&list[..count], id, words.len() * WORD / SPAN) {
                doubt.changed(place, &mut list[at].1, |x| change(x, with));
            }
        }
        self.list.truncate(count);
    }
}

impl Index {
    /// The entry of a place, if it has one, of a row of so many spans.
    fn find(&mut self, list: &[(u32, f32)], place: u32, spans: usize) -> Option<usize> {
        let is_here = |at: usize| list.get(at).is_some_and(|entry| entry.0 == place);
        if !is_here(self.next) {
            if self.heads.is_empty() {
                self.heads.resize(spans, END);
            }
            for (at, &(place, _)) in list.iter().enumerate().skip(self.chains.len()) {
                #[expect(clippy::cast_possible_truncation, reason = "a vocabulary fits u32")]
                let at = at as u32;
                self.chains.push(std::mem::replace(&mut self.heads[place as usize / SPAN], at));
            }
            let mut at = self.heads[place as usize / SPAN];
            while at != END && !is_here(at as usize) {
                at = self.chains[at as usize];
            }
            if at == END {
                return None;
            }
            self.next = at as usize;
        }
        self.next += 1;
        Some(self.next - 1)
    }
}

/// Blocks whose maximum is in doubt, as a score that was as large has changed, or has become as large.
pub(super) struct Doubt<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) stale: &'a mut [bool],
}

impl Doubt<'_> {
    /// Changes the score at a place, unless it is -inf.
    #[inline]
    pub(super) fn changed(&mut self, place: usize, score: &mut f32, change: impl FnOnce(f32) -> f32) {
        let before = *score;
        if before > f32::NEG_INFINITY {
            *score = change(before);
            self.note(place, before, *score);
        }
    }

    /// The score at a place was `before`, and is `after`.
    #[inline]
    fn note(&mut self, place: usize, before: f32, after: f32) {
        let larger = if after > before { after } else { before };
        // Without a branch, which nobody could foresee.
        self.stale[place / BLOCK] |= larger >= self.blocks[place / BLOCK].max;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// In one order and in another, twice in a stage, and never what is impossible, forbidden or beyond the row.
    #[test]
    fn scores_change_as_often_as_they_are_named() {
        let row: Vec<f32> = (0..1300_u16).map(|at| if at % 7 == 3 { f32::NEG_INFINITY } else { at.into() }).collect();
        let blocks: Vec<_> = row.chunks(BLOCK).map(|xs| Block { max: xs[xs.len() - 1], ..Block::default() }).collect();
        let stages: [Vec<u32>; 5] = [
            (0..1400).step_by(9).collect(),
            (0..1400).step_by(9).collect(),
            (0..1400).rev().step_by(5).collect(),
            [6, 6, 1299, 6, 511].to_vec(),
            (100..300).chain(100..300).collect(),
        ];
        let mut edits = Edits::default();
        // One in five is allowed, of a mask that ends before the row does.
        let mask: Vec<_> = (0_u32..35).map(|at| 0x8421_0842_u32.rotate_left(at)).collect();
        // A row after a row.
        for mask in [None, Some(&mask[..]), None] {
            let is_allowed = |place: u32| {
                mask.is_none_or(|mask| {
                    mask.get(place as usize / WORD).is_some_and(|word| word >> (place % 32) & 1 == 1)
                })
            };
            edits.restart(blocks.len(), mask);
            let (mut expected, mut stale) = (BTreeMap::new(), [false; 3]);
            for (ids, add) in stages.iter().zip([1.0, -2.0, 4.0, f32::NEG_INFINITY, 8.0]) {
                for &id in ids {
                    let Some(&came) = row.get(id as usize) else { continue };
                    if came > f32::NEG_INFINITY && is_allowed(id) {
                        *expected.entry(id).or_insert(came) += add;
                    }
                }
                let mut doubt = Doubt { blocks: &blocks, stale: &mut stale };
                let with = ids.iter().map(|&id| (id, add));
                edits.change(with, |at| row.get(at).copied(), |x, add| x + add, &mut doubt);
                let mut got = edits.list().to_vec();
                got.sort_unstable_by_key(|&(place, _)| place);
                assert_eq!(expected.clone().into_iter().collect::<Vec<_>>(), got);
                let is_set = |place: u32| edits.words()[place as usize / WORD] >> (place as usize % WORD) & 1 == 1;
                assert!((0..1300).all(|place| is_set(place) == (expected.contains_key(&place) || !is_allowed(place))));
                for (&place, &score) in &expected {
                    let (block, came) = (place as usize / BLOCK, row[place as usize]);
                    assert!(stale[block] || came.max(score) < blocks[block].max, "{place} of a block in doubt");
                }
            }
        }
    }
}
