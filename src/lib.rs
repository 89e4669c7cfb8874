//! Exact, reproducible token sampling for language models.

#[cfg(feature = "python")]
#[pyo3::pymodule]
mod _native {}
