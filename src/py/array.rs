//! Arrays at the boundary: what the kernels read as it is, is borrowed, from `NumPy` or another library; anything else goes
//! through `sortition._arrays`.
//!
//! `NumPy` knows bfloat16 only by the types of other packages, so such an array is borrowed as its bits.

use std::ops::Range;

use half::f16;
use half::slice::HalfBitsSliceExt;
use numpy::ndarray::{ArrayView2, Axis, Dimension, Ix1, Ix2};
use numpy::{
    AsSliceError, Element, PyArray, PyArray1, PyArray2, PyArrayDescr, PyArrayDescrMethods, PyArrayMethods,
    PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::dlpack::exchange::Shared;
use crate::{Error, Scores};

/// Scores of any precision, in `D` dimensions, one or two.
pub(super) enum Table<'py, D: Dimension> {
    F32(PyReadonlyArray<'py, f32, D>),
    F16(PyReadonlyArray<'py, f16, D>),
    Bf16(PyReadonlyArray<'py, u16, D>),
    Shared(Shared),
}

impl<'py, D: Dimension> Table<'py, D> {
    /// What can be borrowed as it is; `None` for anything else. An error calls it by `name`.
    fn borrowed(object: &Bound<'py, PyAny>, name: &'static str) -> PyResult<Option<Self>> {
        // A masked array is an array too, of the class's own meaning.
        if !object.is_exact_instance_of::<PyUntypedArray>() {
            let Some(axes) = D::NDIM else { return Ok(None) };
            return Ok(Shared::borrowed(object, axes)?.map(Self::Shared));
        }
        if !object.cast::<PyUntypedArray>().is_ok_and(|array| D::NDIM == Some(array.ndim())) {
            return Ok(None);
        }
        Ok(if let Some(array) = readable::<f32, D>(object) {
            Some(Self::F32(read(array, name)?))
        } else if let Some(array) = readable::<f16, D>(object) {
            Some(Self::F16(read(array, name)?))
        } else if let Ok(array) = object.cast::<PyUntypedArray>()
            && is_bfloat16(&array.dtype())?
        {
            let bits = array.call_method1(pyo3::intern!(array.py(), "view"), (numpy::dtype::<u16>(array.py()),))?;
            readable(&bits).map(|bits| read(bits, name)).transpose()?.map(Self::Bf16)
        } else {
            None
        })
    }

    /// What `sortition._arrays` makes of an object.
    fn converted(object: Borrowed<'_, 'py, PyAny>, to: &str, name: &'static str) -> PyResult<Self> {
        let array = object.py().import("sortition._arrays")?.getattr(to)?.call1((object, name))?;
        Ok(Self::borrowed(&array, name)?.ok_or(AsSliceError)?)
    }
}

/// The array, to be read from; unless another call writes to it.
fn read<'py, T: Element, D: Dimension>(
    array: &Bound<'py, PyArray<T, D>>,
    name: &'static str,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    let range = "memory that no other call writes to";
    array.try_readonly().map_err(|_| Error::Range { name, range, value: "the out of a call".to_owned() }.into())
}

/// The array, to be written to; unless another call uses it.
pub(super) fn own<'py, T: Element, D: Dimension>(
    out: &Bound<'py, PyArray<T, D>>,
) -> PyResult<PyReadwriteArray<'py, T, D>> {
    let range = "memory that no other call uses";
    out.try_readwrite().map_err(|_| Error::Range { name: "out", range, value: "memory in use".to_owned() }.into())
}

/// Where a row lies.
pub(super) fn span(row: Scores<'_>) -> Range<usize> {
    match row {
        Scores::F32(xs) => addresses(xs),
        Scores::F16(xs) => addresses(xs),
        Scores::Bf16(xs) => addresses(xs),
    }
}

pub(super) fn addresses<T>(slice: &[T]) -> Range<usize> {
    let Range { start, end } = slice.as_ptr_range();
    start.addr()..end.addr()
}

/// An array of this type and dimension whose scores can be read in place. Of a table the rows are looked at later; in
/// records they may be no whole number of scores apart.
fn readable<'a, 'py, T: Element, D: Dimension>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyArray<T, D>>> {
    let array = object.cast::<PyArray<T, D>>().ok()?;
    let size = size_of::<T>().cast_signed();
    let whole = array.strides().iter().zip(array.shape()).all(|(stride, &length)| length <= 1 || stride % size == 0);
    (array.data().is_aligned() && whole && (D::NDIM == Some(2) || array.is_contiguous())).then_some(array)
}

/// Whether this is the bfloat16 of `ml_dtypes`, or the one that `sortition._arrays` makes of it.
fn is_bfloat16(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<bool> {
    static KNOWN: PyOnceLock<Py<PyArrayDescr>> = PyOnceLock::new();
    let py = dtype.py();
    if KNOWN.get(py).is_some_and(|known| dtype.is(known)) {
        return Ok(true);
    }
    if dtype.itemsize() != 2 || dtype.kind() != b'V' {
        return Ok(false);
    }
    let found = dtype.getattr("name")?.eq("bfloat16")? || dtype.getattr("names")?.eq(("bfloat16",))?;
    if found {
        // The first stays; another one only costs another look.
        let _ = KNOWN.set(py, dtype.clone().unbind());
    }
    Ok(found)
}

/// One row of scores.
pub(super) struct Row<'py>(Table<'py, Ix1>);

impl<'a, 'py> FromPyObject<'a, 'py> for Row<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(match Table::borrowed(&object, "logits")? {
            Some(row) => row,
            None => Table::converted(object, "row", "logits")?,
        }))
    }
}

impl Row<'_> {
    pub(super) fn scores(&self) -> PyResult<Scores<'_>> {
        Ok(match &self.0 {
            Table::F32(row) => Scores::F32(row.as_slice()?),
            Table::F16(row) => Scores::F16(row.as_slice()?),
            Table::Bf16(row) => Scores::Bf16(row.as_slice()?.reinterpret_cast()),
            Table::Shared(row) => row.row(0),
        })
    }
}

/// One packed mask.
pub(super) struct Mask<'py>(PyReadonlyArray1<'py, u32>);

impl<'a, 'py> FromPyObject<'a, 'py> for Mask<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        static MASK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = object.py();
        // A masked array is an array too, of the class's own meaning.
        if object.is_exact_instance_of::<PyUntypedArray>() {
            if let Some(array) = readable::<u32, Ix1>(&object).filter(|array| !array.is_empty()) {
                return Ok(Self(read(array, "mask")?));
            }
            if readable::<i32, Ix1>(&object).is_some_and(|array| !array.is_empty()) {
                let array = object.call_method1(pyo3::intern!(py, "view"), (numpy::dtype::<u32>(py),))?;
                return Ok(Self(read(array.cast::<PyArray1<u32>>()?, "mask")?));
            }
        }
        let array = MASK.import(py, "sortition._arrays", "mask")?.call1((object,))?;
        Ok(Self(read(array.cast::<PyArray1<u32>>()?, "mask")?))
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
        Ok(Self(read(array.cast::<PyArray2<u32>>()?, "mask")?))
    }

    pub(super) fn words(&self) -> PyResult<Vec<&[u32]>> {
        slices(self.0.as_array(), |words| words)
    }
}

/// The scores of a batch: a table whose rows are contiguous is borrowed.
pub(super) struct Batch<'py>(Table<'py, Ix2>);

impl<'py> Batch<'py> {
    pub(super) fn new(logits: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self(match Table::borrowed(logits, "logits")? {
            Some(table) if table.has_contiguous_rows() => table,
            _ => Table::converted(logits.as_borrowed(), "table", "logits")?,
        }))
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.0.rows()
    }

    pub(super) fn slices(&self) -> PyResult<Vec<Scores<'_>>> {
        self.0.slices()
    }
}

/// A table of scores, or one row of them.
pub(super) enum Rows<'py> {
    One(Row<'py>),
    Many(Table<'py, Ix2>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Rows<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Self::new(object, "x")
    }
}

impl<'py> Rows<'py> {
    /// An error calls them by `name`.
    pub(super) fn new(object: Borrowed<'_, 'py, PyAny>, name: &'static str) -> PyResult<Self> {
        Ok(match Self::borrowed(object, name)? {
            Some(rows) => rows,
            None => Self::Many(Table::converted(object, "rows", name)?),
        })
    }

    /// What can be borrowed as it is; `None` for anything else, and if there is no score.
    pub(super) fn borrowed(object: Borrowed<'_, 'py, PyAny>, name: &'static str) -> PyResult<Option<Self>> {
        if let Some(row) = Table::borrowed(&object, name)?.map(Row)
            && !row.scores()?.is_empty()
        {
            return Ok(Some(Self::One(row)));
        }
        let table = Table::borrowed(&object, name)?;
        Ok(table.filter(|table| table.has_contiguous_rows() && table.width() > 0).map(Self::Many))
    }

    /// The rows, whose scores are contiguous.
    pub(super) fn slices(&self) -> PyResult<Vec<Scores<'_>>> {
        Ok(match self {
            Self::One(row) => vec![row.scores()?],
            Self::Many(table) => table.slices()?,
        })
    }
}

impl Table<'_, Ix2> {
    /// Whether every row can be read in place.
    fn has_contiguous_rows(&self) -> bool {
        match self {
            Self::F32(table) => table.strides()[1] == 4,
            Self::F16(table) => table.strides()[1] == 2,
            Self::Bf16(table) => table.strides()[1] == 2,
            Self::Shared(_) => true,
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::F32(table) => table.shape()[0],
            Self::F16(table) => table.shape()[0],
            Self::Bf16(table) => table.shape()[0],
            Self::Shared(table) => table.rows(),
        }
    }

    /// Scores of a row.
    fn width(&self) -> usize {
        match self {
            Self::F32(table) => table.shape()[1],
            Self::F16(table) => table.shape()[1],
            Self::Bf16(table) => table.shape()[1],
            Self::Shared(table) => table.width(),
        }
    }

    /// The rows, whose scores must be contiguous.
    fn slices(&self) -> PyResult<Vec<Scores<'_>>> {
        match self {
            Self::F32(table) => slices(table.as_array(), Scores::F32),
            Self::F16(table) => slices(table.as_array(), Scores::F16),
            Self::Bf16(table) => slices(table.as_array(), |bits: &[u16]| Scores::Bf16(bits.reinterpret_cast())),
            Self::Shared(table) => collected(table.rows(), |at| Ok(table.row(at))),
        }
    }
}

/// The rows of a table, each of which is contiguous.
fn slices<'a, T, R>(table: ArrayView2<'a, T>, row: impl Fn(&'a [T]) -> R) -> PyResult<Vec<R>> {
    collected(table.nrows(), |at| Ok(row(table.index_axis_move(Axis(0), at).to_slice().ok_or(AsSliceError)?)))
}

/// A table in which a row is repeated may have more of them than there is memory for what is told of each.
fn collected<R>(rows: usize, row: impl Fn(usize) -> PyResult<R>) -> PyResult<Vec<R>> {
    let mut collected = Vec::new();
    let room = collected.try_reserve_exact(rows);
    room.map_err(|_| PyMemoryError::new_err(format!("{rows} rows are too many")))?;
    for at in 0..rows {
        collected.push(row(at)?);
    }
    Ok(collected)
}
