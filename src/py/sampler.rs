//! `Sampler`, as Python sees it.

use numpy::{PyArray1, PyReadwriteArray1};
use pyo3::prelude::*;

use super::array::{Mask, Row};
use super::{detached, params::PyParams};
use crate::{Draw, Params, Sampler};

/// See `_native.pyi`.
#[pyclass(name = "Sampler", module = "sortition._native")]
pub(super) struct PySampler(Sampler);

/// `(token, logprob, raw_logprob, rank, top, kept)`.
type DrawTuple = (u32, f64, f64, usize, Vec<(u32, f64)>, usize);

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

    fn draw(&mut self, py: Python<'_>, logits: Row<'_>, mask: Option<Mask<'_>>, top: usize) -> PyResult<DrawTuple> {
        let row = logits.scores()?;
        let mask = mask.as_ref().map(Mask::words).transpose()?;
        let Draw { token, logprob, raw_logprob, rank, top, kept } = detached(py, || self.0.draw(row, mask, top))?;
        Ok((token, logprob, raw_logprob, rank, top, kept))
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

    fn accept(&mut self, token: u32) {
        self.0.accept(token);
    }

    fn rollback(&mut self, n: usize) -> PyResult<()> {
        Ok(self.0.rollback(n)?)
    }

    fn fork(&self, n: u32) -> Vec<Self> {
        self.0.fork(n).into_iter().map(Self).collect()
    }

    fn reset(&mut self) {
        self.0.reset();
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
