//! Two distributions side by side: the candidates, and the scores that a draft drew its token from.
//!
//! Speculative sampling (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv 2302.01318) takes the draft's token with the
//! chance `p / q`, and else draws from what `p` exceeds `q` by. Where the token came from `q`, what comes out is from `p`.

use super::{Candidates, grow};
use crate::kernels::Base;

impl Candidates<'_> {
    /// The probability of a token: its weight over the sum of all; zero for one that is impossible.
    pub(crate) fn probability(&mut self, id: u32) -> f64 {
        let x = self.score(id);
        if x == f32::NEG_INFINITY {
            return 0.0;
        }
        let total = self.total();
        let (mut x, mut weight) = ([x], [0.0]);
        let base = Base::new(self.temperature);
        if let Some(shift) = total.shift {
            let score = x;
            self.kernels.shift(&score, shift, &mut x);
            base.lift(&mut x);
        }
        let (_, top) = self.weighed(total);
        self.kernels.weights(&x, base, top, &mut weight);
        f64::from(weight[0]) / total.sum
    }

    /// The first token in id order at which the excesses of probabilities over those of `draft` add up to more than `coin`
    /// times all of them. `draft` is of a whole row, as long as the vocabulary. Where nothing exceeds anything, which takes
    /// two equal distributions and the rounding of their sums, it is [`Self::draw`].
    pub(crate) fn draw_excess(&mut self, draft: &mut Candidates<'_>, coin: f64) -> u32 {
        let theirs = draft.weights();
        let (weights, ours) = (std::mem::take(&mut draft.scratch.floats), self.weights());
        let excess = |place: usize| {
            let (p, q) = (self.scratch.floats[place], weights[self.id(place) as usize]);
            (f64::from(p) / ours - f64::from(q) / theirs).max(0.0)
        };
        let places = 0..self.scores().len();
        let target = coin * places.clone().map(excess).sum::<f64>();
        let mut sum = 0.0;
        let mut chosen = None;
        for place in places {
            let more = excess(place);
            sum += more;
            if more > 0.0 {
                chosen = Some(place);
            }
            if sum > target {
                break;
            }
        }
        draft.scratch.floats = weights;
        match chosen {
            Some(place) => self.id(place),
            None => self.draw(|| coin),
        }
    }

    /// Writes the weight of every score into the scratch floats; returns their sum.
    fn weights(&mut self) -> f64 {
        self.carry_out();
        let total = self.total();
        let mut weights = std::mem::take(&mut self.scratch.floats);
        let (scores, top) = self.weighed(total);
        grow(&mut weights, scores.len());
        self.kernels.weights(scores, Base::new(self.temperature), top, &mut weights[..scores.len()]);
        self.scratch.floats = weights;
        total.sum
    }
}
