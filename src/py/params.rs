//! `Params`, as Python hands them over: types are settled there, ranges here.

use pyo3::prelude::*;

use crate::{Params, Reach, Scope};

/// Checked parameters, without the seed.
#[pyclass(name = "Params", module = "sortition._native", frozen)]
pub(super) struct PyParams(pub(super) Params);

/// `(scope, window, exclude)` of a penalty.
type ReachTuple = (String, Option<u64>, Vec<u32>);

#[pymethods]
impl PyParams {
    #[new]
    #[pyo3(signature = (
        *, temperature, top_k, top_p, min_p, repetition_penalty, repetition, frequency_penalty, frequency,
        presence_penalty, presence, logit_bias, suppress, allowed_ids, min_tokens, min_keep,
    ))]
    #[expect(clippy::too_many_arguments, reason = "one for every parameter")]
    fn new(
        temperature: f64,
        top_k: Option<u64>,
        top_p: Option<f64>,
        min_p: Option<f64>,
        repetition_penalty: Option<f64>,
        repetition: ReachTuple,
        frequency_penalty: Option<f64>,
        frequency: ReachTuple,
        presence_penalty: Option<f64>,
        presence: ReachTuple,
        logit_bias: Vec<(u32, f64)>,
        suppress: Vec<u32>,
        allowed_ids: Option<Vec<u32>>,
        min_tokens: u64,
        min_keep: u64,
    ) -> PyResult<Self> {
        let params = Params {
            temperature,
            top_k,
            top_p,
            min_p,
            repetition_penalty,
            repetition: reach(repetition),
            frequency_penalty,
            frequency: reach(frequency),
            presence_penalty,
            presence: reach(presence),
            logit_bias,
            suppress,
            allowed_ids,
            min_tokens,
            min_keep,
            seed: 0,
        };
        params.check()?;
        Ok(Self(params))
    }
}

fn reach((scope, window, exclude): ReachTuple) -> Reach {
    let scope = if scope == "output" { Scope::Output } else { Scope::All };
    Reach { scope, window: window.map(|window| usize::try_from(window).unwrap_or(usize::MAX)), exclude }
}
