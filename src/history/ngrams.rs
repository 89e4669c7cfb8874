//! Which tokens would complete a run of `n` tokens that the context already holds.

use super::contexts::Contexts;

/// The runs of `n` tokens of a context. A token more or less costs O(n), a question O(n) and the answer; memory is linear
/// in the context.
#[derive(Debug, Clone)]
pub(crate) struct Ngrams {
    rest: usize,
    contexts: Contexts,
}

impl Ngrams {
    /// Runs of `n` tokens, at least 1.
    pub(super) fn new(n: u64) -> Self {
        let rest = usize::try_from(n).unwrap_or(usize::MAX).saturating_sub(1);
        Self { rest, contexts: Contexts::new(rest, rest) }
    }

    /// The last of `tokens` has just been added.
    pub(super) fn pushed(&mut self, tokens: &[u32]) {
        if tokens.len() > self.rest {
            self.contexts.insert(tokens, tokens.len() - 1);
        }
    }

    /// The last of `tokens` is about to go.
    pub(super) fn popping(&mut self, tokens: &[u32]) {
        if tokens.len() > self.rest {
            self.contexts.remove(tokens, tokens.len() - 1);
        }
    }

    /// The tokens that followed the last `n - 1` of `tokens` before, with how often.
    pub(crate) fn completing(&self, tokens: &[u32]) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.contexts.find(tokens).map_or(&[][..], |tally| tally.entries()).iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_completes_a_run_is_what_followed_it() {
        for n in 1..6 {
            let rest = usize::try_from(n).unwrap() - 1;
            let (mut ngrams, mut tokens) = (Ngrams::new(n), Vec::new());
            for step in 0..600_u32 {
                if step % 7 == 6 {
                    ngrams.popping(&tokens);
                    tokens.pop();
                } else {
                    tokens.push(step * step % 11 % 4);
                    ngrams.pushed(&tokens);
                }
                let end = tokens.len().checked_sub(rest).map(|start| &tokens[start..]);
                let runs =
                    end.into_iter().flat_map(|end| tokens.windows(rest + 1).filter(move |run| run.starts_with(end)));
                let expected: std::collections::BTreeSet<_> = runs.map(|run| run[rest]).collect();
                let got: Vec<_> = ngrams.completing(&tokens).map(|(token, _)| token).collect();
                assert_eq!(expected.len(), got.len(), "each once");
                assert_eq!(expected, got.into_iter().collect(), "n = {n}, {tokens:?}");
            }
        }
    }

    #[test]
    fn a_token_costs_no_more_after_a_long_history_than_after_a_short_one() {
        for n in [1, 3, 20] {
            let (mut ngrams, mut tokens) = (Ngrams::new(n), Vec::new());
            for at in 0..131_072_u32 {
                tokens.push(at.wrapping_mul(2_654_435_761) >> 28);
                let before = ngrams.contexts.touched;
                ngrams.pushed(&tokens);
                let work = ngrams.contexts.touched - before;
                // A node and a token for each token of the run, and the followers of a node that is split.
                assert!(work <= 2 * usize::try_from(n).unwrap() + 16, "{work} at {at}");
            }
        }
    }
}
