//! A bag of tokens: which occur, and how often.
//!
//! Adding, removing and asking cost the same whatever the bag holds. Most bags of an index hold one token, so that one
//! takes no memory of its own.
//!
//! The hash is a multiplication, as a penalty asks for each of its candidates. It can be foreseen. Of a vocabulary no more than
//! some hundred tokens can meet in one place, but a caller may say other ids as well: of all that 32 bits hold tens of
//! thousands can, and to add those takes seconds. Who takes ids from strangers has to refuse what is beyond the vocabulary.

use rustc_hash::FxHashMap;

/// Tokens with their counts, in no order.
#[derive(Debug, Clone, Default)]
pub(crate) enum Tally {
    #[default]
    Empty,
    One((u32, u32)),
    Many(Box<Many>),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Many {
    entries: Vec<(u32, u32)>,
    /// Where in `entries` a token is.
    places: FxHashMap<u32, usize>,
}

impl Tally {
    /// Each token that occurs, with its count, in no order.
    pub(crate) fn entries(&self) -> &[(u32, u32)] {
        match self {
            Self::Empty => &[],
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Many(many) => &many.entries,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// How often a token occurs.
    #[inline]
    pub(crate) fn count(&self, token: u32) -> u32 {
        match self {
            Self::Many(many) => many.places.get(&token).map_or(0, |&place| many.entries[place].1),
            few => few.entries().iter().find(|entry| entry.0 == token).map_or(0, |entry| entry.1),
        }
    }

    pub(crate) fn add(&mut self, token: u32) {
        match self {
            Self::Empty => *self = Self::One((token, 1)),
            Self::One((only, count)) if *only == token => *count += 1,
            Self::One(only) => {
                let entries = vec![*only, (token, 1)];
                let places = [(only.0, 0), (token, 1)].into_iter().collect();
                *self = Self::Many(Box::new(Many { entries, places }));
            }
            Self::Many(many) => many.add(token),
        }
    }

    pub(crate) fn remove(&mut self, token: u32) {
        match self {
            Self::One((only, count)) if *only == token => {
                *count -= 1;
                if *count == 0 {
                    *self = Self::Empty;
                }
            }
            Self::Many(many) => many.remove(token),
            Self::Empty | Self::One(_) => {}
        }
    }
}

impl Many {
    fn add(&mut self, token: u32) {
        let place = *self.places.entry(token).or_insert(self.entries.len());
        match self.entries.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => self.entries.push((token, 1)),
        }
    }

    fn remove(&mut self, token: u32) {
        let Some(&place) = self.places.get(&token) else { return };
        self.entries[place].1 -= 1;
        if self.entries[place].1 == 0 {
            self.places.remove(&token);
            self.entries.swap_remove(place);
            if let Some(&(moved, _)) = self.entries.get(place) {
                self.places.insert(moved, place);
            }
        }
    }
}
