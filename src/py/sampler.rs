//! `Sampler`, as Python sees it.

use numpy::{PyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::array::{Mask, Masks, Row, Rows};
use super::detached;
use super::params::{PyParams, values};
use crate::{Draw, Params, Sampler, Trace};

/// See `_native.pyi`.
#[pyclass(name = "Sampler", module = "sortition._native")]
pub(super) struct PySampler(Sampler);

/// `(token, logprob, raw_logprob, rank, top, kept, trace)`.
type DrawTuple<'py> = (u32, f64, f64, usize, Vec<(u32, f64)>, usize, Option<TraceTuple<'py>>);

/// `(stage, before, after, mass, limit)` of each step, and the fate of each token.
type TraceTuple<'py> = (Vec<(&'static str, usize, usize, f64, Option<f64>)>, Bound<'py, PyArray1<u8>>);

#[pymethods]
impl PySampler {
    #[new]
    fn new(
        params: &PyParams,
        seed: u64,
        prompt: Vec<u32>,
        vocab_size: Option<usize>,
        stop_tokens: Vec<u32>,
        stream: u32,
    ) -> PyResult<Self> {
        let params = Params { seed, ..params.0.clone() };
        Ok(Self(Sampler::new(params, &prompt, vocab_size, &stop_tokens, stream)?))
    }

    #[pyo3(signature = (logits, mask=None))]
    fn sample(&mut self, py: Python<'_>, logits: Row<'_>, mask: Option<Mask<'_>>) -> PyResult<u32> {
        let row = logits.scores()?;
        let mask = mask.as_ref().map(Mask::words).transpose()?;
        detached(py, || self.0.sample(row, mask))
    }

    fn draw<'py>(
        &mut self,
        py: Python<'py>,
        logits: Row<'_>,
        mask: Option<Mask<'_>>,
        top: usize,
        trace: bool,
    ) -> PyResult<DrawTuple<'py>> {
        let row = logits.scores()?;
        let mask = mask.as_ref().map(Mask::words).transpose()?;
        let draw =
            detached(py, || if trace { self.0.draw_traced(row, mask, top) } else { self.0.draw(row, mask, top) })?;
        let Draw { token, logprob, raw_logprob, rank, top, kept, trace } = draw;
        Ok((token, logprob, raw_logprob, rank, top, kept, trace.map(|trace| record(py, &trace))))
    }

    fn process(
        &mut self,
        py: Python<'_>,
        logits: Row<'_>,
        mask: Option<Mask<'_>>,
        mut out: PyReadwriteArray1<'_, f32>,
    ) -> PyResult<()> {
        let row = logits.scores()?;
        let mask = mask.as_ref().map(Mask::words).transpose()?;
        let out = out.as_slice_mut()?;
        detached(py, || self.0.process(row, mask, out))
    }

    #[pyo3(signature = (rows, draft, draft_logits=None, mask=None))]
    fn verify(
        &mut self,
        py: Python<'_>,
        rows: Rows<'_>,
        draft: Vec<u32>,
        draft_logits: Option<Rows<'_>>,
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<u32>> {
        let rows = rows.slices()?;
        let draft_logits = draft_logits.as_ref().map(Rows::slices).transpose()?;
        let masks = mask.map(|words| Masks::new(words, rows.len())).transpose()?;
        let masks = masks.as_ref().map(Masks::words).transpose()?;
        detached(py, || self.0.verify(&rows, &draft, draft_logits.as_deref(), masks.as_deref()))
    }

    /// The stages that run, and what each needs.
    fn plan(&self) -> Vec<(&'static str, &'static str)> {
        self.0.plan().map(|stage| (stage.name(), stage.needs())).collect()
    }

    fn accept(&mut self, token: u32) {
        self.0.accept(token);
    }

    fn rollback(&mut self, n: usize) -> PyResult<()> {
        Ok(self.0.rollback(n)?)
    }

    fn fork(&self, n: u32) -> Vec<Self> {
        self.0.fork(n).into_iter().map(Self).collect()
    }

    fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &detached(py, || self.0.to_bytes())?))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        detached(py, || Sampler::from_bytes(state)).map(Self)
    }

    /// The parameters but for the seed, as the mapping that `Params` takes.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values(py, self.0.params())
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.params().seed
    }

    #[getter]
    fn prompt<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.0.prompt().iter().copied().map(i64::from))
    }

    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.0.output().iter().copied().map(i64::from))
    }

    #[getter]
    fn position(&self) -> u64 {
        self.0.position()
    }

    #[getter]
    fn stream(&self) -> u32 {
        self.0.stream()
    }
}

fn record<'py>(py: Python<'py>, trace: &Trace) -> TraceTuple<'py> {
    let steps = trace.steps().iter().map(|step| (step.stage.name(), step.before, step.after, step.mass, step.limit));
    (steps.collect(), PyArray1::from_slice(py, trace.fates()))
}
