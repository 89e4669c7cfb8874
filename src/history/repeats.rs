//! How long a run of the context each token would repeat: what the DRY penalty goes by.
//!
//! Of a token, the longest suffix of the context that stood right before it earlier. Beyond a certain length the penalty
//! grows no more, so no suffix longer than that is looked at: `cap`, 160 at base 1.75. Positions with a whole `cap` of
//! window before them are in a trie of contexts. The first `cap` of the window are not, since what is before them is cut
//! short, by another token with each step; they are compared by the Z algorithm.
//!
//! With a `cap` that does not depend on the history, neither does the work. A token more or less costs at most `cap`
//! comparisons and tallies, in common text a few. A step costs a walk of at most `cap`, the tokens that the walk finds,
//! and a pass over the first `cap` of the window. As the base comes near 1, `cap` grows without bound, and work with it:
//! 8,918 at base 1.01, and never more than the window. Memory is linear in the window.

use std::collections::{HashMap, HashSet};

use super::contexts::Contexts;
use crate::math;
use crate::params::Dry;

/// The repeats of one context.
#[derive(Debug, Clone)]
pub(crate) struct Repeats {
    /// The shortest repeat that matters, and from where on all are alike.
    least: usize,
    cap: usize,
    window: usize,
    contexts: Contexts,
    breakers: Breakers,
    /// Each token that would repeat something, with how long a run.
    found: Vec<(u32, usize)>,
    /// The nodes on the way of the context; how long its end agrees with what is before each of its last tokens.
    way: Vec<(u32, usize)>,
    shared: Vec<usize>,
}

impl Repeats {
    pub(super) fn new(dry: &Dry) -> Self {
        let least = usize::try_from(dry.allowed_length).unwrap_or(usize::MAX).max(1);
        let cap = least.saturating_add(largest_exponent(dry.base).unwrap_or(0));
        Self {
            least,
            cap,
            window: dry.window.unwrap_or(usize::MAX),
            contexts: Contexts::new(cap, least),
            breakers: Breakers::new(&dry.breakers),
            found: Vec::new(),
            way: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// Each token that would repeat something, with how long a run, none longer than the longest that matters.
    pub(crate) fn found(&self) -> &[(u32, usize)] {
        &self.found
    }

    /// The last of `tokens` has just been added.
    pub(super) fn pushed(&mut self, tokens: &[u32]) {
        let last = tokens.len() - 1;
        let (was, is) = (self.first_whole(last), self.first_whole(tokens.len()));
        if was < is && was < last {
            self.contexts.remove(tokens, was);
        }
        if is <= last {
            self.contexts.insert(tokens, last);
        }
        self.breakers.pushed(tokens);
    }

    /// The last of `tokens` is about to go.
    pub(super) fn popping(&mut self, tokens: &[u32]) {
        let last = tokens.len() - 1;
        let (was, is) = (self.first_whole(tokens.len()), self.first_whole(last));
        if was <= last {
            self.contexts.remove(tokens, last);
        }
        if is < was && is < last {
            self.contexts.insert(tokens, is);
        }
        self.breakers.popping(tokens);
    }

    /// Finds the repeats at the end of `tokens`.
    pub(super) fn look(&mut self, tokens: &[u32]) {
        self.found.clear();
        let begin = self.begin(tokens.len());
        let longest = self.cap.min(self.breakers.unbroken(tokens.len(), begin));
        if longest < self.least {
            return;
        }
        self.look_back(tokens, longest);
        self.look_at_the_first(tokens, begin, longest);
        let never = &self.breakers.single;
        self.found.retain(|(token, _)| !never.contains(token));
        self.found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        self.found.dedup_by_key(|&mut (token, _)| token);
    }

    /// Among the positions in the trie. Deeper nodes first: what they tally, those above tally too.
    fn look_back(&mut self, tokens: &[u32], longest: usize) {
        self.way.clear();
        self.contexts.follow(tokens, longest, &mut self.way);
        let mut known = 0;
        for &(node, length) in self.way.iter().rev().take_while(|&&(_, length)| length >= self.least) {
            let followers = self.contexts.followers(node);
            if followers.len() > known {
                known = followers.len();
                self.found.extend(followers.iter().map(|&(token, _)| (token, length)));
            }
        }
    }

    /// Among the positions with less than a whole `cap` of window before them.
    fn look_at_the_first(&mut self, tokens: &[u32], begin: usize, longest: usize) {
        let end = tokens.len().min(self.first_whole(tokens.len()));
        if end < begin + 2 {
            return;
        }
        let suffix = &tokens[tokens.len() - longest..];
        // What stands before one of the first: all of them but the last.
        let first = &tokens[begin..end - 1];
        if !tokens.last().is_some_and(|last| first.contains(last)) {
            return;
        }
        shared_suffixes(suffix, first, &mut self.shared);
        for (back, &length) in self.shared.iter().enumerate() {
            if length >= self.least {
                self.found.push((tokens[end - 1 - back], length));
            }
        }
    }

    /// The first token of the window in a context of `length` tokens.
    fn begin(&self, length: usize) -> usize {
        length.saturating_sub(self.window)
    }

    /// The first position with a whole `cap` of window before it.
    fn first_whole(&self, length: usize) -> usize {
        self.begin(length).saturating_add(self.cap)
    }
}

/// Where a power of `base` would leave `f32`, the exponent is held; at 1 nothing grows.
pub(crate) fn largest_exponent(base: f64) -> Option<usize> {
    const LN_MAX: f64 = 88.722_839_355_468_75; // as a float32
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; saturates")]
    (base > 1.0).then(|| (LN_MAX / math::ln(base)).floor() as usize)
}

/// Entry `i`: the longest common suffix of `suffix` and of `text` without its last `i` tokens (the Z algorithm, backwards).
/// Linear: what was compared once is looked up.
fn shared_suffixes(suffix: &[u32], text: &[u32], shared: &mut Vec<usize>) {
    let size = suffix.len();
    let at = |place: usize| {
        if place < size { suffix[size - 1 - place] } else { text[text.len() - 1 - (place - size)] }
    };
    let total = size + text.len();
    shared.clear();
    shared.push(size);
    let (mut left, mut right) = (0, 0);
    for place in 1..total {
        let mut length = if place < right { shared[place - left].min(right - place) } else { 0 };
        while length < size && place + length < total && at(place + length) == at(length) {
            length += 1;
        }
        shared.push(length);
        if place + length > right {
            (left, right) = (place, place + length);
        }
    }
    shared.drain(..size);
}

/// Runs of tokens over which no repeat goes.
#[derive(Debug, Clone)]
struct Breakers {
    /// Those of one token.
    single: HashSet<u32>,
    /// Those of several, by their last.
    several: HashMap<u32, Vec<Vec<u32>>>,
    /// Where in the context a breaker ended, and began: the shortest of those that ended there.
    ends: Vec<(usize, usize)>,
}

impl Breakers {
    fn new(breakers: &[Vec<u32>]) -> Self {
        let mut this = Self { single: HashSet::new(), several: HashMap::new(), ends: Vec::new() };
        for breaker in breakers {
            match breaker[..] {
                [] => {}
                [only] => _ = this.single.insert(only),
                [.., last] => this.several.entry(last).or_default().push(breaker.clone()),
            }
        }
        this
    }

    fn pushed(&mut self, tokens: &[u32]) {
        let Some(last) = tokens.last() else { return };
        let several = self.several.get(last).into_iter().flatten();
        let shortest = if self.single.contains(last) {
            Some(1)
        } else {
            several.filter(|breaker| tokens.ends_with(breaker)).map(Vec::len).min()
        };
        self.ends.extend(shortest.map(|length| (tokens.len(), tokens.len() - length)));
    }

    fn popping(&mut self, tokens: &[u32]) {
        self.ends.pop_if(|&mut (end, _)| end == tokens.len());
    }

    /// How many of `length` tokens stand behind the last breaker that is whole in the window from `begin`.
    fn unbroken(&self, length: usize, begin: usize) -> usize {
        let near = self.ends.iter().rev().take_while(|&&(end, _)| end > begin);
        let whole = near.clone().find(|&&(_, start)| start >= begin);
        whole.map_or(length - begin, |&(end, _)| length - end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: each earlier position is compared with the end of the window, token by token.
    fn naive(tokens: &[u32], dry: &Dry, cap: usize) -> Vec<(u32, usize)> {
        let window = &tokens[tokens.len().saturating_sub(dry.window.unwrap_or(usize::MAX))..];
        let broken = |end: usize| dry.breakers.iter().any(|breaker| window[..end].ends_with(breaker));
        let unbroken = window.len() - (1..=window.len()).rev().find(|&end| broken(end)).unwrap_or(0);
        let mut longest = std::collections::BTreeMap::new();
        for (position, &token) in window.iter().enumerate().skip(1) {
            let pairs = window[..position].iter().rev().zip(window.iter().rev());
            let length = pairs.take_while(|(a, b)| a == b).count().min(unbroken).min(cap);
            let never = dry.breakers.iter().any(|breaker| *breaker == [token]);
            if length >= usize::try_from(dry.allowed_length).unwrap() && !never {
                let known: &mut usize = longest.entry(token).or_default();
                *known = length.max(*known);
            }
        }
        longest.into_iter().collect()
    }

    /// A script of tokens to add, and of 9 to take one back, with many repeats in it.
    fn script(seed: u32, length: usize) -> impl Iterator<Item = u32> {
        let mut state = seed;
        (0..length).map(move |step| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match state >> 24 {
                ..30 => 9,
                30..150 => u32::from(step % 3 == 0),
                byte => byte % 5,
            }
        })
    }

    #[test]
    fn repeats_are_those_of_the_definition_whatever_comes_and_goes() {
        let breakers = [vec![], vec![vec![3]], vec![vec![3], vec![4, 0], vec![1, 1, 1, 1], vec![1, 4, 0]]];
        let bases = [1.0, 1.75, 1e4, 1e9, f64::MAX];
        for (case, base) in bases.into_iter().flat_map(|base| std::iter::repeat_n(base, 36)).enumerate() {
            let dry = Dry {
                base,
                allowed_length: [1, 2, 4][case % 3],
                window: [None, Some(1), Some(7), Some(40)][case / 3 % 4],
                breakers: breakers[case / 12 % 3].clone(),
            };
            let mut repeats = Repeats::new(&dry);
            let mut tokens = Vec::new();
            for token in script(u32::try_from(case).unwrap(), 300) {
                if token == 9 {
                    if !tokens.is_empty() {
                        repeats.popping(&tokens);
                        tokens.pop();
                    }
                } else {
                    tokens.push(token);
                    repeats.pushed(&tokens);
                }
                repeats.look(&tokens);
                assert_eq!(naive(&tokens, &dry, repeats.cap), repeats.found(), "{dry:?} after {tokens:?}");
            }
        }
    }

    /// Nodes and tokens that were looked at since the last time.
    fn work(repeats: &mut Repeats) -> usize {
        let looked = std::mem::take(&mut repeats.shared).len() + repeats.found.len();
        std::mem::take(&mut repeats.contexts.touched) + looked
    }

    #[test]
    fn a_step_costs_no_more_after_a_long_history_than_after_a_short_one() {
        let text: Vec<u32> = script(7, 131_072).collect();
        let phrase = |at: usize| u32::try_from(at % 1000).unwrap();
        let triangular = |at: usize| u32::from((8 * at + 1).isqrt().pow(2) == 8 * at + 1);
        let kinds: [(&str, &dyn Fn(usize) -> u32); 4] = [
            ("equal tokens", &|_| 7),
            ("a phrase again and again", &phrase),
            ("few words", &|at| text[at]),
            ("runs that grow", &triangular),
        ];
        for window in [None, Some(512)] {
            for (kind, token) in kinds {
                let dry = Dry { window, breakers: vec![vec![70, 71]], ..Dry::default() };
                let mut repeats = Repeats::new(&dry);
                let mut tokens = Vec::new();
                for at in 0..131_072 {
                    tokens.push(token(at));
                    repeats.pushed(&tokens);
                    let mut step = work(&mut repeats);
                    if [1 << 10, 1 << 14, 1 << 17].contains(&(at + 1)) {
                        repeats.look(&tokens);
                        step += work(&mut repeats);
                    }
                    // A context goes and one comes, each with its nodes and tokens; one is looked for, among the first too.
                    assert!(step <= 8 * repeats.cap, "{step} for {kind} after {at}");
                }
                while !tokens.is_empty() {
                    repeats.popping(&tokens);
                    tokens.pop();
                    assert!(work(&mut repeats) <= 8 * repeats.cap, "{kind} back at {}", tokens.len());
                }
                assert_eq!(1, repeats.contexts.size(), "nothing is left of {kind}");
            }
        }
    }
}
