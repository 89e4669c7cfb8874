//! The kernels as functions of the rows of an array, and the instruction sets.

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadwriteArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::{IntoPyObjectExt, prelude::*};

use super::array::{Rows, own};
use super::{detached, params::PyParams};
use crate::{Error, Params, Scores, batch, kernels};

/// `work` on every row, which takes about as long as `effort` reads of it; GIL released.
fn each<T: Send>(
    py: Python<'_>,
    array: &Rows<'_>,
    effort: usize,
    work: impl Fn(Scores<'_>) -> Result<T, Error> + Send + Sync,
) -> PyResult<Vec<T>> {
    let rows = array.slices()?;
    detached(py, || batch::each(&rows, effort, |_, row| work(row)))
}

/// `work` on every row and the row of `out` for it.
fn write(
    py: Python<'_>,
    array: &Rows<'_>,
    out: &Bound<'_, PyArray2<f32>>,
    effort: usize,
    work: impl Fn(Scores<'_>, &mut [f32]) -> Result<(), Error> + Send + Sync,
) -> PyResult<()> {
    let rows = array.slices()?;
    let mut out = own(out)?;
    let out = out.as_slice_mut()?;
    detached(py, || batch::write(&rows, out, effort, work))
}

/// What `work` makes of a row: a number for one, for several an array of the shape that `x` has without its last axis.
fn per_row<'py, T>(
    x: &Bound<'py, PyAny>,
    effort: usize,
    work: impl Fn(Scores<'_>) -> Result<T, Error> + Send + Sync,
) -> PyResult<Bound<'py, PyAny>>
where
    T: Element + Copy + IntoPyObject<'py>,
{
    let py = x.py();
    match Rows::borrowed(x.as_borrowed(), "x")? {
        Some(Rows::One(row)) => {
            let row = row.scores()?;
            return detached(py, || work(row))?.into_bound_py_any(py);
        }
        Some(rows) => return Ok(PyArray1::from_vec(py, each(py, &rows, effort, work)?).into_any()),
        None => {}
    }
    let array = py.import("sortition._arrays")?.getattr("scores")?.call1((x, "x"))?;
    let values = each(py, &Rows::new(array.as_borrowed(), "x")?, effort, work)?;
    match (array.cast::<PyUntypedArray>()?.shape(), &values[..]) {
        ([_], &[value]) => value.into_bound_py_any(py),
        (shape, _) => Ok(PyArray1::from_vec(py, values).reshape(&shape[..shape.len() - 1])?.into_any()),
    }
}

#[pyfunction]
pub(super) fn argmax<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    per_row(x, 1, |row| crate::argmax(row).map(i64::from))
}

#[pyfunction]
pub(super) fn logsumexp<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    per_row(x, 3, |row| crate::logsumexp(row))
}

#[pyfunction]
pub(super) fn entropy<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    per_row(x, 4, |row| crate::entropy(row))
}

/// Scores and ids.
type Best<'py> = (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<i64>>);

/// The best tokens of every row, one row after another.
#[pyfunction]
pub(super) fn top_k<'py>(py: Python<'py>, logits: Rows<'py>, k: usize) -> PyResult<Best<'py>> {
    let best = each(py, &logits, 1, |row| crate::top_k(row, k))?.concat();
    let values: Vec<_> = best.iter().map(|&(_, score)| score).collect();
    let ids: Vec<_> = best.iter().map(|&(token, _)| token.into()).collect();
    // Copied: an array that owns a vector is an object more.
    Ok((PyArray1::from_slice(py, &values), PyArray1::from_slice(py, &ids)))
}

#[pyfunction]
pub(super) fn top_p(py: Python<'_>, logits: Rows<'_>, p: f64) -> PyResult<Vec<Vec<u32>>> {
    each(py, &logits, 6, |row| crate::top_p(row, p))
}

#[pyfunction]
pub(super) fn softmax(
    py: Python<'_>,
    logits: Rows<'_>,
    temperature: f64,
    out: &Bound<'_, PyArray2<f32>>,
) -> PyResult<()> {
    write(py, &logits, out, 3, |row, out| crate::softmax(row, temperature, out))
}

#[pyfunction]
pub(super) fn log_softmax(py: Python<'_>, logits: Rows<'_>, out: &Bound<'_, PyArray2<f32>>) -> PyResult<()> {
    write(py, &logits, out, 3, |row, out| crate::log_softmax(row, out))
}

/// Draws a token for every row, row `r` from stream `r`.
#[pyfunction]
pub(super) fn sample_rows(
    py: Python<'_>,
    logits: &Bound<'_, PyAny>,
    params: &PyParams,
    seed: u64,
    mut out: PyReadwriteArray1<'_, i64>,
) -> PyResult<()> {
    let rows = Rows::new(logits.as_borrowed(), "logits")?;
    let rows = rows.slices()?;
    let out = out.as_slice_mut()?;
    let params = Params { seed, ..params.0.clone() };
    let tokens = detached(py, || crate::sample_rows(&rows, params))?;
    for (out, token) in out.iter_mut().zip(tokens) {
        *out = token.into();
    }
    Ok(())
}

/// How many threads rows are spread over.
#[pyfunction]
pub(super) fn num_threads() -> usize {
    crate::num_threads()
}

/// Bounds the threads.
#[pyfunction]
pub(super) fn set_num_threads(threads: usize) -> PyResult<()> {
    Ok(crate::set_num_threads(threads)?)
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
