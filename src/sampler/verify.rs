//! Speculative decoding: which tokens of a draft stand, and the one after.
//!
//! A chain of drafted tokens is walked as if there were no draft: every position has the history, the mask, the memory and
//! the coins that it would have had. Without the draft's scores the token of a position is drawn, and the draft's stands if
//! it is the same: the output is, to the bit, that of a sampler without a draft. With them the draft's token is put to the
//! test of speculative sampling (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv 2302.01318), which keeps it more
//! often: the output has the same distribution, with other coins.

use super::{Decision, Sampler};
use crate::candidates::{Candidates, Sums, with_workspace};
use crate::error::{Error, bad_score};
use crate::rng::Purpose;
use crate::scores::Scores;

impl Sampler {
    /// The tokens of `draft` that stand, and the one after; they join the history.
    ///
    /// `rows` are the scores before each token of the draft and after the last, `masks` the packed masks for them.
    ///
    /// Without `draft_logits` the token of every position is the one that [`Self::sample`] would draw, up to the first that
    /// is not the draft's. With them, the token `d` of the draft stands if a coin is below `p(d) / q(d)`; the first that does
    /// not is replaced by one drawn from `max(0, p - q)`. `p` are the probabilities after all stages; `q` is the softmax of
    /// the row of `draft_logits`, which must be what `d` was drawn from: with the draft's temperature and cuts, as
    /// [`Self::process`] writes them. Then the token follows `p`, whatever `q` is.
    ///
    /// Rows after the last token that is returned are not looked at.
    ///
    /// ```
    /// use sortition::{Params, Sampler};
    /// let greedy = Params { temperature: 0.0, ..Params::default() };
    /// let mut sampler = Sampler::new(greedy, &[], None, &[], 0)?;
    /// let rows: [&[f32]; 3] = [&[0.0, 1.0], &[1.0, 0.0], &[0.0, 1.0]];
    /// assert_eq!(vec![1, 0], sampler.verify(&rows, &[1, 1], None, None)?);
    /// assert_eq!(&[1, 0], sampler.output());
    /// # Ok::<(), sortition::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Self::sample`], with the row; [`Error::Range`] when rows, masks or scores of the draft are too few or too many;
    /// [`Error::UnknownToken`] for a token of the draft that the vocabulary lacks; [`Error::Draft`] for scores of the draft
    /// that are not finite or -inf, are not as many as the row's, or leave its token no chance. The sampler is as it was.
    pub fn verify<'a, R: Into<Scores<'a>> + Copy>(
        &mut self,
        rows: &[R],
        draft: &[u32],
        draft_logits: Option<&[R]>,
        masks: Option<&[&[u32]]>,
    ) -> Result<Vec<u32>, Error> {
        let length = draft.len();
        agree("rows", "one more than draft has tokens", rows.len(), length + 1, length)?;
        agree(
            "draft_logits",
            "a row for each token of draft",
            draft_logits.map_or(length, <[_]>::len),
            length,
            length,
        )?;
        agree("mask", "a row for each of rows", masks.map_or(length + 1, <[_]>::len), length + 1, length)?;
        let scores = |rows: &[R]| rows.iter().map(|&row| row.into()).collect();
        let (rows, draft_logits): (Vec<Scores<'a>>, Option<Vec<Scores<'a>>>) = (scores(rows), draft_logits.map(scores));
        for (&row, &id) in rows.iter().zip(draft) {
            let vocab = self.vocabulary(row)?.len();
            if id as usize >= vocab {
                return Err(Error::UnknownToken { row: None, name: "draft", id, vocab });
            }
        }
        let before = self.output().len();
        let tokens = self.follow(&rows, draft, draft_logits.as_deref(), masks);
        if tokens.is_err() {
            self.rollback(self.output().len() - before)?;
        }
        tokens
    }

    /// Records token after token, up to the first that is not the draft's, or to an error.
    fn follow(
        &mut self,
        rows: &[Scores<'_>],
        draft: &[u32],
        draft_logits: Option<&[Scores<'_>]>,
        masks: Option<&[&[u32]]>,
    ) -> Result<Vec<u32>, Error> {
        let mut tokens = Vec::with_capacity(rows.len());
        for (at, &row) in rows.iter().enumerate() {
            let mask = masks.map(|masks| masks[at]);
            let drafted = draft.get(at).copied();
            let result = match drafted.zip(draft_logits) {
                Some((drafted, logits)) => self.judge(row, mask, drafted, logits[at]),
                None => self.decide(row, mask),
            };
            let decision = result.map_err(|error| error.in_row(at))?;
            self.record(&decision);
            tokens.push(decision.token);
            if drafted != Some(decision.token) {
                break;
            }
        }
        Ok(tokens)
    }

    /// The token of the draft, drawn from its `logits`, or the one in its place; as [`Self::decide`].
    fn judge(
        &mut self,
        row: Scores<'_>,
        mask: Option<&[u32]>,
        drafted: u32,
        logits: Scores<'_>,
    ) -> Result<Decision<()>, Error> {
        let vocab = self.vocabulary(row)?.len();
        if logits.len() < vocab || (self.vocab_size.is_none() && logits.len() > vocab) {
            let what = match self.vocab_size {
                Some(size) => format!("a row must have at least {size} scores (vocab_size), got {}", logits.len()),
                None => format!("a row must have {} scores, as each of rows has, got {}", row.len(), logits.len()),
            };
            return Err(Error::Draft { row: None, token: None, what });
        }
        let address = self.address(self.stream);
        let policy = self.plan.policy;
        with_workspace(|workspace| {
            let mut draft = Candidates::new(self.kernels, logits.slice(0..vocab), workspace, Sums::Exact(1.0))
                .map_err(|error| match error {
                    Error::BadScore { token, value, .. } => {
                        let what = format!("token {token} has {}", bad_score(value));
                        Error::Draft { row: None, token: Some(token), what }
                    }
                    other => other,
                })?;
            if draft.score(drafted) == f32::NEG_INFINITY {
                let what = format!("token {drafted} of draft has the score -inf: it was not drawn from these");
                return Err(Error::Draft { row: None, token: Some(drafted as usize), what });
            }
            let q = draft.probability(drafted);
            self.run(row, mask, None, |candidates| {
                let stands = address.coin(Purpose::Accept) * q < candidates.probability(drafted);
                let token =
                    if stands { drafted } else { candidates.draw_excess(&mut draft, address.coin(Purpose::Residual)) };
                let counted = policy.map_or(0.0, |policy| policy.logprob(candidates, token));
                Decision { token, said: (), counted }
            })
        })
    }
}

/// Holds a number of rows to the draft.
fn agree(name: &'static str, range: &'static str, got: usize, expected: usize, draft: usize) -> Result<(), Error> {
    if got == expected {
        return Ok(());
    }
    Err(Error::Range { name, range, value: format!("{got} for a draft of {draft}") })
}
