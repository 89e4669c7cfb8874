//! The kernels as functions of the rows of an array, and the instruction sets.

use numpy::{PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::array::rows;
use super::{detached, params::PyParams};
use crate::{Error, Params, Sampler, kernels};

type Rows<'py> = PyReadonlyArray2<'py, f32>;

/// `work` on every row, GIL released; an error names the row if there are several.
fn each<T: Send>(
    py: Python<'_>,
    array: &Rows<'_>,
    work: impl Fn(&[f32]) -> Result<T, Error> + Send + Sync,
) -> PyResult<Vec<T>> {
    let rows = rows(array)?;
    detached(py, || rows.iter().enumerate().map(|(i, row)| work(row).map_err(|error| place(error, i, &rows))).collect())
}

/// `work` on every row and the row of `out` for it.
fn write(
    py: Python<'_>,
    array: &Rows<'_>,
    mut out: PyReadwriteArray2<'_, f32>,
    work: impl Fn(&[f32], &mut [f32]) -> Result<(), Error> + Send + Sync,
) -> PyResult<()> {
    let rows = rows(array)?;
    let length = rows.first().map_or(1, |row| row.len().max(1));
    let out = out.as_slice_mut()?;
    detached(py, || {
        let mut pairs = rows.iter().zip(out.chunks_mut(length)).enumerate();
        pairs.try_for_each(|(i, (row, out))| work(row, out).map_err(|error| place(error, i, &rows)))
    })
}

fn place(error: Error, row: usize, rows: &[&[f32]]) -> Error {
    if rows.len() > 1 { error.in_row(row) } else { error }
}

#[pyfunction]
pub(super) fn argmax(py: Python<'_>, logits: Rows<'_>) -> PyResult<Vec<u32>> {
    each(py, &logits, crate::argmax)
}

#[pyfunction]
pub(super) fn logsumexp(py: Python<'_>, logits: Rows<'_>) -> PyResult<Vec<f64>> {
    each(py, &logits, crate::logsumexp)
}

#[pyfunction]
pub(super) fn entropy(py: Python<'_>, logits: Rows<'_>) -> PyResult<Vec<f64>> {
    each(py, &logits, crate::entropy)
}

/// Writes the best tokens of every row, as many as `values` and `ids` have columns.
#[pyfunction]
pub(super) fn top_k(
    py: Python<'_>,
    logits: Rows<'_>,
    mut values: PyReadwriteArray2<'_, f32>,
    mut ids: PyReadwriteArray2<'_, i64>,
) -> PyResult<()> {
    let k = values.shape()[1];
    let best = each(py, &logits, |row| crate::top_k(row, k))?;
    let places = values.as_slice_mut()?.iter_mut().zip(ids.as_slice_mut()?);
    for ((value, id), (token, score)) in places.zip(best.into_iter().flatten()) {
        (*value, *id) = (score, token.into());
    }
    Ok(())
}

#[pyfunction]
pub(super) fn top_p(py: Python<'_>, logits: Rows<'_>, p: f64) -> PyResult<Vec<Vec<u32>>> {
    each(py, &logits, |row| crate::top_p(row, p))
}

#[pyfunction]
pub(super) fn softmax(
    py: Python<'_>,
    logits: Rows<'_>,
    temperature: f64,
    out: PyReadwriteArray2<'_, f32>,
) -> PyResult<()> {
    write(py, &logits, out, |row, out| crate::softmax(row, temperature, out))
}

#[pyfunction]
pub(super) fn log_softmax(py: Python<'_>, logits: Rows<'_>, out: PyReadwriteArray2<'_, f32>) -> PyResult<()> {
    write(py, &logits, out, crate::log_softmax)
}

/// Draws a token for every row, row `r` from stream `r`.
#[pyfunction]
pub(super) fn sample_rows(
    py: Python<'_>,
    logits: Rows<'_>,
    params: &PyParams,
    seed: u64,
    mut out: PyReadwriteArray1<'_, i64>,
) -> PyResult<()> {
    let rows = rows(&logits)?;
    let out = out.as_slice_mut()?;
    let mut sampler = Sampler::new(Params { seed, ..params.0.clone() }, &[], None, &[], 0)?;
    detached(py, || {
        for ((stream, row), out) in (0..).zip(&rows).zip(out) {
            let token = sampler.choose(row, None, stream).map_err(|error| place(error, stream as usize, &rows))?;
            *out = token.into();
        }
        Ok(())
    })
}

/// The instruction sets that this CPU can run, best first.
#[pyfunction]
pub(super) fn available() -> Vec<&'static str> {
    kernels::available().map(kernels::Kernels::name).collect()
}

/// The instruction set in use.
#[pyfunction]
pub(super) fn used() -> &'static str {
    kernels::active().name()
}

/// Chooses the instruction set before the first use; whether it is in use now.
#[pyfunction]
pub(super) fn select_isa(name: &str) -> bool {
    kernels::select(name)
}
