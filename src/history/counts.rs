//! How often each token occurs in the part of the context that a penalty reaches.

use super::tally::Tally;
use crate::params::{Reach, Scope};

/// How often each token occurs in the part of the context that a penalty reaches.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// Where the scope begins.
    start: usize,
    window: usize,
    exclude: Vec<u32>,
    tally: Tally,
}

impl Counts {
    pub(super) fn new(reach: &Reach, prompt: usize) -> Self {
        let start = match reach.scope {
            Scope::All => 0,
            Scope::Output => prompt,
        };
        Self {
            start,
            window: reach.window.unwrap_or(usize::MAX),
            exclude: reach.exclude.clone(),
            tally: Tally::default(),
        }
    }

    /// Each token that occurs, with its count, in no order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.tally.entries().iter().copied()
    }

    /// How often a token occurs.
    #[inline]
    pub(crate) fn count(&self, token: u32) -> u32 {
        self.tally.count(token)
    }

    /// The first token of the window in a context of `length` tokens.
    fn begin(&self, length: usize) -> usize {
        length.saturating_sub(self.window).max(self.start)
    }

    /// The last of `tokens` has just been added.
    pub(super) fn pushed(&mut self, tokens: &[u32]) {
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
    pub(super) fn popping(&mut self, tokens: &[u32]) {
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
        if !self.exclude.contains(&token) {
            self.tally.add(token);
        }
    }

    fn remove(&mut self, token: u32) {
        self.tally.remove(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::params::Params;

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
                    let count = |token| history.repetition.as_ref().map_or(0, |counts| counts.count(token));
                    let asked = (0..10).map(|token| (token, count(token))).filter(|&(_, count)| count > 0);
                    assert_eq!(asked.collect::<Vec<_>>(), got, "{reach:?} at step {step}");
                }
            }
        }
    }
}
