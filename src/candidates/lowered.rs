//! The best of scores that are only lowered: looked up where they matter.
//!
//! A penalty is known for thousands of tokens, and a cut keeps fifty. If enough of the scores above a threshold are above it
//! once they are lowered too, the best are among them, as whatever was below has stayed there. So a few more than are wanted
//! are gathered from the scores as they were, and only these are lowered. If too few of them stay above, twice as many are
//! gathered; if that does not do, all scores have to be changed.

use super::bound::NEAR;
use super::floor::Floor;
use super::{Candidates, Scratch};

/// So many are gathered at least: that the best one was said before is nothing rare.
const FEWEST: usize = 16;

impl Candidates<'_> {
    /// Lowers the scores, by a function of token and score, and keeps the best `k`, all that equal the last of them, and perhaps
    /// others. `false` if that would take long, or `k` of them would take more than `most` to be looked up: the candidates are
    /// then the same.
    pub(crate) fn keep_best_lowered(&mut self, k: usize, most: usize, lowered: impl Fn(u32, f32) -> f32) -> bool {
        let k = k.min(self.places());
        k <= most / NEAR && self.best_lowered(k, lowered).map(|count| self.adopt(count)).is_some()
    }

    /// The same for all that reach a threshold, which is a function of the best lowered score and below it. Beside those for the
    /// best one, no more than `most` are looked up.
    pub(crate) fn keep_at_least_lowered(
        &mut self,
        threshold: impl Fn(f32) -> f32,
        most: usize,
        lowered: impl Fn(u32, f32) -> f32,
    ) -> bool {
        let Some(count) = self.best_lowered(1, &lowered) else { return false };
        let best = self.scratch.values[..count].iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let threshold = threshold(best);
        if Floor::with_ties(threshold).is_low(&self.scratch.blocks) {
            return false;
        }
        self.gather_lowered(threshold, most, lowered).map(|count| self.adopt(count)).is_some()
    }

    /// Gathers the best `k`, lowered, and perhaps others.
    fn best_lowered(&mut self, k: usize, lowered: impl Fn(u32, f32) -> f32) -> Option<usize> {
        self.carry_out_cut();
        let fewest = k.max(FEWEST);
        for wanted in [fewest, 2 * fewest] {
            if !self.is_bounded(wanted) && self.places() > NEAR * wanted {
                return None;
            }
            let bound = self.bound(wanted);
            // If there are more, many are equal, or side by side.
            let count = self.gather_lowered(bound.score, NEAR * wanted, &lowered)?;
            // Above the least score there are all.
            if count >= k || bound.score == f32::MIN {
                return Some(count);
            }
        }
        None
    }

    /// Gathers the scores that reach a threshold and lowers them; what is below then is left out. `None` for more than `most`.
    fn gather_lowered(&mut self, threshold: f32, most: usize, lowered: impl Fn(u32, f32) -> f32) -> Option<usize> {
        let count = self.gather(threshold);
        if count > most {
            return None;
        }
        let mut left = 0;
        for at in 0..count {
            let Scratch { values, indices, .. } = &*self.scratch;
            let (place, before) = (indices[at], values[at]);
            let after = lowered(self.id(place as usize), before);
            (self.scratch.values[left], self.scratch.indices[left]) = (after, place);
            left += usize::from(after >= threshold);
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::{Kernels, available};

    /// Every third token was said, and two beside each other.
    fn lowered(id: u32, x: f32) -> f32 {
        if id.is_multiple_of(3) || (500..502).contains(&id) { x - 2.0 } else { x }
    }

    /// How scores came to be what they are.
    const WAYS: [fn(&mut Candidates<'_>); 4] = [
        |_| {},
        |candidates| {
            candidates.ban(&[3, 501, 502, 503]);
            candidates.settle();
        },
        |candidates| {
            candidates.mask(&vec![!4; candidates.places().div_ceil(32)]);
            candidates.settle();
        },
        |candidates| candidates.keep_best(candidates.places() / 4 + 1),
    ];

    /// What [`Candidates::list`] says after `way` and `then`, and the answer of that.
    fn after<T>(
        kernels: &'static Kernels,
        row: &[f32],
        way: fn(&mut Candidates<'_>),
        then: impl FnOnce(&mut Candidates<'_>) -> T,
    ) -> (Vec<(u32, f32)>, T) {
        with_workspace(|workspace| {
            let mut candidates = Candidates::new(kernels, row.into(), workspace, Sums::None).expect("good scores");
            way(&mut candidates);
            let answer = then(&mut candidates);
            (candidates.list(), answer)
        })
    }

    /// All that reach a score which follows from the lowered ones, best first, are what they are if all are lowered; and if
    /// nothing was done, nothing has changed. Returns what was said.
    fn check(
        before: &[(u32, f32)],
        (kept, quick): (Vec<(u32, f32)>, bool),
        threshold: impl Fn(&[f32]) -> Option<f32>,
    ) -> usize {
        if !quick {
            assert_eq!(before, kept);
            return 0;
        }
        let all: Vec<_> = before.iter().map(|&(id, x)| (id, lowered(id, x))).collect();
        let mut sorted: Vec<_> = all.iter().map(|&(_, x)| x).collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let threshold = threshold(&sorted).unwrap_or(f32::MIN);
        let reach = |list: &[(u32, f32)]| list.iter().copied().filter(|&(_, x)| x >= threshold).collect::<Vec<_>>();
        assert_eq!(reach(&all), reach(&kept));
        assert!(
            kept.iter().all(|entry| all.binary_search_by(|one| one.0.cmp(&entry.0)).is_ok_and(|at| all[at] == *entry))
        );
        1
    }

    /// Of whole rows, changed ones, copies and lists; sorted, with many equal, with few that are possible.
    #[test]
    fn what_is_kept_holds_the_best() {
        let mut quick = [0; 2];
        for length in [1, 40, 700, 5_000, 40_000_u16] {
            let noise: Vec<_> = (0..length).map(|at| f32::from(at.wrapping_mul(40_503) >> 3) / 700.0).collect();
            let peaks =
                (0..length).map(|at| if at % 4_000 == 0 { 20.0 + f32::from(at / 4_000 % 5) / 4.0 } else { 0.0 });
            let peaks = peaks.zip(&noise).map(|(peak, &x)| x.max(peak)).collect();
            let mut rows = [noise.clone(), noise.iter().map(|x| x.floor()).collect(), noise.clone(), noise, peaks];
            rows[1].sort_by(f32::total_cmp);
            rows[2].iter_mut().step_by(2).for_each(|x| *x = f32::NEG_INFINITY);
            rows[3].iter_mut().skip(500).take(2).for_each(|x| *x = 13.0);
            for ((kernels, row), way) in available()
                .flat_map(|kernels| rows.iter().map(move |row| (kernels, row)))
                .flat_map(|case| WAYS.map(|way| (case, way)))
            {
                let (before, ()) = after(kernels, row, way, |_| {});
                for k in [1, 2, 20, 60, 700, 10_000] {
                    let result =
                        after(kernels, row, way, |candidates| candidates.keep_best_lowered(k, usize::MAX, lowered));
                    quick[0] += check(&before, result, |sorted| sorted.get(k - 1).copied());
                }
                for (distance, most) in [(0.5, 1_000), (0.01, 20), (0.01, 1_000), (1.0, 1_000)] {
                    let result = after(kernels, row, way, |candidates| {
                        candidates.keep_at_least_lowered(|best| best - distance, most, lowered)
                    });
                    quick[1] += check(&before, result, |sorted| Some(sorted.first()? - distance));
                }
            }
        }
        assert!(quick.iter().all(|&times| times > 5 * available().count()), "{quick:?}");
    }

    /// Those that were said are the best ones: more are gathered, or all must be lowered.
    #[test]
    fn more_are_gathered_if_too_few_stay_above() {
        let row: Vec<_> = (0..40_000_u16).map(|at| f32::from(at.wrapping_mul(40_503)) / 700.0).collect();
        let mut sorted = row.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        for (said, kernels) in (0..=400).flat_map(|said| available().map(move |kernels| (said, kernels))) {
            let lowered = |_, x| if x > sorted[said] { x - 9.0 } else { x };
            let (kept, quick) =
                after(kernels, &row, |_| {}, |candidates| candidates.keep_best_lowered(50, 200, lowered));
            assert!(if quick { said < 400 } else { said > 50 }, "{said}");
            if quick {
                let mut best: Vec<_> = kept.into_iter().map(|(_, x)| x).collect();
                best.sort_by(|a, b| b.total_cmp(a));
                let rest: Vec<_> = sorted.iter().copied().filter(|&x| x <= sorted[said]).take(50).collect();
                assert_eq!(rest, best[..50]);
            }
        }
    }

    /// Where too many are equal, or not far from the best, they are left to those who change all; what is short is looked up whole.
    #[test]
    fn no_more_are_looked_up_than_is_worth_it() {
        let noise = |at: u16| f32::from(at.wrapping_mul(40_503) >> 3) / 700.0;
        let looked = Cell::new(0);
        let lowered = |id, x| {
            looked.set(looked.get() + 1);
            lowered(id, x)
        };
        let check = |expected, length: u16, score: fn(f32) -> f32, k, most| {
            let row: Vec<_> = (0..length).map(|at| score(noise(at))).collect();
            for kernels in available() {
                let best = |candidates: &mut Candidates<'_>| candidates.keep_best_lowered(k, most, lowered);
                assert_eq!(expected, after(kernels, &row, |_| {}, best).1);
            }
        };
        check(false, 40_000, f32::floor, 50, 200);
        for (k, most) in [(51, 200), (5_000, 200), (5_000, 19_999), (40_000, 200), (usize::MAX, 200)] {
            check(false, 40_000, |x| x, k, most);
        }
        assert_eq!(0, looked.get());
        check(true, 40, |x| x, 60, 200);
        check(true, 700, |x| x, 1_000, 2_800);
        looked.set(0);
        let row: Vec<_> = (0..40_000).map(noise).collect();
        for kernels in available() {
            let flat = |candidates: &mut Candidates<'_>| {
                candidates.keep_at_least_lowered(|best| best - 0.5, row.len(), lowered)
            };
            assert!(!after(kernels, &row, |_| {}, flat).1);
            assert!(looked.take() <= 3 * NEAR * FEWEST);
            let many = |candidates: &mut Candidates<'_>| candidates.gather_lowered(11.0, 100, lowered);
            assert_eq!((None, 0), (after(kernels, &row, |_| {}, many).1, looked.take()));
        }
    }
}
