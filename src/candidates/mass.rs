//! Weights of the candidates: their sum, the draw, log-probabilities, entropy.

use super::floor::Floor;
use super::{BLOCK, Candidates, Scratch, Sums, View, Workspace, grow, scores};
use crate::error::Error;
use crate::kernels::{Base, Block, Kernels, ROUGH, split};
use crate::scores::Scores;

/// The sum of all weights, of scores from which `shift` was taken first if there is one, and the largest of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Total {
    pub(super) sum: f64,
    pub(super) largest: f64,
    pub(super) shift: Option<f32>,
    pub(super) precision: Precision,
    /// The power of two that weights are relative to.
    pub(super) exponent: i32,
}

/// How right a total is, and the blocks' sums that it is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Precision {
    Exact,
    /// Every block within [`ROUGH`], relative.
    Rough,
    /// Some blocks are estimates; all errors together are at most this.
    Estimated(f64),
}

impl Precision {
    /// Some blocks are estimates, and their errors not added up.
    pub(super) const UNKNOWN: Self = Self::Estimated(f64::INFINITY);
}

impl Total {
    /// By how much `share · sum - before` may be wrong, where `before` is the sum of some of the blocks, or of nothing. What
    /// is before enters both terms, with one error.
    pub(super) fn doubt(self, share: f64, before: f64) -> f64 {
        match self.precision {
            Precision::Exact => 0.0,
            Precision::Rough => ROUGH * (share * (self.sum - before) + (1.0 - share) * before) + self.rounding(),
            Precision::Estimated(error) => error * share.max(1.0 - share) + self.rounding(),
        }
    }

    /// By how much sums in `f64` may miss each other. Each addition is wrong by at most 2^-53 of what is added up, so two sums
    /// of up to 2^22 numbers, such as all weights of a vocabulary one by one, differ by no more than 2 · 2^22 · 2^-53 of it.
    /// That [`ROUGH`] is relative to the other of the two sums is 2^-44 of it.
    pub(super) fn rounding(self) -> f64 {
        self.sum / 1_073_741_824.0
    }

    /// The logarithm of the sum relative to the largest weight: zero exactly when nothing else weighs anything, as the error
    /// of that weight is in both.
    pub(super) fn log(self) -> f64 {
        crate::math::ln(self.sum / self.largest)
    }
}

/// Makes the blocks' sums, which have this `precision`, relative to one power of two, that of the largest weight, and adds them
/// up in order. `max` is the largest score.
pub(super) fn join(kernels: &Kernels, base: Base, max: f32, blocks: &mut [Block], precision: Precision) -> Total {
    let mut largest = [0.0];
    kernels.weights(&[max], base, max, &mut largest);
    let exponent = base.exponent(max);
    let mut sum = 0.0;
    for block in blocks.iter_mut().filter(|block| block.sum > 0.0) {
        block.sum *= power(block.exponent - exponent);
        sum += block.sum;
    }
    Total { sum, largest: largest[0].into(), shift: None, precision, exponent }
}

/// Writes the probabilities of a row that is not empty, at a temperature above zero.
///
/// # Errors
///
/// As [`Candidates::new`], and [`Error::NoCandidate`]; `out` is then partly written.
pub(crate) fn probabilities(
    kernels: &'static Kernels,
    row: Scores<'_>,
    workspace: &mut Workspace,
    temperature: f64,
    out: &mut [f32],
) -> Result<(), Error> {
    let base = Base::new(temperature);
    let blocks = &mut workspace.scratch.blocks;
    blocks.resize(row.len().div_ceil(BLOCK), Block::default());
    let nan = kernels.mass_out(row, base, blocks, out);
    let max = super::checked_max(row, blocks, nan)?;
    if max == f32::NEG_INFINITY {
        return Err(Error::NoCandidate { row: None, stage: None });
    }
    if !base.covers(max) {
        let mut candidates = Candidates::new(kernels, row, workspace, Sums::None)?;
        candidates.set_temperature(temperature);
        let total = candidates.total();
        kernels.weights(&candidates.scratch.shifted, base, 0.0, out);
        (kernels.multiply)(out, split(1.0 / total.sum));
        return Ok(());
    }
    let total = join(kernels, base, max, blocks, Precision::Rough);
    let mut rest = out;
    for blocks in blocks.chunk_by(|a, b| a.exponent == b.exponent) {
        let (out, after) = rest.split_at_mut(rest.len().min(blocks.len() * BLOCK));
        (kernels.multiply)(out, split(power(blocks[0].exponent - total.exponent) / total.sum));
        rest = after;
    }
    Ok(())
}

/// `2^n`, exact, for `n <= 0`; zero below the range of normal numbers. Above, where no weight is, one.
pub(super) fn power(n: i32) -> f64 {
    u64::try_from(n.min(0) + 1023).map_or(0.0, |biased| f64::from_bits(biased << 52))
}

impl Candidates<'_> {
    /// The sum of all weights for a draw: as it is known, or else as is quick. There must be a candidate.
    fn total_for_draw(&mut self) -> Total {
        let base = Base::new(self.temperature);
        match self.total {
            Some(total) => total,
            None if !base.covers(self.max) => self.total(),
            None => {
                self.whole();
                let total = self.quick_total();
                self.total = Some(total);
                total
            }
        }
    }

    /// The sum of all weights, exact, computed when it is not known yet. There must be a candidate.
    pub(super) fn total(&mut self) -> Total {
        if let Some(total) = self.total
            && total.precision == Precision::Exact
        {
            return total;
        }
        let base = Base::new(self.temperature);
        if !base.covers(self.max) {
            self.carry_out();
        }
        self.whole();
        let total = if base.covers(self.max) {
            self.sum_noted(Precision::Exact)
        } else {
            let scores = scores(self.input, self.store, self.view);
            let Scratch { blocks, shifted, .. } = &mut *self.scratch;
            // The digits of x · c that matter would be lost. Rows like this are rare: two more passes do not hurt.
            shifted.resize(scores.len(), 0.0);
            self.kernels.shift(scores, self.max, shifted);
            base.lift(shifted);
            self.kernels.mass(&*shifted, base, blocks);
            let total = Total { shift: Some(self.max), ..join(self.kernels, base, 0.0, blocks, Precision::Exact) };
            self.kernels.scan(scores, blocks);
            total
        };
        self.total = Some(total);
        total
    }

    /// The scores that weights are made of, and the largest of them.
    pub(super) fn weighed(&self, total: Total) -> (Scores<'_>, f32) {
        if total.shift.is_none() { (self.scores(), self.max) } else { (Scores::F32(&self.scratch.shifted), 0.0) }
    }

    /// The first token in id order whose cumulative weight exceeds `coin · total`; `coin` in `[0, 1)`,
    /// which is only tossed where there is a choice.
    ///
    /// A total that is not exact finds it as well, unless the target is so near to the edge of a token that the error might
    /// matter.
    pub(crate) fn draw(&mut self, coin: impl FnOnce() -> f64) -> u32 {
        if let View::List(1) = self.view {
            return self.id(0);
        }
        let coin = coin();
        let quick = self.total_for_draw();
        let place = self.place(quick, coin).or_else(|| {
            let exact = self.total();
            self.place(exact, coin)
        });
        self.id(place.unwrap_or(0))
    }

    /// The place that [`Self::draw`] looks for; `None` when the error of `total` leaves it in doubt.
    fn place(&self, total: Total, coin: f64) -> Option<usize> {
        let target = coin * total.sum;
        let mut before = 0.0;
        let blocks = &self.scratch.blocks;
        // Rounding can leave the last sum at the target: then it is the last block that weighs anything.
        let mut chosen = blocks.iter().rposition(|block| block.sum > 0.0).unwrap_or(0);
        for (i, block) in blocks[..chosen].iter().enumerate() {
            if before + block.sum > target {
                chosen = i;
                break;
            }
            before += block.sum;
        }
        let (scores, max) = self.weighed(total);
        let start = chosen * BLOCK;
        let block = scores.slice(start..scores.len().min(start + BLOCK));
        let mut weights = [0.0; BLOCK];
        let weights = &mut weights[..block.len()];
        self.kernels.weights(block, Base::new(self.temperature), max, weights);
        if self.floor != Floor::NONE {
            // By a product: which of them are gone could not be foreseen.
            block.for_each(|at, x| weights[at] *= f32::from(x >= self.floor.at(start + at)));
        }
        exceeds(weights, target - before, total.doubt(coin, before)).map(|place| start + place)
    }

    /// The natural logarithm of the probability of a token with the score `x`; there must be a candidate.
    pub(crate) fn logprob(&mut self, x: f32) -> f64 {
        if x == f32::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        let total = self.total();
        (f64::from(x) - f64::from(self.max)) / self.temperature - total.log()
    }

    /// The natural logarithm of the sum of `exp(x / T)`.
    pub(crate) fn log_sum_exp(&mut self) -> f64 {
        f64::from(self.max) / self.temperature + self.total().log()
    }

    /// The entropy in nats.
    pub(crate) fn entropy(&mut self) -> f64 {
        let mean = self.mean();
        (self.total().log() - mean / self.temperature).max(0.0)
    }

    /// The mean of all scores, each counted by its probability, relative to the largest.
    pub(super) fn mean(&mut self) -> f64 {
        self.carry_out();
        let total = self.total();
        let base = Base::new(self.temperature);
        if total.shift.is_none() {
            return self.kernels.moment(self.scores(), base, self.max) / total.sum;
        }
        // By the scores as they came: shifted, a small one may have lost its last digit.
        let scores = scores(self.input, self.store, self.view);
        let Scratch { shifted, floats: weights, .. } = &mut *self.scratch;
        grow(weights, scores.len());
        self.kernels.weights(&*shifted, base, 0.0, &mut weights[..scores.len()]);
        let max = f64::from(self.max);
        let mut moment = 0.0;
        scores.for_each(|at, x| {
            if weights[at] > 0.0 {
                moment += f64::from(weights[at]) * (f64::from(x) - max);
            }
        });
        moment / total.sum
    }

    /// Writes the weights of the first `count` gathered scores into the scratch floats; they add up with the sum of a
    /// [`Total`] of this `shift`.
    pub(super) fn weigh_gathered(&mut self, count: usize, shift: Option<f32>) {
        let base = Base::new(self.temperature);
        let max = self.max;
        let Scratch { values, floats, shifted, .. } = &mut *self.scratch;
        grow(floats, count);
        if let Some(shift) = shift {
            // In the shifted scores the gathered ones have other values: shift those as well, behind the row's.
            let at = shifted.len();
            shifted.resize(at + count, 0.0);
            self.kernels.shift(&values[..count], shift, &mut shifted[at..]);
            base.lift(&mut shifted[at..]);
            self.kernels.weights(&shifted[at..], base, 0.0, &mut floats[..count]);
            shifted.truncate(at);
        } else {
            self.kernels.weights(&values[..count], base, max, &mut floats[..count]);
        }
    }
}

/// The first place whose cumulative weight exceeds `target`, or else the last that weighs anything; `None` when that changes
/// with the target by less than `doubt`.
fn exceeds(weights: &[f32], target: f64, doubt: f64) -> Option<usize> {
    let mut sum = 0.0;
    for (place, &weight) in weights.iter().enumerate() {
        let before = sum;
        sum += f64::from(weight);
        if sum > target {
            let certain = doubt == 0.0 || (target - before >= doubt && sum - target > doubt);
            return certain.then_some(place);
        }
    }
    if doubt > 0.0 { None } else { weights.iter().rposition(|&weight| weight > 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::edge::spread_sum;

    /// Whichever way the sums of some blocks and of all others err, within their precision.
    #[test]
    fn doubt_is_the_worst_that_errors_can_do() {
        for (share, before) in [0.0, 0.2, 0.7, 1.0].into_iter().flat_map(|share| [0.0, 0.3, 0.9].map(|b| (share, b))) {
            let worst = |precision, errors: &[[f64; 2]]| {
                let total = Total { sum: 1.0, largest: 1.0, shift: None, precision, exponent: 0 };
                let wrong = errors.iter().map(|[before, others]| (share * (before + others) - before).abs());
                let (wrong, doubt) = (wrong.fold(0.0, f64::max), total.doubt(share, before));
                assert!(
                    wrong <= doubt && doubt <= wrong + 1.01 * total.rounding(),
                    "{wrong} for {doubt}: {precision:?}"
                );
            };
            let (a, b) = (ROUGH * before, ROUGH * (1.0 - before));
            worst(Precision::Rough, &[[a, b], [a, -b]]);
            worst(Precision::Estimated(1e-3), &[[1e-3, 0.0], [0.0, 1e-3]]);
        }
    }

    /// The weights are right, and so is the total, but for the order in which they were added up.
    #[test]
    fn doubt_is_no_less_than_the_order_of_a_sum_can_do() {
        let weights: Vec<f32> = (1..60_000_u16).map(|at| 1.0 / f32::from(at) / f32::from(at)).collect();
        let one_by_one: f64 = weights.iter().copied().map(f64::from).sum();
        let sum = spread_sum(&weights);
        let total = |precision| Total { sum, largest: 1.0, shift: None, precision, exponent: 0 };
        for precision in [Precision::Rough, Precision::Estimated(0.0)] {
            assert!((0.0..=total(precision).doubt(1.0, sum)).contains(&(one_by_one - sum).abs()));
        }
        assert_ne!(one_by_one, sum);
    }

    #[test]
    fn doubt_is_at_the_edges_of_a_token() {
        let weights = [1.0, 0.0, 2.0];
        for (target, doubt, expected) in [
            (0.0, 0.0, Some(0)),
            (0.99, 0.0, Some(0)),
            (1.0, 0.0, Some(2)),
            (3.0, 0.0, Some(2)),
            (0.5, 0.1, Some(0)),
            (0.05, 0.1, None),
            (0.95, 0.1, None),
            (1.05, 0.1, None),
            (2.95, 0.1, None),
            (3.0, 0.1, None),
        ] {
            assert_eq!(expected, exceeds(&weights, target, doubt), "{target} and {doubt}");
        }
    }
}
