//! Processors: any callable of Python, called with the interpreter attached again.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::{Failure, Processor};

/// The processor that calls `callable` with the history and the scores.
pub(super) fn processor(callable: Py<PyAny>) -> Processor {
    Processor::new(move |context, scores| {
        Python::attach(|py| {
            // Code without bytecode sees no Ctrl-C, and would be waited for row by row.
            py.check_signals().map_err(Failure::interrupt)?;
            let answer = call(callable.bind(py), context, scores).map_err(|error| raised(py, error))?;
            let answer = row(&answer, scores.len()).map_err(|error| refused(error.value(py)))?;
            scores.copy_from_slice(answer.as_slice().map_err(Failure::raised)?);
            Ok(())
        })
    })
}

/// What the callable returned; of one that returned nothing, the array that it may have changed.
fn call<'py>(callable: &Bound<'py, PyAny>, context: &[u32], scores: &[f32]) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let history = PyArray1::from_iter(py, context.iter().copied().map(i64::from));
    let shown = PyArray1::from_slice(py, scores);
    let answer = callable.call1((history, &shown))?;
    Ok(if answer.is_none() { shown.into_any() } else { answer })
}

/// An exception is the row's; whatever else is raised ends the call.
fn raised(py: Python<'_>, error: PyErr) -> Failure {
    if error.is_instance_of::<PyException>(py) { Failure::raised(error) } else { Failure::interrupt(error) }
}

/// Why the answer is none.
fn refused(error: &Bound<'_, PyAny>) -> Failure {
    let token = error.getattr("token").and_then(|token| token.extract()).ok();
    Failure::Answer { token: token.flatten(), what: error.to_string() }
}

/// The answer as a row of `length` scores.
fn row<'py>(answer: &Bound<'py, PyAny>, length: usize) -> PyResult<PyReadonlyArray1<'py, f32>> {
    let array = answer.py().import("sortition._arrays")?.getattr("answer")?.call1((answer, length))?;
    Ok(array.cast::<PyArray1<f32>>()?.try_readonly()?)
}
