//! The stages by name, what kind each is of, and their default order.

use crate::error::{Error, quoted};
use crate::params::Params;

/// A stage, by the name that parameters and errors use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// Ids that would complete a forbidden sequence.
    BadWords,
    /// A number added to the score of an id.
    LogitBias,
    /// Processors of the caller's own.
    Custom,
    /// Divides or multiplies the score of a token that was seen.
    Repetition,
    /// Takes from a score for every time the token was seen.
    Frequency,
    /// Takes from a score if the token was seen.
    Presence,
    /// Ids that would repeat a run of tokens.
    NoRepeatNgram,
    /// Takes from a score by the length of the run that the token would repeat.
    Dry,
    /// Divides all scores, and smooths them.
    Temperature,
    /// Scores within so many deviations of the best.
    TopNSigma,
    /// The candidates before the steepest drop.
    MinK,
    /// The `k` best.
    TopK,
    /// Those whose surprise is closest to the entropy.
    Typical,
    /// The shortest prefix of a given mass.
    TopP,
    /// A share of the best one's probability.
    MinP,
    /// A limit that follows from the whole distribution.
    PLess,
    /// A least probability.
    Epsilon,
    /// A least probability that falls with the entropy.
    Eta,
    /// A share of the square of the best one's probability.
    TopA,
    /// The candidates before the curve of probabilities goes straight.
    Tfs,
    /// The longest prefix of a given entropy.
    TopH,
    /// Removes all likely candidates but the least likely of them, sometimes.
    Xtc,
    /// Steers the surprise towards a target.
    Mirostat,
    /// Steers the probability of what is drawn towards a target.
    AdaptiveP,
}

/// What a stage may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Removes tokens for good; always before the soft stages.
    Rule,
    /// Changes single scores.
    Edit,
    /// The temperature.
    Temperature,
    /// Removes candidates by the whole distribution.
    Cut,
    /// Comes last, and remembers what was drawn.
    Policy,
}

/// Every stage with its name and kind, in the default order: the rules first, the policies last.
static TABLE: [(Stage, &str, Kind); 28] = [
    (Stage::Mask, "mask", Kind::Rule),
    (Stage::AllowedIds, "allowed_ids", Kind::Rule),
    (Stage::Suppress, "suppress", Kind::Rule),
    (Stage::MinTokens, "min_tokens", Kind::Rule),
    (Stage::BadWords, "bad_words", Kind::Rule),
    (Stage::LogitBias, "logit_bias", Kind::Edit),
    (Stage::Custom, "custom", Kind::Edit),
    (Stage::Repetition, "repetition", Kind::Edit),
    (Stage::Frequency, "frequency", Kind::Edit),
    (Stage::Presence, "presence", Kind::Edit),
    (Stage::NoRepeatNgram, "no_repeat_ngram", Kind::Edit),
    (Stage::Dry, "dry", Kind::Edit),
    (Stage::Temperature, "temperature", Kind::Temperature),
    (Stage::TopNSigma, "top_n_sigma", Kind::Cut),
    (Stage::MinK, "min_k", Kind::Cut),
    (Stage::TopK, "top_k", Kind::Cut),
    (Stage::Typical, "typical", Kind::Cut),
    (Stage::TopP, "top_p", Kind::Cut),
    (Stage::MinP, "min_p", Kind::Cut),
    (Stage::PLess, "p_less", Kind::Cut),
    (Stage::Epsilon, "epsilon", Kind::Cut),
    (Stage::Eta, "eta", Kind::Cut),
    (Stage::TopA, "top_a", Kind::Cut),
    (Stage::Tfs, "tfs", Kind::Cut),
    (Stage::TopH, "top_h", Kind::Cut),
    (Stage::Xtc, "xtc", Kind::Cut),
    (Stage::Mirostat, "mirostat", Kind::Policy),
    (Stage::AdaptiveP, "adaptive_p", Kind::Policy),
];

impl Stage {
    /// The hard rules, in their order: what they remove, nothing brings back.
    pub fn hard() -> impl Iterator<Item = Self> {
        TABLE.iter().map_while(|&(stage, _, kind)| (kind == Kind::Rule).then_some(stage))
    }

    /// The soft stages in the default order: all that an order names.
    pub fn soft() -> impl Iterator<Item = Self> {
        TABLE.into_iter().filter(|&(.., kind)| !matches!(kind, Kind::Rule | Kind::Policy)).map(|(stage, ..)| stage)
    }

    /// The stage of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TABLE.into_iter().find(|&(_, other, _)| other == name).map(|(stage, ..)| stage)
    }

    /// The name that parameters and errors use.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    pub(crate) fn kind(self) -> Kind {
        TABLE[self as usize].2
    }

    /// What the stage has to look at, with these parameters.
    #[must_use]
    pub fn needs(self, params: &Params) -> &'static str {
        match self {
            Self::Mask => "the mask",
            Self::AllowedIds | Self::Suppress | Self::LogitBias => "the ids it names",
            Self::MinTokens => "the stop tokens",
            Self::BadWords | Self::NoRepeatNgram | Self::Dry => "the end of the context",
            Self::Custom => "the context and a copy of the scores",
            Self::Repetition | Self::Frequency | Self::Presence => "the tokens seen",
            Self::Temperature => match (params.dynatemp_range, params.smoothing_factor) {
                _ if params.temperature == 0.0 => "the best score",
                (None, None) => "nothing",
                (Some(_), None) => "the mass and the entropy",
                (None, Some(_)) => "the best score: a pass to smooth",
                (Some(_), Some(_)) => "the mass, the entropy, the best score: a pass to smooth",
            },
            Self::TopNSigma => "mean and deviation: a pass",
            Self::MinP => "the best score: a pass to cut",
            Self::TopK => "a selection",
            Self::Epsilon | Self::TopA | Self::Xtc => "the mass",
            Self::PLess => "the mass, at two temperatures",
            Self::Eta => "the mass and the entropy",
            Self::Typical => "the mass, the entropy, a selection by mass",
            Self::TopP => "the mass, a selection by mass",
            Self::MinK => "a sorted prefix",
            Self::Tfs | Self::TopH => "the mass, a sorted prefix",
            Self::Mirostat => "the mass, the surprise so far",
            Self::AdaptiveP => "the mass, the probabilities so far",
        }
    }
}

/// The stages of these names, if they are each soft stage once.
///
/// # Errors
///
/// [`Error::Range`] that tells what is no stage, what is no soft one, what is there twice, and what is missing.
pub(crate) fn ordered<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Stage>, Error> {
    let (mut order, mut unknown, mut fixed, mut twice) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for name in names {
        match Stage::named(name) {
            None => unknown.push(quoted(name)),
            Some(stage) if !Stage::soft().any(|soft| soft == stage) => push_new(&mut fixed, name),
            Some(stage) if order.contains(&stage) => push_new(&mut twice, name),
            Some(stage) => order.push(stage),
        }
    }
    if unknown.len() > MOST_UNKNOWN {
        let more = unknown.len() - MOST_UNKNOWN;
        unknown.truncate(MOST_UNKNOWN);
        unknown.push(format!("{more} more"));
    }
    let missing: Vec<_> = Stage::soft().filter(|stage| !order.contains(stage)).map(Stage::name).collect();
    let wrong = [
        ("unknown", unknown.join(", ")),
        ("not to be moved", fixed.join(", ")),
        ("twice", twice.join(", ")),
        ("missing", missing.join(", ")),
    ];
    let said: Vec<_> =
        wrong.iter().filter(|(_, which)| !which.is_empty()).map(|(what, which)| format!("{what}: {which}")).collect();
    if said.is_empty() {
        return Ok(order);
    }
    Err(Error::Range { name: "order", range: "every soft stage once", value: said.join("; ") })
}

/// How many names that are no stage's an error lists.
const MOST_UNKNOWN: usize = 3;

fn push_new<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_stages() {
        for (at, (stage, name, kind)) in TABLE.into_iter().enumerate() {
            assert_eq!((at, name, kind), (stage as usize, stage.name(), stage.kind()));
            assert_eq!(Some(stage), Stage::named(name));
        }
    }

    #[test]
    fn an_order_is_a_permutation_of_the_soft_stages() {
        let mut order: Vec<_> = Stage::soft().collect();
        order.reverse();
        let mut names: Vec<_> = order.iter().map(|stage| stage.name()).collect();
        assert_eq!(Ok(order), ordered(names.iter().copied()));
        names[0] = names[1];
        names[2] = "mask";
        names.extend(["topp", "topp", "top_p", "温度", ""]);
        let message = ordered(names).unwrap_err().to_string();
        assert_eq!(
            "order must be every soft stage once, got unknown: 'topp', 'topp', '温度', 1 more; not to be moved: mask; \
             twice: top_h, top_p; missing: tfs, xtc",
            message
        );
    }
}
