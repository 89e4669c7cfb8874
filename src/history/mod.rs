//! What a sequence has said: its context, and what the stages want to know of it.
//!
//! All of it grows and shrinks with the tokens that come and go, so a step costs the same after a thousand tokens and
//! after a hundred thousand.

mod contexts;
mod counts;
mod ngrams;
mod repeats;
mod tally;

pub(crate) use counts::Counts;
pub(crate) use ngrams::Ngrams;
pub(crate) use repeats::{Repeats, largest_exponent};

use crate::params::{Params, Reach};

/// The context of one sequence, prompt and output, and who follows it.
#[derive(Debug, Clone)]
pub(crate) struct History {
    tokens: Vec<u32>,
    prompt: usize,
    pub(crate) repetition: Option<Counts>,
    pub(crate) frequency: Option<Counts>,
    pub(crate) presence: Option<Counts>,
    pub(crate) ngrams: Option<Ngrams>,
    pub(crate) repeats: Option<Repeats>,
}

impl History {
    pub(crate) fn new(params: &Params, prompt: &[u32]) -> Self {
        let counts = |penalty: Option<f64>, reach: &Reach| penalty.map(|_| Counts::new(reach, prompt.len()));
        let mut this = Self {
            tokens: Vec::with_capacity(prompt.len() + 64),
            prompt: prompt.len(),
            repetition: counts(params.repetition_penalty, &params.repetition),
            frequency: counts(params.frequency_penalty, &params.frequency),
            presence: counts(params.presence_penalty, &params.presence),
            ngrams: params.no_repeat_ngram.map(Ngrams::new),
            repeats: params.dry_multiplier.map(|_| Repeats::new(&params.dry)),
        };
        for &token in prompt {
            this.push(token);
        }
        this
    }

    /// Prompt and output.
    pub(crate) fn context(&self) -> &[u32] {
        &self.tokens
    }

    pub(crate) fn prompt(&self) -> &[u32] {
        &self.tokens[..self.prompt]
    }

    pub(crate) fn output(&self) -> &[u32] {
        &self.tokens[self.prompt..]
    }

    pub(crate) fn push(&mut self, token: u32) {
        self.tokens.push(token);
        let Self { tokens, repetition, frequency, presence, ngrams, repeats, .. } = self;
        for counts in [repetition, frequency, presence].into_iter().flatten() {
            counts.pushed(tokens);
        }
        if let Some(ngrams) = ngrams {
            ngrams.pushed(tokens);
        }
        if let Some(repeats) = repeats {
            repeats.pushed(tokens);
        }
    }

    /// Takes back the last token of the output.
    pub(crate) fn pop(&mut self) {
        if self.output().is_empty() {
            return;
        }
        let Self { tokens, repetition, frequency, presence, ngrams, repeats, .. } = self;
        for counts in [repetition, frequency, presence].into_iter().flatten() {
            counts.popping(tokens);
        }
        if let Some(ngrams) = ngrams {
            ngrams.popping(tokens);
        }
        if let Some(repeats) = repeats {
            repeats.popping(tokens);
        }
        tokens.pop();
    }

    /// Finds what the context repeats, for the draw to come.
    pub(crate) fn look(&mut self) {
        if let Some(repeats) = &mut self.repeats {
            repeats.look(&self.tokens);
        }
    }
}
