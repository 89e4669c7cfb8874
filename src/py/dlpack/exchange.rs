//! Scores of other libraries where they are: no capsule, no array of `NumPy`.
//!
//! A library that has the C interface of `DLPack` 1.3 describes its array by a function that its type names, which takes
//! some 30 ns, where a capsule takes microseconds, and some hundred between two steps of a model. The description is good
//! as long as the object is: it is read at once, and the object kept. Source: `DLPackExchangeAPI` in `dlpack.h` of
//! `DLPack` 1.3, and `__dlpack_c_exchange_api__` in the Python array API standard.
//!
//! Limits: one or two axes of float32, float16 or bfloat16 in the memory of the host, the last axis contiguous. Anything
//! else, objects of derived classes, and whatever the function refuses, goes the way of capsules, which has the errors. That
//! torch negates an array later, a description does not say; the last axis of such arrays is not contiguous.

use std::ffi::{c_int, c_void};

use half::{bf16, f16};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyType};

use super::{HOST, MAJOR, Tensor};
use crate::Scores;

type Describe = unsafe extern "C" fn(*mut pyo3::ffi::PyObject, *mut Tensor) -> c_int;

/// `DLPackExchangeAPI`.
#[repr(C)]
struct Api {
    major: u32,
    _minor: u32,
    _previous: *const c_void,
    /// What is for arrays that are kept.
    _owning: [*const c_void; 3],
    describe: Option<Describe>,
    _stream: *const c_void,
}

/// Rows of scores that belong to an object of another library.
pub(in crate::py) struct Shared<'py> {
    scores: Pointer,
    rows: usize,
    width: usize,
    /// Scores between the beginnings of two rows.
    stride: isize,
    /// Keeps the memory.
    _owner: Bound<'py, PyAny>,
}

enum Pointer {
    F32(*const f32),
    F16(*const f16),
    Bf16(*const bf16),
}

impl<'py> Shared<'py> {
    /// The scores of an object with so many axes, one or two; `None` if they cannot be had in this way.
    pub(in crate::py) fn borrowed(object: &Bound<'py, PyAny>, axes: usize) -> Option<Self> {
        let tensor = described(object)?;
        let shape = tensor.numbers(tensor.shape).ok()?;
        let strides = tensor.numbers(tensor.strides).ok()?; // never null from version 1.2 on
        let (&[width], &[1]) = (shape.last_chunk()?, strides.last_chunk()?) else { return None };
        let (rows, stride) = if axes == 1 { (1, 0) } else { (*shape.first()?, *strides.first()?) };
        let width = usize::try_from(width).ok().filter(|&width| width > 1 && shape.len() == axes)?;
        let offset = usize::try_from(tensor.byte_offset).ok()?;
        let data = tensor.data.wrapping_byte_add(offset);
        let scores = match (tensor.code, tensor.bits, tensor.lanes) {
            (2, 32, 1) => Pointer::F32(aligned(data)?),
            (2, 16, 1) => Pointer::F16(aligned(data)?),
            (4, 16, 1) => Pointer::Bf16(aligned(data)?),
            _ => return None,
        };
        let (rows, stride) = (usize::try_from(rows).ok()?, isize::try_from(stride).ok()?);
        let here = HOST.contains(&tensor.device) && !tensor.data.is_null();
        here.then(|| Self { scores, rows, width, stride, _owner: object.clone() })
    }

    /// Scores of a row.
    pub(in crate::py) fn width(&self) -> usize {
        self.width
    }

    pub(in crate::py) fn rows(&self) -> Vec<Scores<'_>> {
        (0..self.rows).map(|at| self.row(at)).collect()
    }

    pub(in crate::py) fn row(&self, at: usize) -> Scores<'_> {
        assert!(at < self.rows, "{at} of {} rows", self.rows);
        let start = self.stride.wrapping_mul(at.cast_signed());
        // SAFETY: the library describes its own memory: from `scores` on, `stride` scores apart, `rows` rows lie in it, each
        // of `width` scores side by side, `at` is one of them, and the pointer is aligned, as `aligned` saw. The object, and
        // so the memory, is alive as long as `self`; that nobody writes to it in this time is what a call asks of its caller.
        unsafe {
            match self.scores {
                Pointer::F32(scores) => Scores::F32(std::slice::from_raw_parts(scores.offset(start), self.width)),
                Pointer::F16(scores) => Scores::F16(std::slice::from_raw_parts(scores.offset(start), self.width)),
                Pointer::Bf16(scores) => Scores::Bf16(std::slice::from_raw_parts(scores.offset(start), self.width)),
            }
        }
    }
}

fn aligned<T>(data: *const c_void) -> Option<*const T> {
    let data = data.cast::<T>();
    data.is_aligned().then_some(data)
}

/// What the library says of its object; `None` if it has no function for that or the function refuses.
fn described(object: &Bound<'_, PyAny>) -> Option<Tensor> {
    let describe = function(&object.get_type())?;
    let mut tensor = std::mem::MaybeUninit::uninit();
    // SAFETY: the object is of the very type that names the function, and the interpreter is attached. By the header the
    // function fills in the struct, or else returns another number than zero.
    if unsafe { describe(object.as_ptr(), tensor.as_mut_ptr()) } != 0 {
        let _ = PyErr::take(object.py()); // the way of capsules finds words for it
        return None;
    }
    // SAFETY: it returned zero.
    Some(unsafe { tensor.assume_init() })
}

/// The function that describes objects of this type, by its own attribute: what a derived class means by its memory is for
/// that class to say.
fn function(class: &Bound<'_, PyType>) -> Option<Describe> {
    static KNOWN: PyOnceLock<(Py<PyType>, Describe)> = PyOnceLock::new();
    let py = class.py();
    if let Some((known, describe)) = KNOWN.get(py)
        && class.is(known)
    {
        return Some(*describe);
    }
    let capsule = class.getattr("__dict__").ok()?.get_item("__dlpack_c_exchange_api__").ok()?;
    let api = capsule.cast::<PyCapsule>().ok()?.pointer_checked(Some(c"dlpack_exchange_api")).ok()?.cast::<Api>();
    // SAFETY: by the header a capsule of this name holds such a table, which lives as long as the process, and the version is
    // the first of its fields in every version.
    let major = unsafe { (*api.as_ptr()).major };
    // SAFETY: as above; and the version is the one that the table is written down for here.
    let describe = (major == MAJOR).then(|| unsafe { (*api.as_ptr()).describe })??;
    // The first stays; another one only costs another look.
    let _ = KNOWN.set(py, (class.clone().unbind(), describe));
    Some(describe)
}
