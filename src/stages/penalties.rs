//! Repetition, frequency and presence: what was seen becomes less likely.
//!
//! Repetition: Keskar et al., "CTRL" (2019), with the division of scores above zero and the multiplication of those below
//! that transformers made of it. Frequency and presence: the definitions of the `OpenAI` API.
//!
//! They touch the tokens that were seen. What would overflow is the largest finite number.
//!
//! Most penalties make no score greater, and most cuts after them keep few tokens. Then only those that may stay are looked
//! up among the tokens that were seen.

use super::{Setting, min_p};
use crate::candidates::{Candidates, finite};
use crate::history::{Counts, History};
use crate::params::Params;
use crate::stage::Stage;

/// The three, as they follow each other in the default order.
pub(super) const STAGES: [Stage; 3] = [Stage::Repetition, Stage::Frequency, Stage::Presence];

/// Fewer seen tokens than this are all changed: that takes no longer than to look up the candidates of a cut of fifty.
const MANY: usize = 200;

/// What a cut keeps of scores that penalties have lowered before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reach {
    /// So many.
    Best(usize),
    /// What has a share of the best one's probability.
    Share { share: f64, temperature: f64 },
}

/// A penalty for tokens that were seen.
#[derive(Clone, Copy)]
pub(super) struct Penalty<'a> {
    seen: &'a Counts,
    rule: Rule,
}

#[derive(Clone, Copy)]
enum Rule {
    /// Scores above zero are divided by it, those below multiplied, once per token.
    Divide(f32),
    /// Taken for every time the token was seen.
    TakeEach(f64),
    /// Taken once.
    Take(f32),
}

impl<'a> Penalty<'a> {
    /// That of a stage, if it is one of the three and the parameters ask for it.
    pub(super) fn of(stage: Stage, params: &Params, history: &'a History) -> Option<Self> {
        let seen = match stage {
            Stage::Repetition => &history.repetition,
            Stage::Frequency => &history.frequency,
            Stage::Presence => &history.presence,
            _ => return None,
        };
        Some(Self { seen: seen.as_ref()?, rule: Rule::of(stage, params)? })
    }

    /// Changes the score of every token that was seen.
    pub(super) fn apply(self, candidates: &mut Candidates<'_>) {
        candidates.change(self.seen.iter(), |x, count| self.rule.changed(x, count));
    }

    /// The score of a token.
    fn changed(self, token: u32, x: f32) -> f32 {
        match self.seen.count(token) {
            0 => x,
            count => self.rule.changed(x, count),
        }
    }
}

/// Whether so many tokens were seen that it is worth a try to [`look_up`] some of them.
pub(super) fn are_many(history: &History) -> bool {
    most_seen(history) >= MANY
}

/// The number of tokens that were seen, of the penalty that knows most.
fn most_seen(history: &History) -> usize {
    let History { repetition, frequency, presence, .. } = history;
    [repetition, frequency, presence].into_iter().flatten().map(|counts| counts.iter().len()).max().unwrap_or(0)
}

/// Looks up the first penalties, which stand side by side and each of which [`lowers`], for those tokens alone that may be left
/// by a cut which keeps no more than this. `false` if all that were seen have to be changed.
pub(super) fn look_up(setting: Setting<'_>, candidates: &mut Candidates<'_>, reach: Reach) -> bool {
    let Setting { params, plan, history, .. } = setting;
    if candidates.temperature() != 1.0 {
        candidates.write_temperature();
    }
    let first =
        plan.soft.iter().skip_while(|stage| !STAGES.contains(stage)).take_while(|&&stage| lowers(stage, params));
    let mut penalties = first.filter_map(|&stage| Penalty::of(stage, params, history));
    let penalties = [penalties.next(), penalties.next(), penalties.next()];
    let penalties = || penalties.iter().flatten();
    let lowered = |token, x| penalties().fold(x, |x, penalty| penalty.changed(token, x));
    match reach {
        Reach::Best(k) => candidates.keep_best_lowered(k, most_seen(history), lowered),
        Reach::Share { share, temperature } => {
            let threshold = |max| min_p::threshold(max, share, temperature);
            candidates.keep_at_least_lowered(threshold, most_seen(history), lowered)
        }
    }
}

/// Whether a stage is a penalty that makes no score greater.
pub(super) fn lowers(stage: Stage, params: &Params) -> bool {
    Rule::of(stage, params).is_some_and(Rule::lowers)
}

impl Rule {
    fn of(stage: Stage, params: &Params) -> Option<Self> {
        match stage {
            // The least positive float, should the penalty round to zero: 0 / 0 would be NaN.
            Stage::Repetition => {
                params.repetition_penalty.map(|penalty| Self::Divide(finite(penalty).max(f32::from_bits(1))))
            }
            Stage::Frequency => params.frequency_penalty.map(Self::TakeEach),
            Stage::Presence => params.presence_penalty.map(|penalty| Self::Take(finite(penalty))),
            _ => None,
        }
    }

    /// Whether no score becomes greater.
    fn lowers(self) -> bool {
        match self {
            Self::Divide(by) => by >= 1.0,
            Self::TakeEach(each) => each >= 0.0,
            Self::Take(once) => once >= 0.0,
        }
    }

    /// The score of a token that was seen so often.
    #[inline]
    fn changed(self, x: f32, count: u32) -> f32 {
        let changed = match self {
            // One of the two is zero. A branch would be foreseen half the time.
            Self::Divide(by) => x.max(0.0) / by + x.min(0.0) * by,
            Self::TakeEach(each) => x - finite(each * f64::from(count)),
            Self::Take(once) => x - once,
        };
        changed.clamp(f32::MIN, f32::MAX)
    }
}
