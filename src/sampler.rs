//! One sequence: parameters, history, and the coins of its stream.

mod bytes;
mod verify;

use crate::candidates::{Candidates, Sums, with_workspace};
use crate::error::Error;
use crate::history::History;
use crate::kernels::{self, Kernels};
use crate::params::Params;
use crate::rng::{Address, Purpose};
use crate::scores::Scores;
use crate::stage::Stage;
use crate::stages::{self, Memory, Observer, Plan, Policy, Setting};
use crate::trace::Trace;

/// Draws the tokens of one sequence. Holds its history and its buffers, so use one per request and keep it.
///
/// ```
/// use sortition::{Params, Sampler};
/// let params = Params { top_k: Some(2), seed: 7, ..Params::default() };
/// let mut sampler = Sampler::new(params, &[], None, &[], 0)?;
/// let token = sampler.sample(&[1.0, 3.0, 2.0, 0.0], None)?;
/// assert!(token == 1 || token == 2);
/// assert_eq!(&[token], sampler.output());
/// # Ok::<(), sortition::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sampler {
    params: Params,
    plan: Plan,
    history: History,
    /// What the policy remembers before each output and after the last; empty without a policy.
    memories: Vec<Memory>,
    vocab_size: Option<usize>,
    stop_tokens: Vec<u32>,
    stream: u32,
    /// The smallest vocabulary in which all named ids are known to be.
    checked: usize,
    kernels: &'static Kernels,
}

/// A token that was found and is not recorded yet, and what else the row said.
#[derive(Debug)]
pub(crate) struct Decision<T> {
    pub(crate) token: u32,
    pub(crate) said: T,
    /// Its log-probability, if a policy wants to remember that.
    counted: f64,
}

/// A drawn token, and what its row said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// The token.
    pub token: u32,
    /// The logarithm of its probability after all stages.
    pub logprob: f64,
    /// The logarithm of its probability in the scores as they came.
    pub raw_logprob: f64,
    /// One more than the number of tokens with a better score, in the scores as they came.
    pub rank: usize,
    /// The best tokens of the scores as they came, with their `raw_logprob`, best first.
    pub top: Vec<(u32, f64)>,
    /// How many candidates were left.
    pub kept: usize,
    /// What each stage did, of a traced draw.
    pub trace: Option<Trace>,
}

impl Sampler {
    /// A sampler at the beginning of its output.
    ///
    /// Scores beyond `vocab_size` are not looked at. `stop_tokens` are impossible before `params.min_tokens` outputs.
    /// Samplers of one seed and different `stream`s toss different coins.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] for a parameter outside its range, [`Error::UnknownToken`] for an id outside `vocab_size`.
    pub fn new(
        params: Params,
        prompt: &[u32],
        vocab_size: Option<usize>,
        stop_tokens: &[u32],
        stream: u32,
    ) -> Result<Self, Error> {
        params.check()?;
        if vocab_size == Some(0) {
            return Err(Error::Range { name: "vocab_size", range: "at least 1", value: "0".to_owned() });
        }
        let plan = Plan::new(&params);
        let this = Self {
            history: History::new(&params, prompt),
            memories: plan.policy.map_or_else(Vec::new, Policy::memories),
            plan,
            params,
            vocab_size,
            stop_tokens: stop_tokens.to_vec(),
            stream,
            checked: vocab_size.unwrap_or(usize::MAX),
            kernels: kernels::active(),
        };
        vocab_size.map_or(Ok(()), |vocab| this.check_ids(vocab))?;
        Ok(this)
    }

    /// The token for a row of scores; it joins the history. `mask` is packed: bit `t & 31` of word `t >> 5` allows token
    /// `t`.
    ///
    /// # Errors
    ///
    /// [`Error::BadScore`], [`Error::NoCandidate`], [`Error::RowLength`], [`Error::UnknownToken`]. The sampler is as it was.
    pub fn sample<'a>(&mut self, row: impl Into<Scores<'a>>, mask: Option<&[u32]>) -> Result<u32, Error> {
        let decision = self.decide(row.into(), mask)?;
        self.record(&decision);
        Ok(decision.token)
    }

    /// The token that [`Self::sample`] would return with the coins of `stream`; nothing is recorded.
    pub(crate) fn choose(&self, row: Scores<'_>, stream: u32) -> Result<u32, Error> {
        let address = self.address(stream);
        self.with_candidates(row, None, stream, None, |candidates| candidates.draw(|| address.coin(Purpose::Draw)))
    }

    /// The token that [`Self::sample`] returns, before it is recorded.
    pub(crate) fn decide(&mut self, row: Scores<'_>, mask: Option<&[u32]>) -> Result<Decision<()>, Error> {
        let address = self.address(self.stream);
        let policy = self.plan.policy;
        self.run(row, mask, None, |candidates| {
            let token = candidates.draw(|| address.coin(Purpose::Draw));
            let counted = policy.map_or(0.0, |policy| policy.logprob(candidates, token));
            Decision { token, said: (), counted }
        })
    }

    /// Like [`Self::sample`], with log-probabilities and the `top` best tokens of the scores as they came.
    ///
    /// # Errors
    ///
    /// As [`Self::sample`]; and [`Error::Range`] when `top` exceeds the vocabulary.
    pub fn draw<'a>(&mut self, row: impl Into<Scores<'a>>, mask: Option<&[u32]>, top: usize) -> Result<Draw, Error> {
        let decision = self.decide_draw(row.into(), mask, top, None)?;
        self.record(&decision);
        Ok(decision.said)
    }

    /// Like [`Self::draw`], with a record of what each stage did. The token is the same.
    ///
    /// # Errors
    ///
    /// As [`Self::draw`].
    pub fn draw_traced<'a>(
        &mut self,
        row: impl Into<Scores<'a>>,
        mask: Option<&[u32]>,
        top: usize,
    ) -> Result<Draw, Error> {
        let mut trace = Trace::default();
        let decision = self.decide_draw(row.into(), mask, top, Some(&mut trace))?;
        self.record(&decision);
        Ok(Draw { trace: Some(trace), ..decision.said })
    }

    /// What [`Self::draw`] returns, before it is recorded.
    pub(crate) fn decide_draw(
        &mut self,
        row: Scores<'_>,
        mask: Option<&[u32]>,
        top: usize,
        trace: Option<&mut Trace>,
    ) -> Result<Decision<Draw>, Error> {
        let vocab = self.vocabulary(row)?;
        check_top(vocab, top)?;
        let address = self.address(self.stream);
        let policy = self.plan.policy;
        let (token, counted, logprob, kept) = self.run(row, mask, trace, |candidates| {
            let token = candidates.draw(|| address.coin(Purpose::Draw));
            let counted = policy.map_or(0.0, |policy| policy.logprob(candidates, token));
            let score = candidates.score(token);
            (token, counted, candidates.logprob(score), candidates.len())
        })?;
        let raw = vocab.get(token as usize).unwrap_or(f32::NEG_INFINITY);
        with_workspace(|workspace| {
            let mut candidates = Candidates::new(self.kernels, vocab, workspace, Sums::Exact(1.0))?;
            let raw_logprob = candidates.logprob(raw);
            let rank = 1 + self.kernels.count(vocab, raw.next_up());
            let top = candidates.top(top);
            let said = Draw { token, logprob, raw_logprob, rank, top, kept, trace: None };
            Ok(Decision { token, said, counted })
        })
    }

    /// The token joins the history.
    pub(crate) fn record<T>(&mut self, decision: &Decision<T>) {
        self.history.push(decision.token);
        if let (Some(policy), Some(&memory)) = (self.plan.policy, self.memories.last()) {
            self.memories.push(policy.next(memory, decision.counted));
        }
    }

    /// Writes the scores after all stages into `out`, -inf where a token was removed. Nothing is drawn.
    ///
    /// # Errors
    ///
    /// As [`Self::sample`]; and [`Error::RowLength`] when `out` is not as long as `row`.
    pub fn process<'a>(
        &mut self,
        row: impl Into<Scores<'a>>,
        mask: Option<&[u32]>,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let row = row.into();
        row.check_length_of(out)?;
        self.run(row, mask, None, |candidates| stages::write_scaled(candidates, out))
    }

    /// Records a token that was chosen elsewhere. Nothing is known of its probability, so a policy remembers what it did.
    pub fn accept(&mut self, token: u32) {
        self.history.push(token);
        self.memories.extend_from_within(self.memories.len().saturating_sub(1)..);
    }

    /// Takes back the last `n` tokens of the output.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] when there are fewer.
    pub fn rollback(&mut self, n: usize) -> Result<(), Error> {
        let outputs = self.output().len();
        if n > outputs {
            let value = format!("{n} after {outputs} tokens");
            return Err(Error::Range { name: "n", range: "at most the length of the output", value });
        }
        (0..n).for_each(|_| self.history.pop());
        self.memories.truncate(outputs - n + 1);
        Ok(())
    }

    /// `n` samplers in this one's state, on the streams 0 to n - 1.
    #[must_use]
    pub fn fork(&self, n: u32) -> Vec<Self> {
        (0..n).map(|stream| Self { stream, ..self.clone() }).collect()
    }

    /// Back to the beginning of the output.
    pub fn reset(&mut self) {
        self.history = History::new(&self.params, self.history.prompt());
        self.memories.truncate(1);
    }

    /// The stages that the parameters ask for, in the order in which they run. A mask is not among them.
    pub fn plan(&self) -> impl Iterator<Item = Stage> {
        self.setting(None, self.stream, 0).stages()
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The tokens before the output.
    #[must_use]
    pub fn prompt(&self) -> &[u32] {
        self.history.prompt()
    }

    /// The tokens so far.
    #[must_use]
    pub fn output(&self) -> &[u32] {
        self.history.output()
    }

    /// How many tokens so far: where in its stream the next coin is.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.output().len() as u64
    }

    /// The stream of its coins.
    #[must_use]
    pub fn stream(&self) -> u32 {
        self.stream
    }

    /// How many reads of a row take about as long as a token.
    pub(crate) fn effort(&self) -> usize {
        self.plan.effort
    }

    /// Runs every stage on `row` with the coins of this sampler, and hands what is left to `finish`.
    fn run<R>(
        &mut self,
        row: Scores<'_>,
        mask: Option<&[u32]>,
        trace: Option<&mut Trace>,
        finish: impl FnOnce(&mut Candidates<'_>) -> R,
    ) -> Result<R, Error> {
        self.history.look();
        let result = self.with_candidates(row, mask, self.stream, trace, finish);
        // All ids were found in the vocabulary: no row as long needs to be checked again.
        if result.is_ok() {
            self.checked = self.checked.min(self.vocab_size.unwrap_or(row.len()));
        }
        result
    }

    fn with_candidates<R>(
        &self,
        row: Scores<'_>,
        mask: Option<&[u32]>,
        stream: u32,
        trace: Option<&mut Trace>,
        finish: impl FnOnce(&mut Candidates<'_>) -> R,
    ) -> Result<R, Error> {
        let vocab = self.vocabulary(row)?;
        if vocab.len() < self.checked {
            self.check_ids(vocab.len())?;
        }
        let setting = self.setting(mask, stream, row.len());
        let sums = setting.sums(trace.is_some());
        with_workspace(|workspace| {
            let mut candidates = Candidates::new(self.kernels, vocab, workspace, sums)?;
            let mut record = trace.map(|trace| trace.begin(&mut candidates));
            let observer = record.as_mut().map(|record| record as &mut Observer<'_>);
            stages::run(setting, &mut candidates, observer)?;
            drop(record);
            Ok(finish(&mut candidates))
        })
    }

    fn setting<'s>(&'s self, mask: Option<&'s [u32]>, stream: u32, width: usize) -> Setting<'s> {
        let Self { params, plan, history, stop_tokens, .. } = self;
        let memory = self.memories.last().copied().unwrap_or_default();
        Setting { params, plan, history, mask, stop_tokens, width, memory, address: self.address(stream) }
    }

    /// Where the coins of this position lie.
    fn address(&self, stream: u32) -> Address {
        Address { seed: self.params.seed, stream, position: self.position() }
    }

    /// The part of `row` that is vocabulary.
    pub(crate) fn vocabulary<'r>(&self, row: Scores<'r>) -> Result<Scores<'r>, Error> {
        let size = self.vocab_size.unwrap_or(row.len());
        if row.is_empty() || row.len() < size || u32::try_from(row.len()).is_err() {
            let expected = if self.vocab_size.is_some() {
                format!("at least {size} (vocab_size)")
            } else {
                "1 to 2^32 - 1".to_owned()
            };
            return Err(Error::RowLength { row: None, expected, got: row.len() });
        }
        Ok(row.slice(0..size))
    }

    fn check_ids(&self, vocab: usize) -> Result<(), Error> {
        self.params.check_ids(vocab)?;
        if let Some(&id) = self.stop_tokens.iter().find(|&&id| id as usize >= vocab) {
            return Err(Error::UnknownToken { row: None, name: "stop_tokens", id, vocab });
        }
        Ok(())
    }
}

/// There must be as many tokens as are to be listed.
pub(crate) fn check_top(vocab: Scores<'_>, top: usize) -> Result<(), Error> {
    if top > vocab.len() {
        let value = format!("{top} with a vocabulary of {}", vocab.len());
        return Err(Error::Range { name: "logprobs", range: "at most the size of the vocabulary", value });
    }
    Ok(())
}
