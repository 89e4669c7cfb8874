//! Which soft stages run, in which order: worked out once, walked for every token.

use super::min_p;
use super::penalties::{self, Reach};
use super::policy::Policy;
use crate::candidates::Sums;
use crate::params::Params;
use crate::stage::{Kind, Stage};

/// What one sampler does to every row, the hard rules aside.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The soft stages that have something to do, in order; at temperature 0 the temperature is the last of them.
    pub(crate) soft: Vec<Stage>,
    /// What steers the draw, last.
    pub(crate) policy: Option<Policy>,
    /// How many reads of a row take about as long as all of it.
    pub(crate) effort: usize,
    /// What the cut after the penalties keeps, if they need not change all that was seen.
    pub(super) reach: Option<Reach>,
    /// The sums that are needed of scores that no soft stage has changed.
    sums: Sums<'static>,
}

impl Plan {
    pub(crate) fn new(params: &Params) -> Self {
        let greedy = params.temperature == 0.0;
        let cuts = !greedy || params.readings.greedy_after_cuts;
        let runs = |stage: &Stage| match stage.kind() {
            Kind::Temperature => !greedy && active(params, *stage),
            Kind::Cut => cuts && active(params, *stage),
            _ => active(params, *stage),
        };
        let mut soft: Vec<_> = match &params.order {
            Some(order) => order.iter().copied().filter(runs).collect(),
            None => Stage::soft().filter(runs).collect(),
        };
        let policy = Policy::new(params).filter(|_| !greedy);
        if greedy {
            soft.push(Stage::Temperature);
        }
        soft.extend(policy.map(Policy::stage));
        let (reach, sums) = (reach(params, &soft), sums(params, &soft));
        Self { effort: effort(params, &soft), soft, policy, reach, sums }
    }

    /// The sums that the first read of the row can make, if nothing changes the scores before.
    pub(crate) fn sums(&self) -> Sums<'static> {
        self.sums
    }
}

/// Whether the parameters ask for a soft stage.
fn active(params: &Params, stage: Stage) -> bool {
    match stage {
        Stage::LogitBias => !params.logit_bias.is_empty(),
        Stage::Custom => !params.processors.is_empty(),
        Stage::NoRepeatNgram => params.no_repeat_ngram.is_some(),
        Stage::Dry => params.dry_multiplier.is_some(),
        Stage::Repetition => params.repetition_penalty.is_some(),
        Stage::Frequency => params.frequency_penalty.is_some(),
        Stage::Presence => params.presence_penalty.is_some(),
        Stage::Temperature => {
            params.temperature != 1.0 || params.dynatemp_range.is_some() || params.smoothing_factor.is_some()
        }
        Stage::TopNSigma => params.top_n_sigma.is_some(),
        Stage::MinK => params.min_k.is_some(),
        Stage::TopK => params.top_k.is_some(),
        Stage::Typical => params.typical_p.is_some_and(|mass| mass < 1.0),
        Stage::TopP => params.top_p.is_some_and(|mass| mass < 1.0),
        Stage::MinP => params.min_p.is_some_and(|share| share > 0.0),
        Stage::PLess => params.p_less.is_some(),
        Stage::Epsilon => params.epsilon.is_some(),
        Stage::Eta => params.eta.is_some(),
        Stage::TopA => params.top_a.is_some(),
        Stage::Tfs => params.tfs.is_some_and(|share| share < 1.0),
        Stage::TopH => params.top_h.is_some_and(|share| share < 1.0 || params.readings.top_h_whole),
        Stage::Xtc => params.xtc_probability.is_some_and(|chance| chance > 0.0) && params.xtc_threshold <= 0.5,
        _ => false,
    }
}

/// See [`Plan::effort`]. Rounded from times on long rows of real scores: after the first cut little is left to do.
fn effort(params: &Params, soft: &[Stage]) -> usize {
    let mut reads = 1;
    for &stage in soft {
        match stage {
            Stage::Custom => reads += 16,
            Stage::Temperature if params.temperature == 0.0 => return reads,
            Stage::Temperature if params.smoothing_factor.is_some() => reads += 16,
            Stage::Temperature => {}
            Stage::TopNSigma | Stage::MinK | Stage::TopK | Stage::MinP => return reads,
            Stage::TopP => return reads + 5,
            _ if stage.kind() == Kind::Edit => reads += 1,
            _ => return reads + 3,
        }
    }
    reads + 1
}

/// See [`Plan::reach`]: the penalties only lower scores, and nothing comes between them, or between them and the cut, but a
/// fixed temperature (no range, no smoothing).
fn reach(params: &Params, soft: &[Stage]) -> Option<Reach> {
    let start = soft.iter().position(|stage| penalties::STAGES.contains(stage))?;
    let rest = soft[start..].iter().skip_while(|&&stage| penalties::lowers(stage, params));
    let mut temperature = 1.0;
    for stage in rest {
        match stage {
            Stage::Temperature if params.temperature == 0.0 => return Some(Reach::Best(1)),
            Stage::Temperature if params.dynatemp_range.is_some() || params.smoothing_factor.is_some() => return None,
            Stage::Temperature => temperature = params.temperature,
            Stage::TopK => {
                let k = params.top_k?.max(params.min_keep);
                return Some(Reach::Best(usize::try_from(k).unwrap_or(usize::MAX)));
            }
            Stage::MinP if params.min_keep == 1 => return Some(Reach::Share { share: params.min_p?, temperature }),
            _ => return None,
        }
    }
    None
}

/// See [`Plan::sums`]: walks to the first stage that needs weights, or to the draw. What reads all scores relative to the largest
/// looks at the row first. If scores change before that, nothing can be summed: the row is copied, or left where it is if few
/// scores are read afterwards.
fn sums(params: &Params, soft: &[Stage]) -> Sums<'static> {
    let edits = soft.iter().take_while(|stage| stage.kind() == Kind::Edit).count();
    let (edits, rest) = soft.split_at(edits);
    match unchanged_sums(params, rest) {
        _ if edits.contains(&Stage::Custom) => Sums::Copied,
        Sums::Later | Sums::Draw(_) | Sums::Exact(_) if !edits.is_empty() => Sums::Copied,
        Sums::Above { .. } if !edits.is_empty() => Sums::None,
        sums => sums,
    }
}

fn unchanged_sums(params: &Params, soft: &[Stage]) -> Sums<'static> {
    let mut temperature = 1.0;
    for (at, &stage) in soft.iter().enumerate() {
        match stage {
            Stage::Temperature if params.temperature == 0.0 => return Sums::None,
            Stage::Temperature if params.dynatemp_range.is_some() => return Sums::Exact(temperature),
            Stage::Temperature if params.smoothing_factor.is_some() => return Sums::Copied,
            Stage::Temperature => temperature = params.temperature,
            Stage::MinP if params.min_keep == 1 && at + 1 == soft.len() => {
                let distance = params.min_p.map_or(0.0, |p| min_p::distance(p, temperature));
                return Sums::Above { distance, temperature };
            }
            Stage::TopK | Stage::MinP => return Sums::None,
            Stage::TopNSigma | Stage::MinK | Stage::TopP => return Sums::Later,
            _ if stage.kind() == Kind::Edit => return Sums::Copied,
            _ => return Sums::Exact(temperature),
        }
    }
    Sums::Draw(temperature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_cut_last_is_read_for() {
        let with = |change: fn(&mut Params)| {
            let mut params = Params { temperature: 0.7, min_p: Some(0.1), ..Params::default() };
            change(&mut params);
            Plan::new(&params).sums()
        };
        let Sums::Above { distance, temperature } = with(|_| {}) else { panic!("no sums of what is above") };
        assert!((distance + 0.7 * std::f64::consts::LN_10).abs() < 1e-5 && temperature == 0.7, "{distance}");
        let others: [fn(&mut Params); 7] = [
            |params| params.min_keep = 2,
            |params| params.top_k = Some(40),
            |params| params.presence_penalty = Some(1.0),
            |params| params.xtc_probability = Some(0.5),
            |params| params.adaptive_target = Some(0.5),
            |params| params.temperature = 0.0,
            |params| {
                let soft = Stage::soft().filter(|&stage| stage != Stage::MinP);
                params.order = Some([Stage::MinP].into_iter().chain(soft).collect());
            },
        ];
        assert!(others.iter().all(|&change| matches!(with(change), Sums::None)));
        assert!(matches!(with(|params| params.dynatemp_range = Some(0.2)), Sums::Exact(1.0)));
    }

    #[test]
    fn penalties_are_looked_up_where_they_only_lower_and_few_are_kept() {
        let with = |change: fn(&mut Params)| {
            let mut params =
                Params { repetition_penalty: Some(1.1), top_k: Some(40), min_p: Some(0.1), ..Params::default() };
            change(&mut params);
            Plan::new(&params).reach
        };
        let is_best = |reach, k| matches!(reach, Some(Reach::Best(number)) if number == k);
        assert!(is_best(with(|_| {}), 40));
        assert!(is_best(with(|params| params.min_keep = 50), 50));
        assert!(is_best(with(|params| params.temperature = 0.0), 1));
        assert!(is_best(
            with(|params| (params.frequency_penalty, params.presence_penalty) = (Some(0.0), Some(2.0))),
            40
        ));
        let reach = with(|params| (params.top_k, params.temperature) = (None, 0.7));
        assert!(matches!(reach, Some(Reach::Share { share: 0.1, temperature: 0.7 })));
        let all: [fn(&mut Params); 10] = [
            |params| params.repetition_penalty = None,
            |params| params.repetition_penalty = Some(0.99),
            |params| params.frequency_penalty = Some(-0.01),
            |params| params.presence_penalty = Some(-0.01),
            |params| params.dry_multiplier = Some(0.8),
            |params| params.top_n_sigma = Some(1.0),
            |params| params.dynatemp_range = Some(0.5),
            |params| params.smoothing_factor = Some(0.5),
            |params| (params.top_k, params.min_p) = (None, None),
            |params| (params.top_k, params.min_keep) = (None, 2),
        ];
        assert!(all.iter().all(|&change| with(change).is_none()));
        let between = [Stage::Repetition, Stage::Temperature, Stage::Frequency, Stage::TopK];
        let order = between.into_iter().chain(Stage::soft().filter(|stage| !between.contains(stage)));
        let params =
            Params { order: Some(order.collect()), frequency_penalty: Some(1.0), top_k: Some(4), ..Params::default() };
        assert!(is_best(Plan::new(&params).reach, 4));
        let params = Params { repetition_penalty: Some(2.0), temperature: 0.5, ..params };
        assert!(Plan::new(&params).reach.is_none());
    }
}
