//! Scores of few kinds, each told once, with how many there are of it.
//!
//! Rounded scores are many of few kinds. A look at some of them brings out nearly all kinds; how many there are of each is
//! counted, and what the look has missed is so little that it is added one by one.

use crate::candidates::crossing::FEW;
use crate::candidates::cuts::{ascending, descending};
use crate::candidates::{Candidates, Scratch, grow};

/// Scores that are looked at for how many kinds there are of them, and the most kinds that are told once each.
const LOOK: usize = 1024;
const KINDS: usize = 64;

impl Candidates<'_> {
    /// If the first `count` scratch values are of few kinds, puts one of each in front, and how many there are of it into the
    /// indices; returns how many kinds there are.
    pub(super) fn tell_once(&mut self, count: usize) -> Option<usize> {
        let Scratch { values, indices, .. } = &mut *self.scratch;
        let all = &mut values[..count];
        // A few of many kinds are nearly all different.
        let mut few: [u32; 2 * KINDS] = std::array::from_fn(|at| descending(all[at * count / (2 * KINDS)]));
        if kinds_of(&mut few) > KINDS {
            return None;
        }
        let mut looked: [u32; LOOK] = std::array::from_fn(|at| descending(all[at * count / LOOK]));
        if kinds_of(&mut looked) > KINDS {
            return None;
        }
        let mut kinds = Kinds { list: [(0.0, 0); KINDS], count: 0, told: 0 };
        let mut high = f32::INFINITY;
        for kind in looked.chunk_by(|a, b| a == b) {
            let score = ascending(kind[0]);
            let [above, reaching] = [score.next_up(), score].map(|x| self.kernels.count(&*all, x));
            kinds.add_rare(all, [score.next_up(), high], above)?;
            kinds.add(score, reaching - above)?;
            high = score;
        }
        kinds.add_rare(all, [f32::MIN, high], count)?;
        grow(indices, kinds.count);
        for (&(score, times), (value, number)) in kinds.list[..kinds.count].iter().zip(all.iter_mut().zip(indices)) {
            (*value, *number) = (score, times);
        }
        Some(kinds.count)
    }
}

/// How many kinds there are; leaves them in order.
fn kinds_of(keys: &mut [u32]) -> usize {
    keys.sort_unstable();
    keys.chunk_by(|a, b| a == b).count()
}

/// Scores of few kinds, with how many there are of each.
struct Kinds {
    list: [(f32, u32); KINDS],
    count: usize,
    /// How many there are of all.
    told: usize,
}

impl Kinds {
    /// Adds so many of a score.
    fn add(&mut self, score: f32, times: usize) -> Option<()> {
        let at = self.list[..self.count].iter().rposition(|kind| kind.0 == score).unwrap_or(self.count);
        let kind = self.list.get_mut(at)?;
        *kind = (score, kind.1 + u32::try_from(times).ok()?);
        self.count = self.count.max(at + 1);
        self.told += times;
        Some(())
    }

    /// Adds the scores of a range, if there are not so many in all yet: a look at some has missed them, as they are few.
    fn add_rare(&mut self, all: &[f32], [low, high]: [f32; 2], told: usize) -> Option<()> {
        if self.told == told {
            return Some(());
        }
        let mut rare = all.iter().filter(|&&x| x >= low && x < high);
        (told - self.told <= FEW).then_some(())?;
        rare.try_for_each(|&x| self.add(x, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::available;

    /// Kinds of which a look at some finds none, above and below one of which all but those are.
    #[test]
    fn rare_kinds_are_told_as_well() {
        let score = |at: u16| match at % 9_001 {
            17 => 1.0 + f32::from(at / 20_000),
            18 if at > 30_000 => -9.0,
            _ => -0.5,
        };
        let row: Vec<f32> = (0..60_000).map(score).collect();
        for kernels in available() {
            with_workspace(|workspace| {
                let mut candidates =
                    Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                candidates.gather(f32::MIN);
                assert_eq!(Some(5), candidates.tell_once(row.len()));
                let Scratch { values, indices, .. } = &*candidates.scratch;
                let mut kinds: Vec<_> = values[..5].iter().copied().zip(indices[..5].iter().copied()).collect();
                kinds.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert_eq!(vec![(-9.0, 3), (-0.5, 59_990), (1.0, 3), (2.0, 2), (3.0, 2)], kinds);
            });
        }
    }

    #[test]
    fn no_more_kinds_are_told_than_there_is_room_for() {
        for kinds in [1, 17, 63, 64, 65, 1_000, 60_000] {
            let row: Vec<f32> = (0..60_000_u16).map(|at| f32::from(at.wrapping_mul(40_503) % kinds)).collect();
            for kernels in available() {
                with_workspace(|workspace| {
                    let mut candidates =
                        Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                    candidates.gather(f32::MIN);
                    let told = usize::from(kinds) <= KINDS;
                    assert_eq!(told.then_some(kinds.into()), candidates.tell_once(row.len()));
                });
            }
        }
    }
}
