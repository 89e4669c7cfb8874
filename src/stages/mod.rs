//! Every change of the scores, one file a stage, and the walk through them.
//!
//! The hard rules first: what they remove stays removed. Then the soft stages in the order of the plan, by default bias and
//! penalties, the temperature, the cuts; and a policy: mirostat in the place of the cuts, adaptive-p behind them.

mod adaptive_p;
mod bad_words;
mod custom;
mod dry;
mod epsilon;
mod eta;
mod logit_bias;
mod min_k;
mod min_p;
mod mirostat;
mod no_repeat_ngram;
mod p_less;
mod penalties;
mod plan;
mod policy;
mod rules;
mod temperature;
mod tfs;
mod top_a;
mod top_h;
mod top_k;
mod top_n_sigma;
mod top_p;
mod typical;
mod xtc;

pub(crate) use plan::Plan;
pub(crate) use policy::{Memory, Policy};
pub(crate) use temperature::write_scaled;

use penalties::Penalty;

use crate::candidates::{Candidates, Sums};
use crate::error::Error;
use crate::history::History;
use crate::params::Params;
use crate::rng::{Address, Purpose};
use crate::stage::{Kind, Stage};

/// Told of each stage, of the limit that it used if that is a number it had at hand, and of the candidates it left.
pub(crate) type Observer<'o> = dyn FnMut(Stage, Option<f64>, &mut Candidates<'_>) + 'o;

/// All that the stages look at beside the scores.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) params: &'a Params,
    pub(crate) plan: &'a Plan,
    pub(crate) history: &'a History,
    pub(crate) mask: Option<&'a [u32]>,
    pub(crate) stop_tokens: &'a [u32],
    /// How long the row is that came in, with what lies beyond the vocabulary.
    pub(crate) width: usize,
    pub(crate) memory: Memory,
    pub(crate) address: Address,
}

impl<'a> Setting<'a> {
    /// Whether a hard rule has anything to do.
    fn active(&self, rule: Stage) -> bool {
        let params = self.params;
        match rule {
            Stage::Mask => self.mask.is_some(),
            Stage::AllowedIds => params.allowed_ids.is_some(),
            Stage::Suppress => !params.suppress.is_empty(),
            Stage::MinTokens => {
                !self.stop_tokens.is_empty() && (self.history.output().len() as u64) < params.min_tokens
            }
            Stage::BadWords => !params.bad_words.is_empty(),
            _ => false,
        }
    }

    /// The stages that run on this row, in order.
    pub(crate) fn stages(&self) -> impl Iterator<Item = Stage> + use<'a> {
        let this = *self;
        Stage::hard().filter(move |&rule| this.active(rule)).chain(this.plan.soft.iter().copied())
    }

    /// The sums that the first read of the row can make: scores come to the draw, or to a stage that needs weights, as the
    /// caller gave them. Unless the stages are `observed`, it applies the mask as well.
    pub(crate) fn sums(&self, observed: bool) -> Sums<'a> {
        match (self.mask, self.plan.sums()) {
            (Some(mask), Sums::None | Sums::Above { .. }) if !observed => Sums::Allowed(mask),
            (Some(mask), _) if !observed => Sums::Masked(mask),
            (Some(_), _) => Sums::Copied,
            _ if self.params.allowed_ids.is_some() => Sums::None,
            (_, Sums::Above { .. }) if observed || Stage::hard().any(|rule| self.active(rule)) => Sums::None,
            (_, Sums::Later | Sums::Draw(_) | Sums::Exact(_)) if Stage::hard().any(|rule| self.active(rule)) => {
                Sums::Copied
            }
            (_, sums) => sums,
        }
    }
}

/// Runs every stage on the candidates of a row, which are all its tokens; without an observer, all that the mask allows.
///
/// # Errors
///
/// [`Error::NoCandidate`] with the stage that left none.
pub(crate) fn run(
    setting: Setting<'_>,
    candidates: &mut Candidates<'_>,
    observer: Option<&mut Observer<'_>>,
) -> Result<(), Error> {
    if candidates.is_empty() {
        candidates.restart();
        if candidates.is_empty() {
            return Err(Error::NoCandidate { row: None, stage: None });
        }
        // The mask, which the first read applied, left none.
        return walk_step_by_step(setting, candidates, &mut |_, _, _| {});
    }
    if let Some(observer) = observer {
        return walk_step_by_step(setting, candidates, observer);
    }
    if setting.plan.soft.contains(&Stage::Custom) {
        // A processor is called once, for a row that has candidates.
        return walk_step_by_step(setting, candidates, &mut |_, _, _| {});
    }
    walk(setting, candidates)?;
    if candidates.is_empty() {
        // Which stage was it? They run once more, one at a time.
        candidates.restart();
        return walk_step_by_step(setting, candidates, &mut |_, _, _| {});
    }
    Ok(())
}

/// Runs the stages until one leaves nothing; changes are settled together, before what looks at more than single scores.
fn walk(setting: Setting<'_>, candidates: &mut Candidates<'_>) -> Result<(), Error> {
    let (mut changed, mut looked_up) = (false, false);
    let mut reach = setting.plan.reach;
    for stage in setting.stages().filter(|&stage| stage != Stage::Mask) {
        let is_penalty = penalties::STAGES.contains(&stage);
        let reach = reach.take_if(|_| is_penalty).filter(|_| penalties::are_many(setting.history));
        if changed && (reach.is_some() || !edits(stage)) {
            changed = false;
            candidates.settle();
            if candidates.is_empty() {
                break;
            }
        }
        looked_up |= reach.is_some_and(|reach| penalties::look_up(setting, candidates, reach));
        if is_penalty && looked_up {
            continue;
        }
        if edits(stage) {
            change(stage, setting, candidates)?;
            changed = true;
        } else {
            // A penalty after this cut was not looked up before it.
            looked_up = false;
            cut(stage, setting, candidates);
        }
    }
    if changed {
        candidates.settle();
    }
    Ok(())
}

/// Like [`walk`], with the candidates brought up to date after each stage.
fn walk_step_by_step(
    setting: Setting<'_>,
    candidates: &mut Candidates<'_>,
    observer: &mut Observer<'_>,
) -> Result<(), Error> {
    for stage in setting.stages() {
        let limit = if edits(stage) {
            change(stage, setting, candidates)?;
            candidates.settle();
            None
        } else {
            cut(stage, setting, candidates)
        };
        if candidates.is_empty() {
            return Err(Error::NoCandidate { row: None, stage: Some(stage) });
        }
        observer(stage, limit, candidates);
    }
    Ok(())
}

fn edits(stage: Stage) -> bool {
    matches!(stage.kind(), Kind::Rule | Kind::Edit)
}

/// Runs a stage that changes single scores.
///
/// # Errors
///
/// [`Error::Processor`].
fn change(stage: Stage, setting: Setting<'_>, candidates: &mut Candidates<'_>) -> Result<(), Error> {
    let Setting { params, history, .. } = setting;
    if candidates.temperature() != 1.0 {
        candidates.write_temperature();
    }
    match stage {
        Stage::Mask => rules::mask(candidates, setting.mask),
        Stage::AllowedIds => rules::allowed_ids(candidates, params.allowed_ids.as_deref()),
        Stage::Suppress => rules::ban(candidates, &params.suppress),
        Stage::MinTokens => rules::ban(candidates, setting.stop_tokens),
        Stage::BadWords => {
            let outputs = params.readings.bad_words_output_only;
            bad_words::apply(candidates, &params.bad_words, if outputs { history.output() } else { history.context() });
        }
        Stage::Custom => custom::apply(candidates, &params.processors, history.context(), setting.width)?,
        Stage::LogitBias => logit_bias::apply(candidates, &params.logit_bias),
        Stage::Repetition | Stage::Frequency | Stage::Presence => {
            if let Some(penalty) = Penalty::of(stage, params, history) {
                penalty.apply(candidates);
            }
        }
        Stage::NoRepeatNgram => no_repeat_ngram::apply(candidates, history.ngrams.as_ref(), history.context()),
        Stage::Dry => dry::apply(candidates, params.dry_multiplier, &params.dry, history.repeats.as_ref()),
        _ => {}
    }
    Ok(())
}

/// Runs a stage that looks at the whole distribution; returns the limit that it used, if it is a number it had at hand.
fn cut(stage: Stage, setting: Setting<'_>, candidates: &mut Candidates<'_>) -> Option<f64> {
    let Setting { params, plan, .. } = setting;
    let readings = params.readings;
    let min_keep = usize::try_from(params.min_keep).unwrap_or(usize::MAX);
    match stage {
        Stage::Temperature => Some(temperature::apply(candidates, params)),
        Stage::TopNSigma => top_n_sigma::apply(candidates, params.top_n_sigma, min_keep),
        Stage::MinK => min_k::apply(candidates, params.min_k, min_keep),
        Stage::TopK => top_k::apply(candidates, params.top_k, min_keep, readings.top_k_ties),
        Stage::Typical => typical::apply(candidates, params.typical_p, min_keep, readings),
        Stage::TopP => top_p::apply(candidates, params.top_p, min_keep),
        Stage::MinP => min_p::apply(candidates, params.min_p, min_keep),
        Stage::PLess => p_less::apply(candidates, params.p_less, min_keep),
        Stage::Epsilon => epsilon::apply(candidates, params.epsilon, min_keep, readings.floor_ties),
        Stage::Eta => eta::apply(candidates, params.eta, min_keep, readings.floor_ties),
        Stage::TopA => top_a::apply(candidates, params.top_a, min_keep),
        Stage::Tfs => tfs::apply(candidates, params.tfs, min_keep),
        Stage::TopH => top_h::apply(candidates, params.top_h, min_keep, readings.top_h_whole),
        Stage::Xtc => xtc::apply(candidates, params, min_keep, setting.address.coin(Purpose::Xtc)),
        Stage::Mirostat | Stage::AdaptiveP => Some(plan.policy?.apply(candidates, setting.memory)),
        _ => None,
    }
}
