//! Arrays at the boundary: what is float32 and contiguous is borrowed, anything else goes through `sortition._arrays`.

use numpy::ndarray::Axis;
use numpy::{
    AsSliceError, Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;

/// One row of scores.
pub(super) struct Row<'py>(PyReadonlyArray1<'py, f32>);

impl<'a, 'py> FromPyObject<'a, 'py> for Row<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray1<f32>>()
            && array.is_contiguous()
            && array.data().is_aligned()
        {
            return Ok(Self(array.readonly()));
        }
        let array = object.py().import("sortition._arrays")?.getattr("row")?.call1((object,))?;
        Ok(Self(array.cast::<PyArray1<f32>>()?.readonly()))
    }
}

impl Row<'_> {
    pub(super) fn scores(&self) -> PyResult<&[f32]> {
        Ok(self.0.as_slice()?)
    }
}

/// One packed mask.
pub(super) struct Mask<'py>(PyReadonlyArray1<'py, u32>);

impl<'a, 'py> FromPyObject<'a, 'py> for Mask<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let array = object.py().import("sortition._arrays")?.getattr("mask")?.call1((object,))?;
        Ok(Self(array.cast::<PyArray1<u32>>()?.readonly()))
    }
}

impl Mask<'_> {
    pub(super) fn words(&self) -> PyResult<&[u32]> {
        Ok(self.0.as_slice()?)
    }
}

/// A packed mask for each row of a table.
pub(super) struct Masks<'py>(PyReadonlyArray2<'py, u32>);

impl<'py> Masks<'py> {
    pub(super) fn new(words: &Bound<'py, PyAny>, rows: usize) -> PyResult<Self> {
        let array = words.py().import("sortition._arrays")?.getattr("masks")?.call1((words, rows))?;
        Ok(Self(array.cast::<PyArray2<u32>>()?.try_readonly()?))
    }

    pub(super) fn words(&self) -> PyResult<Vec<&[u32]>> {
        slices(&self.0)
    }
}

/// A table of scores, or one row of them.
pub(super) enum Rows<'py> {
    One(Row<'py>),
    Many(PyReadonlyArray2<'py, f32>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Rows<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArray1<f32>>()
            && array.is_contiguous()
            && array.data().is_aligned()
            && !array.is_empty()
        {
            return Ok(Self::One(Row(array.readonly())));
        }
        let array = object.py().import("sortition._arrays")?.getattr("rows")?.call1((object,))?;
        Ok(Self::Many(array.cast::<PyArray2<f32>>()?.readonly()))
    }
}

impl Rows<'_> {
    /// The rows, whose scores are contiguous.
    pub(super) fn slices(&self) -> PyResult<Vec<&[f32]>> {
        match self {
            Self::One(row) => Ok(vec![row.scores()?]),
            Self::Many(array) => slices(array),
        }
    }
}

/// The rows of a table, each of which is contiguous.
pub(super) fn slices<'a, T: Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<Vec<&'a [T]>> {
    let view = array.as_array();
    let row = |at| view.index_axis_move(Axis(0), at).to_slice();
    Ok((0..view.nrows()).map(row).collect::<Option<_>>().ok_or(AsSliceError)?)
}
