//! The one place where an error becomes an exception.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{Error, Failure};

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        Python::attach(|py| match exception(py, &error) {
            Ok(exception) => match error.row() {
                Some(row) => in_row(py, PyErr::from_value(exception), row),
                None => PyErr::from_value(exception),
            },
            Err(failure) => failure,
        })
    }
}

/// The exception of a row that is marked: its own, although a processor may raise one object for many.
pub(super) fn own_exception(py: Python<'_>, error: &Error, row: usize) -> PyErr {
    let own = || {
        let raised = exception(py, error)?;
        py.import("sortition.errors")?.getattr("twin")?.call1((raised,))
    };
    own().map_or_else(|failure| failure, |own| in_row(py, PyErr::from_value(own), row))
}

/// The exception of one row; of whatever class it is, it says which.
pub(super) fn in_row(py: Python<'_>, exception: PyErr, row: usize) -> PyErr {
    // One that takes no attributes goes as it is.
    let _ = exception.value(py).setattr("row", row);
    exception
}

/// The exception of a second call on one sampler.
pub(super) fn in_use(py: Python<'_>) -> PyErr {
    let what = "this sampler is in use by another call: it serves one at a time, and none of its own processors";
    made(py, "SamplerInUseError", what, None).map_or_else(|failure| failure, PyErr::from_value)
}

/// An instance of the class in `sortition.errors`, with what it knows of the place.
fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    if let Error::Processor { failure: Failure::Raised(own) | Failure::Interrupt(own), .. } = error
        && let Some(own) = own.downcast_ref::<PyErr>()
    {
        return Ok(own.clone_ref(py).into_value(py).into_bound(py).into_any());
    }
    let fields = PyDict::new(py);
    let class = match error {
        Error::Range { .. } | Error::UnknownToken { .. } => "ParameterError",
        Error::RowLength { .. } => "LogitsError",
        Error::Draft { token, .. } => {
            fields.set_item("token", token)?;
            "LogitsError"
        }
        Error::BadScore { token, .. } => {
            fields.set_item("token", token)?;
            "LogitsError"
        }
        Error::Processor { failure, .. } => {
            let token = if let Failure::Answer { token, .. } = failure { *token } else { None };
            fields.set_item("token", token)?;
            fields.set_item("stage", crate::Stage::Custom.name())?;
            "LogitsError"
        }
        Error::NoCandidate { stage, .. } => {
            fields.set_item("stage", stage.map(crate::Stage::name))?;
            "NoCandidateError"
        }
    };
    made(py, class, &error.to_string(), Some(&fields))
}

/// An instance of a class in `sortition.errors`.
fn made<'py>(
    py: Python<'py>,
    class: &str,
    message: &str,
    fields: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("sortition.errors")?.getattr(class)?.call((message,), fields)
}
