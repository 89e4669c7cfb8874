//! The nucleus: the shortest prefix of a given mass, found without sorting the vocabulary.
//!
//! The total is known from the blocks' sums. Most of it usually lies in few tokens: a bound by block maxima brings them
//! out, they are sorted, and if they hold the mass the cut is found.
//!
//! If they do not, the row is flat, and the cut is bracketed (as in selection by Floyd and Rivest, with weights): a sample of
//! about two thousand scores, sorted, tells between which two scores the mass is reached. One pass sums the weights above and
//! takes out the scores between, a tenth of the row, where the same is done again, until little is left to sort. Should the
//! sample have misled, all is halved by selection, each time towards the half in which the mass is reached.

use super::cuts::{MET, SPARE, ascending, descending};
use super::mass::{Total, join};
use super::{BLOCK, Candidates, LANES, Scratch, grow, scores};
use crate::kernels::{Base, Block, Kernels};
use crate::scores::Scores;

/// So many scores are sorted at once.
const FEW: usize = 2048;

/// So many scores are taken as a sample.
const SAMPLE: usize = 2048;

/// So many parts have a maximum above the first bound.
const FEW_PARTS: usize = 32;

/// The scores of at least `bound`, known not to be enough, and their weight.
struct Heavy {
    bound: f32,
    mass: f64,
}

/// A prefix in order of score: all above `threshold`, and the first `ties` that equal it.
struct Prefix {
    threshold: f32,
    ties: usize,
    /// How many gathered values were inside the bracket.
    inside: usize,
    edge: Edge,
}

/// Where a mass is reached.
struct Edge {
    /// How many keys it takes.
    rank: usize,
    /// Their mass, without and with the last of them.
    before: f64,
    mass: f64,
}

impl Edge {
    /// Whether it might be another one if what is needed were wrong by `error`.
    fn in_doubt(&self, needed: f64, error: f64) -> bool {
        error > 0.0 && (needed - self.before <= error || self.mass - needed <= error)
    }
}

impl Candidates<'_> {
    /// Keeps the shortest prefix, best first, whose probability is at least `p`, but no fewer than the `min_keep` best.
    /// `p` is in (0, 1); there must be a candidate.
    pub(crate) fn keep_mass(&mut self, p: f64, min_keep: usize) {
        self.carry_out();
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
        let (half, many) = (blocks / 2, blocks * LANES / SPARE);
        // Where the best few hold less than this share, some more do not hold it all.
        let worth = if half > FEW_PARTS { 0.1 } else { f64::INFINITY };
        let mut heavy = Heavy { bound: f32::INFINITY, mass: 0.0 };
        for (parts, share) in [(FEW_PARTS, 0.0), (half, worth), (many, 0.5), (length, 0.0)] {
            if heavy.mass < needed * share {
                continue;
            }
            let whole = parts == length || length <= FEW;
            if whole
                && length > FEW
                && total.shift == 0.0
                && let Some(prefix) = self.bracketed(total.sum, needed, &heavy)
            {
                if !self.stands(&prefix.edge, needed, total, p) {
                    // The blocks' sums are those of the bracket now.
                    self.total = None;
                    return false;
                }
                self.keep_flat(&prefix, total, min_keep);
                return true;
            }
            let bound = match parts {
                _ if whole => f32::MIN,
                _ if parts == half => self.block_bound(parts),
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
        // Not in the blocks: their sums may be those of a bracket.
        let inner = &mut self.scratch.inner;
        inner.resize(self.scratch.blocks.len(), Block::default());
        self.kernels.mass(scores, base, inner);
        let needed = p * join(self.kernels, base, self.max, inner).sum * MET;
        edge.before < needed && needed <= edge.mass
    }

    /// Finds the prefix of a flat row by bracketing; leaves the sums of what is above the bracket in the blocks, and what is
    /// inside in the gathered values. `None` when a sample misled.
    fn bracketed(&mut self, total: f64, needed: f64, heavy: &Heavy) -> Option<Prefix> {
        let base = Base::new(self.temperature);
        let row = scores(self.input, self.store, self.view);
        let mut search = Search { kernels: self.kernels, base, max: self.max };
        let Scratch { blocks, inner, values, indices, floats, shifted, narrowed, places, keys, .. } =
            &mut *self.scratch;

        let range = search.range(row, heavy.bound, (needed - heavy.mass) / (total - heavy.mass), keys);
        let inside = search.bracket(row, range, blocks, values, indices);
        let above = sum(blocks);
        if above >= needed {
            return None;
        }
        // What is inside the bracket holds the cut. While that is still too much, once more.
        let (mut better, mut count) = (above, inside);
        // These two change places with every bracket.
        for buffer in [&mut *shifted, &mut *narrowed] {
            grow(buffer, inside + LANES);
        }
        shifted.clear();
        shifted.extend_from_slice(&values[..inside]);
        while count > 2 * FEW {
            let left = &shifted[..count];
            inner.resize(count.div_ceil(BLOCK), Block::default());
            inner.fill(Block { max: f32::INFINITY, ..Block::default() });
            self.kernels.mass_from(left, base, self.max, f32::MIN, inner);
            let range = search.range(left.into(), f32::INFINITY, (needed - better) / sum(inner), keys);
            let narrower = search.bracket(left.into(), range, inner, narrowed, places);
            better += sum(inner);
            if better >= needed {
                return None;
            }
            let stuck = narrower > count / 2;
            count = narrower;
            std::mem::swap(shifted, narrowed);
            if stuck {
                break;
            }
        }
        let left = &shifted[..count];
        search.weigh(left, floats);
        fill_keys(keys, left, &floats[..left.len()]);
        let edge = halved(keys, better, needed)?;
        let last = keys[..edge.rank].iter().max()? >> 32;
        let ties = keys[..edge.rank].iter().filter(|&&key| key >> 32 == last).count();
        let threshold = *left.iter().find(|&&x| u64::from(descending(x)) == last)?;
        Some(Prefix { threshold, ties, inside, edge })
    }

    /// Carries out the cut that [`Self::bracketed`] found. If it leaves all that equal the threshold, it is only noted, and the
    /// blocks' sums are completed from inside the bracket.
    fn keep_flat(&mut self, prefix: &Prefix, total: Total, min_keep: usize) {
        let &Prefix { threshold, ties, inside, .. } = prefix;
        let Scratch { blocks, values, indices, floats, places, .. } = &mut *self.scratch;
        let values = &values[..inside];
        let surplus = values.iter().filter(|&&x| x == threshold).count() - ties;
        if min_keep > 1 {
            let scores = scores(self.input, self.store, self.view);
            if self.kernels.count(scores, threshold) - surplus < min_keep {
                return self.keep_best(min_keep);
            }
        }
        if surplus > 0 {
            let count = self.gather(threshold);
            self.adopt(count);
            return self.keep_prefix(threshold, ties);
        }
        let search = Search { kernels: self.kernels, base: Base::new(self.temperature), max: self.max };
        search.weigh(values, floats);
        for (weight, &x) in floats.iter_mut().zip(values) {
            *weight = if x >= threshold { *weight } else { 0.0 };
        }
        // Where each block's scores end among those inside: the last to write it is right, and no branch is to be foreseen.
        places.clear();
        places.resize(blocks.len(), 0);
        for (&place, end) in indices[..inside].iter().zip(1..) {
            places[place as usize / BLOCK] = end;
        }
        let mut from = 0;
        for (block, &end) in blocks.iter_mut().zip(&*places) {
            let run = from..from.max(end as usize);
            from = run.end;
            block.sum += spread_sum(&floats[run]);
        }
        self.floor = threshold;
        self.total = Some(Total { sum: sum(blocks), error: 0.0, ..total });
    }
}

/// How the scores of a row are weighed while the cut is looked for.
struct Search {
    kernels: &'static Kernels,
    base: Base,
    max: f32,
}

impl Search {
    fn weigh(&self, xs: &[f32], out: &mut Vec<f32>) {
        grow(out, xs.len());
        self.kernels.weights(xs, self.base, self.max, &mut out[..xs.len()]);
    }

    fn bracket(
        &self,
        xs: Scores<'_>,
        range: [f32; 2],
        blocks: &mut [Block],
        values: &mut Vec<f32>,
        indices: &mut Vec<u32>,
    ) -> usize {
        grow(values, xs.len() + LANES);
        grow(indices, xs.len() + LANES);
        self.kernels.bracket(xs, self.base, self.max, range, blocks, values, indices)
    }

    /// Two scores, the lower one first, between which the share `part` of the weight of all scores below `bound` is very
    /// likely reached.
    fn range(&mut self, xs: Scores<'_>, bound: f32, part: f64, keys: &mut Vec<u64>) -> [f32; 2] {
        // Places by the golden ratio: spread evenly, and in step with no pattern of the row.
        let mut sample = [0.0; SAMPLE];
        for (x, i) in sample.iter_mut().zip(0_u64..) {
            let spread = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let place = ((spread * xs.len() as u64) >> 32) as usize;
            *x = xs.get(place).filter(|&x| x < bound).unwrap_or(f32::NEG_INFINITY);
        }
        let mut weights = [0.0; SAMPLE];
        self.kernels.weights(&sample, self.base, self.max, &mut weights);
        fill_keys(keys, &sample, &weights);
        keys.sort_unstable();
        let (mut sum, mut squares) = (0.0, 0.0);
        for w in weights.iter().copied().map(f64::from) {
            sum += w;
            squares += w * w;
        }
        // Three and a half standard errors of a share estimated from a weighted sample.
        let error = 3.5 * (part * (1.0 - part) * squares).sqrt();
        let score_at = |mass: f64| prefix(keys, 0.0, mass).map(|edge| score(keys[edge.rank - 1]));
        let high = if part * sum > error { score_at(part * sum - error) } else { None };
        let low = score_at(part * sum + error);
        [low.unwrap_or(f32::MIN), high.map_or(f32::INFINITY, f32::next_up)]
    }
}

/// The sum, by four accumulators in turn: one alone waits for itself.
fn spread_sum(weights: &[f32]) -> f64 {
    let (quads, rest) = weights.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for quad in quads {
        for (sum, &weight) in sums.iter_mut().zip(quad) {
            *sum += f64::from(weight);
        }
    }
    let [a, b, c, d] = sums;
    ((a + b) + (c + d)) + rest.iter().copied().map(f64::from).sum::<f64>()
}

fn sum(blocks: &[Block]) -> f64 {
    blocks.iter().map(|block| block.sum).sum()
}

/// Keys that sort by score, best first, and carry the weight. Equal scores have equal weights, so their order is no matter.
fn fill_keys(keys: &mut Vec<u64>, scores: &[f32], weights: &[f32]) {
    keys.clear();
    let pairs = scores.iter().zip(weights);
    keys.extend(pairs.map(|(&x, weight)| u64::from(descending(x)) << 32 | u64::from(weight.to_bits())));
}

/// The weight that a key carries.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is the weight")]
fn weight(key: u64) -> f64 {
    f64::from(f32::from_bits(key as u32))
}

/// The score of a key.
fn score(key: u64) -> f32 {
    ascending((key >> 32) as u32)
}

/// Where `sum` reaches `needed` as the keys are added to it in order; `None` if it does not.
fn prefix(keys: &[u64], sum: f64, needed: f64) -> Option<Edge> {
    let mut mass = sum;
    for (at, &key) in keys.iter().enumerate() {
        let before = mass;
        mass += weight(key);
        if mass >= needed {
            return Some(Edge { rank: at + 1, before, mass });
        }
    }
    None
}

/// Where `sum` reaches `needed` as the keys are added, best first; those that it takes are then in front.
fn halved(keys: &mut [u64], mut sum: f64, needed: f64) -> Option<Edge> {
    let (mut rest, mut rank) = (keys, 0);
    while rest.len() > 64 {
        let middle = rest.len() / 2;
        rest.select_nth_unstable(middle);
        let (better, worse) = rest.split_at_mut(middle);
        let mass: f64 = better.iter().copied().map(weight).sum();
        if sum + mass >= needed {
            rest = better;
        } else {
            sum += mass;
            rank += middle;
            rest = worse;
        }
    }
    rest.sort_unstable();
    prefix(rest, sum, needed).map(|edge| Edge { rank: rank + edge.rank, ..edge })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_its_score_and_weight_back() {
        let xs = [f32::MAX, 1.0, f32::from_bits(1), 0.0, -f32::from_bits(1), -1.0, f32::MIN];
        let mut keys = Vec::new();
        fill_keys(&mut keys, &xs, &[0.5; 7]);
        assert!(keys.is_sorted());
        assert_eq!(xs.to_vec(), keys.iter().copied().map(score).collect::<Vec<_>>());
        assert!(keys.iter().all(|&key| weight(key) == 0.5));
    }
}
