//! The nucleus: the shortest prefix of a given mass, found without sorting the vocabulary.
//!
//! The total is known from the blocks' sums. Most of it usually lies in few tokens: a bound by block maxima brings them
//! out, they are sorted, and if they hold the mass the cut is found. If they do not, the row is flat, and `bracket` finds it.
//! Should its sample have misled, all is halved by selection, each time towards the half in which the mass is reached.

use super::cuts::{MET, SPARE};
use super::edge::{Edge, FEW, fill_keys, halved, spread_sum};
use super::mass::{Total, join};
use super::{Candidates, LANES, Scratch, scores};
use crate::kernels::{Base, Block};

/// So many blocks have a maximum above the first bound.
const FEW_BLOCKS: usize = 32;

/// The scores of at least `bound`, known not to be enough, and their weight.
struct Heavy {
    bound: f32,
    mass: f64,
}

impl Candidates<'_> {
    /// Keeps the shortest prefix, best first, whose probability is at least `p`, but no fewer than the `min_keep` best.
    /// `p` is in (0, 1); there must be a candidate.
    pub(crate) fn keep_mass(&mut self, p: f64, min_keep: usize) {
        self.carry_out();
        if let Some(bracket) = self.bracket.take()
            && self.keep_bracketed(bracket, p, min_keep)
        {
            return;
        }
        let rough = self.rough_total();
        if !self.keep_mass_of(rough, p, min_keep) {
            let exact = self.total();
            self.keep_mass_of(exact, p, min_keep);
        }
    }

    /// [`Self::keep_mass`] with a `total` that may be rough; changes nothing and returns `false` if its error might matter.
    fn keep_mass_of(&mut self, total: Total, p: f64, min_keep: usize) -> bool {
        let needed = p * total.sum * MET;
        let length = self.scores().len();
        let blocks = self.scratch.blocks.len();
        let few = FEW_BLOCKS.min(blocks);
        let (quarter, half, many) = (blocks / 4, blocks / 2, blocks * LANES / SPARE);
        // Where the best few hold less than this share, some more do not hold it all.
        let worth = |parts, share| if parts > few { share } else { f64::INFINITY };
        let mut heavy = Heavy { bound: f32::INFINITY, mass: 0.0 };
        let steps = [(few, 0.0), (quarter, worth(quarter, 0.8)), (half, worth(half, 0.1)), (many, 0.5), (length, 0.0)];
        for (parts, share) in steps {
            if heavy.mass < needed * share {
                continue;
            }
            let whole = parts == length || length <= FEW;
            if whole && length > FEW && total.shift.is_none() {
                let rest = (needed - heavy.mass) / (total.sum - heavy.mass);
                if self.keep_flat(p, min_keep, heavy.bound, rest) {
                    return true;
                }
            }
            let bound = match parts {
                _ if whole => f32::MIN,
                _ if parts <= blocks => self.block_bound(parts),
                _ => self.bound(parts),
            };
            let count = self.gather(bound);
            self.weigh_gathered(count, total);
            let Scratch { values, floats, keys, .. } = &mut *self.scratch;
            let mass = spread_sum(&floats[..count]);
            if mass >= needed || whole {
                fill_keys(keys, &values[..count], &floats[..count]);
                let edge = halved(keys, 0.0, needed);
                let stands = edge.as_ref().map_or(total.error == 0.0, |edge| self.stands(edge, needed, total, p));
                if !stands {
                    self.total = None;
                    return false;
                }
                // Rounding may leave the sum of all just below: then nothing is cut.
                let rank = edge.map_or(count, |edge| edge.rank);
                self.keep_best(rank.max(min_keep));
                return true;
            }
            heavy = Heavy { bound, mass };
        }
        true
    }

    /// Whether the mass is reached at `edge`, also if `total`, of which it is a share, was only rough: then that is made exact.
    fn stands(&mut self, edge: &Edge, needed: f64, total: Total, p: f64) -> bool {
        if !edge.in_doubt(needed, total.error) {
            return true;
        }
        let base = Base::new(self.temperature);
        let scores = scores(self.input, self.store, self.view);
        let inner = &mut self.scratch.inner;
        inner.resize(self.scratch.blocks.len(), Block::default());
        self.kernels.mass(scores, base, inner);
        let needed = p * join(self.kernels, base, self.max, inner).sum * MET;
        edge.before < needed && needed <= edge.mass
    }
}
