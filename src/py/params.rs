//! `Params`, as Python hands them over: types are settled there, ranges here.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::processor::processor;
use crate::{Dry, Error, Params, Profile, Reach, Readings, Scope, Stage};

/// Checked parameters, without the seed.
#[pyclass(name = "Params", module = "sortition._native", frozen)]
pub(super) struct PyParams(pub(super) Params);

/// `(scope, window, exclude)` of a penalty.
type ReachTuple = (String, Option<u64>, Vec<u32>);

/// `(base, allowed length, window, breakers)` of the DRY penalty.
type DryTuple = (f64, u64, Option<u64>, Vec<Vec<u32>>);

/// The entries of the dictionary, one for every parameter.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
struct Values {
    temperature: f64,
    dynatemp_range: Option<f64>,
    dynatemp_exponent: f64,
    smoothing_factor: Option<f64>,
    smoothing_curve: f64,
    top_n_sigma: Option<f64>,
    min_k: Option<f64>,
    top_k: Option<u64>,
    typical_p: Option<f64>,
    top_p: Option<f64>,
    min_p: Option<f64>,
    p_less: Option<f64>,
    epsilon: Option<f64>,
    eta: Option<f64>,
    top_a: Option<f64>,
    tfs: Option<f64>,
    top_h: Option<f64>,
    xtc_probability: Option<f64>,
    xtc_threshold: f64,
    xtc_protect: Vec<u32>,
    mirostat: Option<u32>,
    mirostat_tau: f64,
    mirostat_eta: f64,
    adaptive_target: Option<f64>,
    adaptive_decay: f64,
    repetition_penalty: Option<f64>,
    repetition: ReachTuple,
    frequency_penalty: Option<f64>,
    frequency: ReachTuple,
    presence_penalty: Option<f64>,
    presence: ReachTuple,
    no_repeat_ngram: Option<u64>,
    dry_multiplier: Option<f64>,
    dry: DryTuple,
    processors: Vec<Py<PyAny>>,
    logit_bias: Vec<(u32, f64)>,
    suppress: Vec<u32>,
    allowed_ids: Option<Vec<u32>>,
    bad_words: Vec<Vec<u32>>,
    min_tokens: u64,
    min_keep: u64,
    order: Option<Vec<String>>,
    readings: Vec<String>,
}

#[pymethods]
impl PyParams {
    #[new]
    fn new(values: Values) -> PyResult<Self> {
        let params = Params {
            temperature: values.temperature,
            dynatemp_range: values.dynatemp_range,
            dynatemp_exponent: values.dynatemp_exponent,
            smoothing_factor: values.smoothing_factor,
            smoothing_curve: values.smoothing_curve,
            top_n_sigma: values.top_n_sigma,
            min_k: values.min_k,
            top_k: values.top_k,
            typical_p: values.typical_p,
            top_p: values.top_p,
            min_p: values.min_p,
            p_less: values.p_less,
            epsilon: values.epsilon,
            eta: values.eta,
            top_a: values.top_a,
            tfs: values.tfs,
            top_h: values.top_h,
            xtc_probability: values.xtc_probability,
            xtc_threshold: values.xtc_threshold,
            xtc_protect: values.xtc_protect,
            mirostat: values.mirostat,
            mirostat_tau: values.mirostat_tau,
            mirostat_eta: values.mirostat_eta,
            adaptive_target: values.adaptive_target,
            adaptive_decay: values.adaptive_decay,
            repetition_penalty: values.repetition_penalty,
            repetition: reach(values.repetition),
            frequency_penalty: values.frequency_penalty,
            frequency: reach(values.frequency),
            presence_penalty: values.presence_penalty,
            presence: reach(values.presence),
            no_repeat_ngram: values.no_repeat_ngram,
            dry_multiplier: values.dry_multiplier,
            dry: dry(values.dry),
            processors: values.processors.into_iter().map(processor).collect(),
            logit_bias: values.logit_bias,
            suppress: values.suppress,
            allowed_ids: values.allowed_ids,
            bad_words: values.bad_words,
            min_tokens: values.min_tokens,
            min_keep: values.min_keep,
            order: values.order.map(|names| order(&names)).transpose()?,
            readings: readings(&values.readings)?,
            seed: 0,
        };
        params.check()?;
        Ok(Self(params))
    }

    /// The names of the readings that are on, in their order.
    #[getter]
    fn readings(&self) -> Vec<&'static str> {
        self.0.readings.on()
    }
}

impl From<Params> for Values {
    /// Without the processors: of those the core knows that they can be called, and no more.
    fn from(params: Params) -> Self {
        Self {
            temperature: params.temperature,
            dynatemp_range: params.dynatemp_range,
            dynatemp_exponent: params.dynatemp_exponent,
            smoothing_factor: params.smoothing_factor,
            smoothing_curve: params.smoothing_curve,
            top_n_sigma: params.top_n_sigma,
            min_k: params.min_k,
            top_k: params.top_k,
            typical_p: params.typical_p,
            top_p: params.top_p,
            min_p: params.min_p,
            p_less: params.p_less,
            epsilon: params.epsilon,
            eta: params.eta,
            top_a: params.top_a,
            tfs: params.tfs,
            top_h: params.top_h,
            xtc_probability: params.xtc_probability,
            xtc_threshold: params.xtc_threshold,
            xtc_protect: params.xtc_protect,
            mirostat: params.mirostat,
            mirostat_tau: params.mirostat_tau,
            mirostat_eta: params.mirostat_eta,
            adaptive_target: params.adaptive_target,
            adaptive_decay: params.adaptive_decay,
            repetition_penalty: params.repetition_penalty,
            repetition: reach_tuple(params.repetition),
            frequency_penalty: params.frequency_penalty,
            frequency: reach_tuple(params.frequency),
            presence_penalty: params.presence_penalty,
            presence: reach_tuple(params.presence),
            no_repeat_ngram: params.no_repeat_ngram,
            dry_multiplier: params.dry_multiplier,
            dry: dry_tuple(params.dry),
            processors: Vec::new(),
            logit_bias: params.logit_bias,
            suppress: params.suppress,
            allowed_ids: params.allowed_ids,
            bad_words: params.bad_words,
            min_tokens: params.min_tokens,
            min_keep: params.min_keep,
            order: params.order.map(|order| order.into_iter().map(|stage| stage.name().to_owned()).collect()),
            readings: params.readings.on().into_iter().map(str::to_owned).collect(),
        }
    }
}

/// The mapping that [`PyParams::new`] takes, of parameters without processors.
pub(super) fn values<'py>(py: Python<'py>, params: &Params) -> PyResult<Bound<'py, PyDict>> {
    Values::from(params.clone()).into_pyobject(py)
}

const READINGS: &str = "among top_k_ties, typical_ties, typical_exceeds, floor_ties, top_h_whole, \
                        bad_words_output_only, greedy_after_cuts, xtc_or_nothing";

/// As Python shows a name.
fn quoted(name: &str) -> String {
    format!("'{name}'")
}

fn dry((base, allowed_length, window, breakers): DryTuple) -> Dry {
    Dry { base, allowed_length, window: window.map(|window| usize::try_from(window).unwrap_or(usize::MAX)), breakers }
}

fn reach((scope, window, exclude): ReachTuple) -> Reach {
    let scope = if scope == "output" { Scope::Output } else { Scope::All };
    Reach { scope, window: window.map(|window| usize::try_from(window).unwrap_or(usize::MAX)), exclude }
}

fn dry_tuple(Dry { base, allowed_length, window, breakers }: Dry) -> DryTuple {
    (base, allowed_length, window.map(|window| window as u64), breakers)
}

fn reach_tuple(Reach { scope, window, exclude }: Reach) -> ReachTuple {
    let scope = if scope == Scope::Output { "output" } else { "all" };
    (scope.to_owned(), window.map(|window| window as u64), exclude)
}

fn order(names: &[String]) -> Result<Vec<Stage>, Error> {
    let unknown = |name: &str| Error::Range { name: "order", range: "every soft stage once", value: quoted(name) };
    names.iter().map(|name| Stage::named(name).ok_or_else(|| unknown(name))).collect()
}

fn readings(names: &[String]) -> Result<Readings, Error> {
    let mut readings = Readings::default();
    for name in names {
        let unknown = || Error::Range { name: "readings", range: READINGS, value: quoted(name) };
        *readings.named(name).ok_or_else(unknown)? = true;
    }
    Ok(readings)
}

/// A profile by its name: order, readings, and the parameters of penalties.
#[pyfunction]
pub(super) fn profile<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let profile = Profile::named(name).ok_or_else(|| Error::Range {
        name: "profile",
        range: "one of sortition, transformers, vllm, openai, llama.cpp",
        value: quoted(name),
    })?;
    let fields = PyDict::new(py);
    fields.set_item("name", profile.name)?;
    fields.set_item("order", profile.order.into_iter().map(Stage::name).collect::<Vec<_>>())?;
    fields.set_item("readings", profile.readings.on())?;
    for (penalty, reach) in
        [("repetition", &profile.repetition), ("frequency", &profile.additive), ("presence", &profile.additive)]
    {
        let (scope, window, _) = reach_tuple(reach.clone());
        fields.set_item(format!("{penalty}_scope"), scope)?;
        fields.set_item(format!("{penalty}_window"), window)?;
    }
    fields.set_item("dry_window", profile.dry_window)?;
    Ok(fields)
}
