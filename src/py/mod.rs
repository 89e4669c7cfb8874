//! The compiled module `sortition._native`: arrays in, GIL out, errors mapped. Nothing is computed here.
//!
//! Arrays are borrowed for the length of a call, in which the GIL is released: another thread must not write to them
//! meanwhile. The manual of the module is `_native.pyi`.

#![expect(clippy::needless_pass_by_value, reason = "arguments arrive from Python by value")]

mod array;
mod batch;
mod dlpack;
mod error;
mod functions;
mod params;
mod processor;
mod sampler;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::batch::{draw_tokens, sample_batch};
    #[pymodule_export]
    use super::dlpack::PyDLPack;
    #[pymodule_export]
    use super::functions::{
        argmax, available, entropy, log_softmax, logsumexp, num_threads, sample_rows, select_isa, set_num_threads,
        softmax, top_k, top_p, used,
    };
    #[pymodule_export]
    use super::params::{PyParams, profile};
    #[pymodule_export]
    use super::sampler::PySampler;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python modules have")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Runs `work` with the GIL released and maps its error.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, crate::Error> + Send) -> PyResult<T> {
    Ok(py.detach(work)?)
}
