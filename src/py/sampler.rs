//! `Sampler`, as Python sees it.

use std::sync::{Mutex, MutexGuard, TryLockError};

use numpy::{PyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::array::{Mask, Masks, Row, Rows};
use super::detached;
use super::error::in_use;
use super::params::{PyParams, values};
use crate::{Draw, Params, Sampler, Trace};

/// See `_native.pyi`.
///
/// Frozen, with a lock that is never waited for, so that the error of a second call is one of ours.
#[pyclass(name = "Sampler", module = "sortition._native", frozen)]
pub(super) struct PySampler(Mutex<Sampler>);

impl PySampler {
    fn wrapping(sampler: Sampler) -> Self {
        Self(Mutex::new(sampler))
    }

    /// The sampler, for one call alone.
    pub(super) fn enter(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Sampler>> {
        match self.0.try_lock() {
            Ok(sampler) => Ok(sampler),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use(py)),
        }
    }
}

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
        Ok(Self::wrapping(Sampler::new(params, &prompt, vocab_size, &stop_tokens, stream)?))
    }

    #[pyo3(signature = (logits, mask=None))]
    fn sample(&self, py: Python<'_>, logits: Row<'_>, mask: Option<Mask<'_>>) -> PyResult<u32> {
        let row = logits.scores()?;
        let mask = mask.as_ref().map(Mask::words).transpose()?;
        let sampler = &mut *self.enter(py)?;
        detached(py, || sampler.sample(row, mask))
    }

    fn draw<'py>(
        &self,
        py: Python<'py>,
        logits: Row<'_>,
        mask: Option<Mask<'_>>,
        top: usize,
        trace: bool,
    ) -> PyResult<DrawTuple<'py>> {
        let row = logits.scores()?;
        let mask = mask.as_ref().map(Mask::words).transpose()?;
        let sampler = &mut *self.enter(py)?;
        let draw =
            detached(py, || if trace { sampler.draw_traced(row, mask, top) } else { sampler.draw(row, mask, top) })?;
        let Draw { token, logprob, raw_logprob, rank, top, kept, trace } = draw;
        Ok((token, logprob, raw_logprob, rank, top, kept, trace.map(|trace| record(py, &trace))))
    }

    fn process(
        &self,
        py: Python<'_>,
        logits: Row<'_>,
        mask: Option<Mask<'_>>,
        mut out: PyReadwriteArray1<'_, f32>,
    ) -> PyResult<()> {
        let row = logits.scores()?;
        let mask = mask.as_ref().map(Mask::words).transpose()?;
        let out = out.as_slice_mut()?;
        let sampler = &mut *self.enter(py)?;
        detached(py, || sampler.process(row, mask, out))
    }

    #[pyo3(signature = (rows, draft, draft_logits=None, mask=None))]
    fn verify(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        draft: Vec<u32>,
        draft_logits: Option<&Bound<'_, PyAny>>,
        mask: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<u32>> {
        let rows = Rows::new(rows.as_borrowed(), "rows")?;
        let rows = rows.slices()?;
        let draft_logits = draft_logits.map(|table| Rows::new(table.as_borrowed(), "draft_logits")).transpose()?;
        let draft_logits = draft_logits.as_ref().map(Rows::slices).transpose()?;
        let masks = mask.map(|words| Masks::new(words, rows.len())).transpose()?;
        let masks = masks.as_ref().map(Masks::words).transpose()?;
        let sampler = &mut *self.enter(py)?;
        detached(py, || sampler.verify(&rows, &draft, draft_logits.as_deref(), masks.as_deref()))
    }

    /// The stages that run, and what each needs.
    fn plan(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, &'static str)>> {
        let sampler = self.enter(py)?;
        Ok(sampler.plan().map(|stage| (stage.name(), stage.needs(sampler.params()))).collect())
    }

    fn accept(&self, py: Python<'_>, token: u32) -> PyResult<()> {
        self.enter(py)?.accept(token);
        Ok(())
    }

    fn rollback(&self, py: Python<'_>, n: usize) -> PyResult<()> {
        Ok(self.enter(py)?.rollback(n)?)
    }

    fn fork(&self, py: Python<'_>, n: u32) -> PyResult<Vec<Self>> {
        Ok(self.enter(py)?.fork(n).into_iter().map(Self::wrapping).collect())
    }

    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self::wrapping(self.enter(py)?.clone()))
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.enter(py)?.reset();
        Ok(())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let sampler = &*self.enter(py)?;
        Ok(PyBytes::new(py, &detached(py, || sampler.to_bytes())?))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, state: &[u8]) -> PyResult<Self> {
        detached(py, || Sampler::from_bytes(state)).map(Self::wrapping)
    }

    /// The parameters but for the seed, as the mapping that `Params` takes.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        values(py, self.enter(py)?.params())
    }

    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.enter(py)?.params().seed)
    }

    #[getter]
    fn prompt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(PyArray1::from_iter(py, self.enter(py)?.prompt().iter().copied().map(i64::from)))
    }

    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(PyArray1::from_iter(py, self.enter(py)?.output().iter().copied().map(i64::from)))
    }

    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.enter(py)?.position())
    }

    #[getter]
    fn stream(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.enter(py)?.stream())
    }
}

fn record<'py>(py: Python<'py>, trace: &Trace) -> TraceTuple<'py> {
    let steps = trace.steps().iter().map(|step| (step.stage.name(), step.before, step.after, step.mass, step.limit));
    (steps.collect(), PyArray1::from_slice(py, trace.fates()))
}
