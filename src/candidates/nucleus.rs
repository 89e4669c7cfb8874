//! The nucleus: the shortest prefix of a given mass, found without sorting the vocabulary.
//!
//! Most of the mass usually lies in few tokens. A bound by block maxima brings them out, and a sample tells what about the
//! others weigh. If the few seem to hold what is needed, the cut is among them, once the total is known as well as it must be.
//! If they do not, the nucleus is deep, and `bracket` finds its end. Should a sample mislead that as well, which takes a row made
//! for it, all scores are halved by selection, each time towards the half in which the mass is reached.

use super::cuts::MET;
use super::edge::{fill_keys, halved, spread_sum};
use super::mass::{Precision, Total};
use super::{Candidates, Scratch};
use crate::kernels::{Base, ESTIMATE};

/// Rows of at most so many scores are gathered whole.
const SHORT: usize = 2048;

/// So many blocks have a maximum above the first bound.
const FEW_BLOCKS: usize = 32;

/// A row that weighs so many times as much as the best one is flat, at a look.
const FLAT: f64 = 400.0;

/// If the best few hold more than this of all, others are much heavier than most, and a sample is not to miss them.
const STEEP: f64 = 0.25;

/// What a sample tells of the others may be so many times too much. To try the best few in vain costs little.
const WRONG: f64 = 2.0;

/// What was gathered: all scores of at least `bound`, their weight, and how many they are.
#[derive(Clone, Copy)]
pub(super) struct Heavy {
    pub(super) bound: f32,
    pub(super) mass: f64,
    count: usize,
}

impl Heavy {
    /// Nothing.
    pub(super) const NONE: Self = Self { bound: f32::INFINITY, mass: 0.0, count: 0 };
}

impl Candidates<'_> {
    /// Keeps the shortest prefix, best first, whose probability is at least `p`, but no fewer than the `min_keep` best.
    /// `p` is in (0, 1); there must be a candidate.
    pub(crate) fn keep_mass(&mut self, p: f64, min_keep: usize) {
        self.carry_out();
        let blocks = self.scratch.blocks.len();
        let (few, most) = (FEW_BLOCKS.min(blocks), blocks * 15 / 16);
        let more = (blocks / 4).max(2 * FEW_BLOCKS).min(blocks);
        if self.places() <= SHORT {
            return self.keep_mass_by(&[], p, min_keep);
        }
        if !Base::new(self.temperature).covers(self.max) {
            return self.keep_mass_by(&[few, more, most], p, min_keep);
        }
        if self.rest(Heavy::NONE) > FLAT && self.keep_flat(p, min_keep, Heavy::NONE) {
            return;
        }
        let mut heavy = Heavy::NONE;
        for parts in [few, more] {
            heavy = self.heaviest(parts);
            let rest = self.rest(heavy);
            if heavy.mass >= p * (heavy.mass + rest / WRONG) {
                self.total = Some(self.total_for_nucleus(p, heavy.mass, rest));
                if self.keep_mass_of(heavy, p, min_keep) {
                    return;
                }
            }
            if heavy.mass <= STEEP * (heavy.mass + rest) {
                break;
            }
        }
        if !self.keep_flat(p, min_keep, heavy) {
            self.keep_mass_by(&[most], p, min_keep);
        }
    }

    /// [`Self::keep_mass`] by the scores that so many blocks' maxima bring out, or else by all.
    fn keep_mass_by(&mut self, parts: &[usize], p: f64, min_keep: usize) {
        self.total();
        for &parts in parts {
            let heavy = self.heaviest(parts);
            if self.keep_mass_of(heavy, p, min_keep) {
                return;
            }
        }
        let heavy = self.heaviest(self.places());
        // Rounding may leave the sum of all just below: then nothing is cut.
        let rank = self.rank_of_mass(p, heavy.mass).unwrap_or(heavy.count);
        self.keep_best(rank.max(min_keep));
    }

    /// The same by what was gathered last; `false`, and nothing is cut, if that does not have the mass.
    fn keep_mass_of(&mut self, heavy: Heavy, p: f64, min_keep: usize) -> bool {
        let rank = self.rank_of_mass(p, heavy.mass);
        if let Some(rank) = rank {
            self.keep_best(rank.max(min_keep));
        }
        rank.is_some()
    }

    /// The mass of all but what was gathered, by a sample unless the total is known.
    fn rest(&mut self, heavy: Heavy) -> f64 {
        self.total.map_or_else(|| self.sampled_mass(heavy.bound), |total| total.sum - heavy.mass)
    }

    /// Gathers what is at least as large as the maxima of so many blocks, but not the many that equal the last of those; all, if
    /// there are not so many blocks. Leaves keys with weights, those of scores that were shifted if the total is of such.
    pub(super) fn heaviest(&mut self, parts: usize) -> Heavy {
        let bound = if parts <= self.scratch.blocks.len() {
            let bound = self.block_bound(parts);
            self.raised(bound, parts).without_ties()
        } else {
            f32::MIN
        };
        let count = self.gather(bound);
        self.weigh_gathered(count, self.total.and_then(|total| total.shift));
        let Scratch { values, floats, keys, .. } = &mut *self.scratch;
        fill_keys(keys, &values[..count], &floats[..count]);
        Heavy { bound, mass: spread_sum(&floats[..count]), count }
    }

    /// The total for a nucleus, of what was gathered last and the rest, whose mass a sample tells. Estimates do if the last
    /// of the nucleus weighs much more than their error.
    fn total_for_nucleus(&mut self, p: f64, heavy: f64, rest: f64) -> Total {
        if let Some(total) = self.total {
            return total;
        }
        if let Some(edge) = halved(&mut self.scratch.keys, 0.0, p * (heavy + rest)) {
            let error = (edge.mass - edge.before) / 8.0;
            if ESTIMATE * rest <= error
                && let Some(total) = self.estimated_total(|_| error)
            {
                return total;
            }
        }
        self.sum_noted(Precision::Rough)
    }

    /// How many of the gathered scores, best first, have the mass `p`, all together `mass`; `None` if they do not have it.
    /// Where the precision of the total leaves that in doubt, it becomes better.
    fn rank_of_mass(&mut self, p: f64, mass: f64) -> Option<usize> {
        loop {
            let total = self.total.unwrap_or_else(|| self.total());
            let needed = p * total.sum * MET;
            let error = total.doubt(p * MET, 0.0);
            if mass + error < needed {
                return None;
            }
            let edge = halved(&mut self.scratch.keys, 0.0, needed);
            let certain = edge.as_ref().is_some_and(|edge| !edge.in_doubt(needed, error));
            if certain || total.precision == Precision::Exact {
                return edge.map(|edge| edge.rank);
            }
            // Half of what leaves it in doubt might do.
            let margin = edge.map_or(0.0, |edge| (needed - edge.before).min(edge.mass - needed) / 2.0);
            self.total = Some(match total.precision {
                Precision::Estimated(_) => {
                    self.refine(total, margin).unwrap_or_else(|| self.sum_noted(Precision::Rough))
                }
                _ => self.total(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{SAMPLE, take};
    use super::*;
    use crate::candidates::{Sums, with_workspace};
    use crate::kernels::available;

    /// The ids of the nucleus of a row at the temperature 1, by its definition, ascending.
    #[expect(clippy::disallowed_methods, reason = "what is right comes from elsewhere than what is tested")]
    fn nucleus(row: &[f32], p: f64) -> Vec<usize> {
        let mut order: Vec<_> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
        let weights: Vec<_> = order.iter().map(|&id| f64::from(row[id]).exp()).collect();
        let needed = p * weights.iter().sum::<f64>();
        let mut mass = 0.0;
        let last = weights.into_iter().position(|weight| {
            mass += weight;
            mass >= needed
        });
        order.truncate(last.expect("all have the mass") + 1);
        order.sort_unstable();
        order
    }

    /// All that a sample looks at is in the upper half of the others.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places, which came as scores")]
    fn a_sample_that_misleads_twice_misleads_no_cut() {
        let places: Vec<f32> = (0..60_000_u16).map(f32::from).collect();
        for kernels in available() {
            let mut sample = vec![0.0; SAMPLE];
            take(kernels, (&places).into(), &mut sample);
            let mut row: Vec<f32> =
                (0..60_000_u32).map(|at| f32::from(u16::try_from(at * 40_503 % 8_191).unwrap()) / 8_191.0).collect();
            for at in sample {
                let score = &mut row[at as usize];
                *score = score.midpoint(1.0);
            }
            with_workspace(|workspace| {
                let mut candidates =
                    Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                assert!(!candidates.keep_flat(0.5, 1, Heavy::NONE));
                let heavy = candidates.heaviest(FEW_BLOCKS);
                assert!(!candidates.keep_flat(0.5, 1, heavy));
                candidates.total = None;
                candidates.keep_mass(0.5, 1);
                let left: Vec<_> = candidates.list().into_iter().map(|(id, _)| id as usize).collect();
                assert!(left == nucleus(&row, 0.5), "{} left", left.len());
            });
        }
    }

    /// Of a row in order the best blocks are not gathered whole.
    #[test]
    fn the_heaviest_are_few_where_they_stand_side_by_side() {
        let row: Vec<f32> = (0..60_000_u16).map(|at| f32::from(at) / 1_000.0).collect();
        for kernels in available() {
            with_workspace(|workspace| {
                let mut candidates =
                    Candidates::new(kernels, (&row).into(), workspace, Sums::None).expect("good scores");
                let heavy = candidates.heaviest(FEW_BLOCKS);
                assert!((FEW_BLOCKS..=4 * FEW_BLOCKS).contains(&heavy.count), "{} gathered", heavy.count);
            });
        }
    }
}
