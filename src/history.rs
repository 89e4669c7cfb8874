//! What a sequence has said: its context, and the counts that penalties need.
//!
//! Counts grow and shrink with the tokens that come and go, so a step costs the same after a thousand tokens and after a
//! hundred thousand.

use std::collections::HashMap;

use crate::params::{Params, Reach, Scope};

/// The context of one sequence, prompt and output, and who counts it.
#[derive(Debug, Clone)]
pub(crate) struct History {
    tokens: Vec<u32>,
    prompt: usize,
    pub(crate) repetition: Option<Counts>,
    pub(crate) frequency: Option<Counts>,
    pub(crate) presence: Option<Counts>,
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
        };
        for &token in prompt {
            this.push(token);
        }
        this
    }

    pub(crate) fn prompt(&self) -> &[u32] {
        &self.tokens[..self.prompt]
    }

    pub(crate) fn output(&self) -> &[u32] {
        &self.tokens[self.prompt..]
    }

    pub(crate) fn push(&mut self, token: u32) {
        self.tokens.push(token);
        let Self { tokens, repetition, frequency, presence, .. } = self;
        for counts in [repetition, frequency, presence].into_iter().flatten() {
            counts.pushed(tokens);
        }
    }

    /// Takes back the last token of the output.
    pub(crate) fn pop(&mut self) {
        if self.output().is_empty() {
            return;
        }
        let Self { tokens, repetition, frequency, presence, .. } = self;
        for counts in [repetition, frequency, presence].into_iter().flatten() {
            counts.popping(tokens);
        }
        tokens.pop();
    }
}

/// How often each token occurs in the part of the context that a penalty reaches.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// Where the scope begins.
    start: usize,
    window: usize,
    exclude: Vec<u32>,
    /// Each token that occurs, with its count, in no order.
    entries: Vec<(u32, u32)>,
    /// Where in `entries` a token is.
    places: HashMap<u32, usize>,
}

impl Counts {
    fn new(reach: &Reach, prompt: usize) -> Self {
        let start = match reach.scope {
            Scope::All => 0,
            Scope::Output => prompt,
        };
        Self {
            start,
            window: reach.window.unwrap_or(usize::MAX),
            exclude: reach.exclude.clone(),
            entries: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Each token that occurs, with its count, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.entries.iter().copied()
    }

    /// The first token of the window in a context of `length` tokens.
    fn begin(&self, length: usize) -> usize {
        length.saturating_sub(self.window).max(self.start)
    }

    /// The last of `tokens` has just been added.
    fn pushed(&mut self, tokens: &[u32]) {
        let last = tokens.len() - 1;
        if last < self.start {
            return;
        }
        self.add(tokens[last]);
        if self.begin(tokens.len()) > self.begin(last) {
            self.remove(tokens[self.begin(last)]);
        }
    }

    /// The last of `tokens` is about to go.
    fn popping(&mut self, tokens: &[u32]) {
        let last = tokens.len() - 1;
        if last < self.start {
            return;
        }
        self.remove(tokens[last]);
        if self.begin(last) < self.begin(tokens.len()) {
            self.add(tokens[self.begin(last)]);
        }
    }

    fn add(&mut self, token: u32) {
        if self.exclude.contains(&token) {
            return;
        }
        let place = *self.places.entry(token).or_insert(self.entries.len());
        match self.entries.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => self.entries.push((token, 1)),
        }
    }

    fn remove(&mut self, token: u32) {
        let Some(&place) = self.places.get(&token) else { return };
        self.entries[place].1 -= 1;
        if self.entries[place].1 == 0 {
            self.places.remove(&token);
            self.entries.swap_remove(place);
            if let Some(&(moved, _)) = self.entries.get(place) {
                self.places.insert(moved, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window counted afresh.
    fn naive(tokens: &[u32], prompt: usize, reach: &Reach) -> Vec<(u32, u32)> {
        let start = if reach.scope == Scope::All { 0 } else { prompt };
        let begin = tokens.len().saturating_sub(reach.window.unwrap_or(usize::MAX)).max(start);
        let mut counts = std::collections::BTreeMap::new();
        for token in tokens[begin..].iter().filter(|token| !reach.exclude.contains(token)) {
            *counts.entry(*token).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    #[test]
    fn counts_follow_the_window_forwards_and_backwards() {
        let prompt = [3, 1, 4, 1, 5];
        let script = [9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3];
        for scope in [Scope::All, Scope::Output] {
            for window in [None, Some(1), Some(3), Some(7), Some(100)] {
                let reach = Reach { scope, window, exclude: vec![4] };
                let params = Params { repetition_penalty: Some(2.0), repetition: reach.clone(), ..Params::default() };
                let mut history = History::new(&params, &prompt);
                let mut tokens = prompt.to_vec();
                for (step, &token) in script.iter().chain(&script).enumerate() {
                    if step % 5 == 4 && tokens.len() > prompt.len() {
                        history.pop();
                        tokens.pop();
                    } else {
                        history.push(token);
                        tokens.push(token);
                    }
                    let mut got: Vec<_> = history.repetition.iter().flat_map(Counts::iter).collect();
                    got.sort_unstable();
                    assert_eq!(naive(&tokens, prompt.len(), &reach), got, "{reach:?} at step {step}");
                }
            }
        }
    }
}
