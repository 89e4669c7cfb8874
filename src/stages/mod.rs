//! Every change of the scores, one file a stage, and the order in which they come.
//!
//! The hard rules first: what they remove stays removed. Then bias and penalties, the temperature, the cuts, the draw.

mod logit_bias;
mod min_p;
mod penalties;
mod rules;
mod temperature;
mod top_k;
mod top_p;

pub(crate) use temperature::write_scaled;

use crate::candidates::Candidates;
use crate::error::Error;
use crate::history::History;
use crate::params::Params;

/// A stage, by the name that parameters and errors use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// A packed bit mask, and the end of the vocabulary.
    Mask,
    /// The only ids that are possible.
    AllowedIds,
    /// Ids that are impossible.
    Suppress,
    /// No stop token before so many outputs.
    MinTokens,
    /// A number added to the score of an id.
    LogitBias,
    /// Divides or multiplies the score of a token that was seen.
    Repetition,
    /// Takes from a score for every time the token was seen.
    Frequency,
    /// Takes from a score if the token was seen.
    Presence,
    /// Divides all scores.
    Temperature,
    /// The `k` best.
    TopK,
    /// The shortest prefix of a given mass.
    TopP,
    /// A share of the best one's probability.
    MinP,
}

/// The order. Those before [`Stage::Temperature`] change scores, those behind it cut.
pub(crate) const ORDER: [Stage; 12] = [
    Stage::Mask,
    Stage::AllowedIds,
    Stage::Suppress,
    Stage::MinTokens,
    Stage::LogitBias,
    Stage::Repetition,
    Stage::Frequency,
    Stage::Presence,
    Stage::Temperature,
    Stage::TopK,
    Stage::TopP,
    Stage::MinP,
];

impl Stage {
    /// The name that parameters and errors use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mask => "mask",
            Self::AllowedIds => "allowed_ids",
            Self::Suppress => "suppress",
            Self::MinTokens => "min_tokens",
            Self::LogitBias => "logit_bias",
            Self::Repetition => "repetition",
            Self::Frequency => "frequency",
            Self::Presence => "presence",
            Self::Temperature => "temperature",
            Self::TopK => "top_k",
            Self::TopP => "top_p",
            Self::MinP => "min_p",
        }
    }
}

/// All that the stages look at beside the scores.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) params: &'a Params,
    pub(crate) history: &'a History,
    pub(crate) mask: Option<&'a [u32]>,
    pub(crate) stop_tokens: &'a [u32],
}

impl Setting<'_> {
    /// Whether the stage has anything to do.
    fn active(&self, stage: Stage) -> bool {
        let params = self.params;
        match stage {
            Stage::Mask => self.mask.is_some(),
            Stage::AllowedIds => params.allowed_ids.is_some(),
            Stage::Suppress => !params.suppress.is_empty(),
            Stage::MinTokens => {
                !self.stop_tokens.is_empty() && (self.history.output().len() as u64) < params.min_tokens
            }
            Stage::LogitBias => !params.logit_bias.is_empty(),
            Stage::Repetition => params.repetition_penalty.is_some(),
            Stage::Frequency => params.frequency_penalty.is_some(),
            Stage::Presence => params.presence_penalty.is_some(),
            Stage::Temperature => true,
            Stage::TopK => params.top_k.is_some(),
            Stage::TopP => params.top_p.is_some(),
            Stage::MinP => params.min_p.is_some(),
        }
    }

    /// Whether scores come to the draw, or to a cut by mass, as the caller gave them: then the first read of the row can
    /// sum the weights, at this temperature.
    pub(crate) fn weighs_whole_row(&self) -> Option<f64> {
        let mass_first = self.params.top_k.is_none() && (self.params.top_p.is_some() || self.params.min_p.is_none());
        let untouched = !ORDER.iter().any(|&stage| changes_scores(stage) && self.active(stage));
        (mass_first && untouched && self.params.temperature > 0.0).then_some(self.params.temperature)
    }
}

fn changes_scores(stage: Stage) -> bool {
    ORDER.iter().take_while(|&&other| other != Stage::Temperature).any(|&other| other == stage)
}

/// Runs every stage on the candidates of `row`, which are all its tokens.
///
/// # Errors
///
/// [`Error::NoCandidate`] with the stage that left none.
pub(crate) fn run(setting: Setting<'_>, candidates: &mut Candidates<'_>) -> Result<(), Error> {
    if candidates.is_empty() {
        return Err(Error::NoCandidate { row: None, stage: None });
    }
    let mut changed = false;
    for stage in ORDER.into_iter().filter(|&stage| changes_scores(stage) && setting.active(stage)) {
        change(stage, setting, candidates);
        changed = true;
    }
    if changed {
        candidates.settle();
        if candidates.is_empty() {
            return Err(Error::NoCandidate { row: None, stage: Some(emptied_by(setting, candidates)) });
        }
    }
    if setting.params.temperature == 0.0 {
        candidates.keep_best(1);
        return Ok(());
    }
    candidates.set_temperature(setting.params.temperature);
    for stage in ORDER.into_iter().filter(|&stage| !changes_scores(stage) && setting.active(stage)) {
        cut(stage, setting.params, candidates);
    }
    Ok(())
}

fn change(stage: Stage, setting: Setting<'_>, candidates: &mut Candidates<'_>) {
    let Setting { params, history, .. } = setting;
    match stage {
        Stage::Mask => rules::mask(candidates, setting.mask),
        Stage::AllowedIds => rules::allowed_ids(candidates, params.allowed_ids.as_deref()),
        Stage::Suppress => rules::ban(candidates, &params.suppress),
        Stage::MinTokens => rules::ban(candidates, setting.stop_tokens),
        Stage::LogitBias => logit_bias::apply(candidates, &params.logit_bias),
        Stage::Repetition => {
            penalties::repetition(candidates, params.repetition_penalty, history.repetition.as_ref());
        }
        Stage::Frequency => penalties::frequency(candidates, params.frequency_penalty, history.frequency.as_ref()),
        Stage::Presence => penalties::presence(candidates, params.presence_penalty, history.presence.as_ref()),
        Stage::Temperature | Stage::TopK | Stage::TopP | Stage::MinP => {}
    }
}

fn cut(stage: Stage, params: &Params, candidates: &mut Candidates<'_>) {
    let min_keep = usize::try_from(params.min_keep).unwrap_or(usize::MAX);
    match stage {
        Stage::TopK => top_k::apply(candidates, params.top_k, min_keep),
        Stage::TopP => top_p::apply(candidates, params.top_p, min_keep),
        Stage::MinP => min_p::apply(candidates, params.min_p, min_keep),
        _ => {}
    }
}

/// Which stage left no candidate: they run once more, one at a time.
fn emptied_by(setting: Setting<'_>, candidates: &mut Candidates<'_>) -> Stage {
    candidates.restore();
    let changing = ORDER.into_iter().filter(|&stage| changes_scores(stage) && setting.active(stage));
    let mut last = Stage::Mask;
    for stage in changing {
        change(stage, setting, candidates);
        candidates.settle();
        last = stage;
        if candidates.is_empty() {
            break;
        }
    }
    last
}
