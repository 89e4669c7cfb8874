//! `Params`, as Python hands them over: types are settled there, ranges here.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::processor::processor;
use crate::error::quoted;
use crate::stage::ordered;
use crate::{Dry, Error, Params, Processor, Profile, Reach, Readings, Scope, Stage};

/// Checked parameters, without the seed.
#[pyclass(name = "Params", module = "sortition._native", frozen)]
pub(super) struct PyParams(pub(super) Params);

/// `(scope, window, exclude)` of a penalty.
type ReachTuple = (String, Option<u64>, Vec<u32>);

/// `(base, allowed length, window, breakers)` of the DRY penalty.
type DryTuple = (f64, u64, Option<u64>, Vec<Vec<u32>>);

/// The entries of the dictionary: of every parameter the type there, and what reads it and writes it where the core has
/// another type.
macro_rules! values {
    ($($field:ident: $type:ty $(, [$($read:tt)*], [$write:ident])?;)*) => {
        #[derive(FromPyObject, IntoPyObject)]
        #[pyo3(from_item_all)]
        struct Values {
            $($field: $type,)*
        }

        impl TryFrom<Values> for Params {
            type Error = Error;

            fn try_from(values: Values) -> Result<Self, Error> {
                Ok(Self { $($field: values!(@ values.$field $(, $($read)*)?),)* seed: 0 })
            }
        }

        impl From<Params> for Values {
            fn from(params: Params) -> Self {
                Self { $($field: values!(@ params.$field $(, $write)?),)* }
            }
        }
    };
    (@ $value:expr) => { $value };
    (@ $value:expr, $by:ident) => { $by($value) };
    (@ $value:expr, $by:ident?) => { $by($value)? };
}

values! {
    temperature: f64;
    dynatemp_range: Option<f64>;
    dynatemp_exponent: f64;
    smoothing_factor: Option<f64>;
    smoothing_curve: f64;
    top_n_sigma: Option<f64>;
    min_k: Option<f64>;
    top_k: Option<u64>;
    typical_p: Option<f64>;
    top_p: Option<f64>;
    min_p: Option<f64>;
    p_less: Option<f64>;
    epsilon: Option<f64>;
    eta: Option<f64>;
    top_a: Option<f64>;
    tfs: Option<f64>;
    top_h: Option<f64>;
    xtc_probability: Option<f64>;
    xtc_threshold: f64;
    xtc_protect: Vec<u32>;
    mirostat: Option<u32>;
    mirostat_tau: f64;
    mirostat_eta: f64;
    adaptive_target: Option<f64>;
    adaptive_decay: f64;
    repetition_penalty: Option<f64>;
    repetition: ReachTuple, [reach], [reach_tuple];
    frequency_penalty: Option<f64>;
    frequency: ReachTuple, [reach], [reach_tuple];
    presence_penalty: Option<f64>;
    presence: ReachTuple, [reach], [reach_tuple];
    no_repeat_ngram: Option<u64>;
    dry_multiplier: Option<f64>;
    dry: DryTuple, [dry], [dry_tuple];
    processors: Vec<Py<PyAny>>, [callables], [unknown];
    logit_bias: Vec<(u32, f64)>;
    suppress: Vec<u32>;
    allowed_ids: Option<Vec<u32>>;
    bad_words: Vec<Vec<u32>>;
    min_tokens: u64;
    min_keep: u64;
    order: Option<Vec<String>>, [order?], [order_names];
    readings: Vec<String>, [readings?], [readings_on];
}

#[pymethods]
impl PyParams {
    #[new]
    fn new(values: Values) -> PyResult<Self> {
        let params = Params::try_from(values)?;
        params.check()?;
        Ok(Self(params))
    }

    /// The names of the readings that are on, in their order.
    #[getter]
    fn readings(&self) -> Vec<&'static str> {
        self.0.readings.on()
    }
}

/// The mapping that [`PyParams::new`] takes, of parameters without processors.
pub(super) fn values<'py>(py: Python<'py>, params: &Params) -> PyResult<Bound<'py, PyDict>> {
    Values::from(params.clone()).into_pyobject(py)
}

const READINGS: &str = "among top_k_ties, typical_ties, typical_exceeds, floor_ties, top_h_whole, \
                        bad_words_output_only, greedy_after_cuts, xtc_or_nothing";

fn dry((base, allowed_length, window, breakers): DryTuple) -> Dry {
    Dry { base, allowed_length, window: window.map(|window| usize::try_from(window).unwrap_or(usize::MAX)), breakers }
}

fn dry_tuple(Dry { base, allowed_length, window, breakers }: Dry) -> DryTuple {
    (base, allowed_length, window.map(|window| window as u64), breakers)
}

fn reach((scope, window, exclude): ReachTuple) -> Reach {
    let scope = if scope == "output" { Scope::Output } else { Scope::All };
    Reach { scope, window: window.map(|window| usize::try_from(window).unwrap_or(usize::MAX)), exclude }
}

fn reach_tuple(Reach { scope, window, exclude }: Reach) -> ReachTuple {
    let scope = if scope == Scope::Output { "output" } else { "all" };
    (scope.to_owned(), window.map(|window| window as u64), exclude)
}

fn callables(processors: Vec<Py<PyAny>>) -> Vec<Processor> {
    processors.into_iter().map(processor).collect()
}

/// Of processors the core knows that they can be called, and no more.
fn unknown(_: Vec<Processor>) -> Vec<Py<PyAny>> {
    Vec::new()
}

fn order(names: Option<Vec<String>>) -> Result<Option<Vec<Stage>>, Error> {
    names.map(|names| ordered(names.iter().map(String::as_str))).transpose()
}

fn order_names(order: Option<Vec<Stage>>) -> Option<Vec<String>> {
    order.map(|order| order.into_iter().map(|stage| stage.name().to_owned()).collect())
}

fn readings(names: Vec<String>) -> Result<Readings, Error> {
    let mut readings = Readings::default();
    for name in names {
        let unknown = || Error::Range { name: "readings", range: READINGS, value: quoted(&name) };
        *readings.named(&name).ok_or_else(unknown)? = true;
    }
    Ok(readings)
}

fn readings_on(readings: Readings) -> Vec<String> {
    readings.on().into_iter().map(str::to_owned).collect()
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
