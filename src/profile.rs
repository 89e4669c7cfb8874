//! Profiles: the order of the stages of another stack, and its variants of their definitions ("readings").
//!
//! A profile is a plain value and turns no stage on. A stage that the named stack lacks keeps its place beside its
//! neighbours of the default order.

use crate::params::{Dry, Params, Reach, Scope};
use crate::stage::Stage;

/// The variant definitions of other stacks. With all of them false, the definitions are this package's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub struct Readings {
    /// Top-k keeps every token equal to the k-th.
    pub top_k_ties: bool,
    /// Typical keeps every token as typical as the last one kept.
    pub typical_ties: bool,
    /// The total probability that typical keeps must exceed its limit, not only reach it.
    pub typical_exceeds: bool,
    /// Where epsilon or eta is above every probability, all that equal the best stay.
    pub floor_ties: bool,
    /// Top-H looks only at the best hundred, and does not renormalise the entropy of a prefix.
    pub top_h_whole: bool,
    /// A bad word may begin in the output only, not in the prompt.
    pub bad_words_output_only: bool,
    /// Temperature 0 takes the best of the candidates that the cuts left, not the best of all.
    pub greedy_after_cuts: bool,
    /// XTC excludes nothing if it would leave fewer than `min_keep`.
    pub xtc_or_nothing: bool,
}

impl Readings {
    /// The names of all.
    pub const NAMES: [&str; 8] = [
        "top_k_ties",
        "typical_ties",
        "typical_exceeds",
        "floor_ties",
        "top_h_whole",
        "bad_words_output_only",
        "greedy_after_cuts",
        "xtc_or_nothing",
    ];

    /// The reading of this name.
    pub fn named(&mut self, name: &str) -> Option<&mut bool> {
        match name {
            "top_k_ties" => Some(&mut self.top_k_ties),
            "typical_ties" => Some(&mut self.typical_ties),
            "typical_exceeds" => Some(&mut self.typical_exceeds),
            "floor_ties" => Some(&mut self.floor_ties),
            "top_h_whole" => Some(&mut self.top_h_whole),
            "bad_words_output_only" => Some(&mut self.bad_words_output_only),
            "greedy_after_cuts" => Some(&mut self.greedy_after_cuts),
            "xtc_or_nothing" => Some(&mut self.xtc_or_nothing),
            _ => None,
        }
    }

    /// The names of those that are on.
    #[must_use]
    pub fn on(mut self) -> Vec<&'static str> {
        Self::NAMES.into_iter().filter(|name| self.named(name).is_some_and(|on| *on)).collect()
    }
}

/// How a named stack samples.
///
/// ```
/// use sortition::{Params, Profile};
/// let profile = Profile::named("llama.cpp").unwrap();
/// assert!(profile.readings.greedy_after_cuts);
/// let params = Params { top_k: Some(40), ..profile.params() };
/// assert_eq!(Some(64), params.repetition.window);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// The soft stages in its order.
    pub order: Vec<Stage>,
    /// How it reads the definitions.
    pub readings: Readings,
    /// What its repetition penalty counts.
    pub repetition: Reach,
    /// What its frequency and presence penalties count.
    pub additive: Reach,
    /// How many tokens back its DRY penalty looks; `None` for the whole context.
    pub dry_window: Option<usize>,
}

impl Profile {
    /// All names.
    pub const NAMES: [&str; 5] = ["sortition", "transformers", "vllm", "openai", "llama.cpp"];

    /// The profile of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.into_iter().find(|other| *other == name)?;
        let mut readings = Readings::default();
        let mut repetition = Reach::default();
        let mut additive = Reach { scope: Scope::Output, ..Reach::default() };
        let mut dry_window = None;
        let mut order: Vec<_> = Stage::soft().collect();
        match name {
            "transformers" => {
                readings = Readings {
                    top_k_ties: true,
                    typical_ties: true,
                    floor_ties: true,
                    top_h_whole: true,
                    ..Readings::default()
                };
                place(&mut order, Stage::TopH, Stage::TopK);
                for stage in [Stage::Typical, Stage::Epsilon] {
                    place(&mut order, stage, Stage::Eta);
                }
            }
            "vllm" => {
                readings.top_k_ties = true;
                readings.bad_words_output_only = true;
                for stage in [Stage::MinP, Stage::PLess] {
                    place(&mut order, stage, Stage::TopK);
                }
            }
            "openai" => repetition.scope = Scope::Output,
            "llama.cpp" => {
                readings.typical_exceeds = true;
                readings.greedy_after_cuts = true;
                readings.xtc_or_nothing = true;
                order.retain(|stage| *stage != Stage::Temperature);
                order.push(Stage::Temperature);
                // Its windows are `penalty_last_n` and `dry_penalty_last_n`, prompt included.
                repetition.window = Some(64);
                additive = repetition.clone();
                dry_window = Some(64);
            }
            _ => {}
        }
        Some(Self { name, order, readings, repetition, additive, dry_window })
    }

    /// Parameters with every stage off, in this profile.
    #[must_use]
    pub fn params(&self) -> Params {
        Params {
            order: Some(self.order.clone()),
            readings: self.readings,
            repetition: self.repetition.clone(),
            frequency: self.additive.clone(),
            presence: self.additive.clone(),
            dry: Dry { window: self.dry_window, ..Dry::default() },
            ..Params::default()
        }
    }
}

/// Moves `stage` to the place right before `other`.
fn place(order: &mut Vec<Stage>, stage: Stage, other: Stage) {
    order.retain(|moved| *moved != stage);
    let at = order.iter().position(|found| *found == other).unwrap_or(order.len());
    order.insert(at, stage);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_has_each_stage_once() {
        for name in Profile::NAMES {
            let profile = Profile::named(name).unwrap();
            assert!(crate::stage::ordered(profile.order.iter().map(|stage| stage.name())).is_ok(), "{name}");
            assert_eq!(Ok(()), profile.params().check(), "{name}");
        }
    }
}
