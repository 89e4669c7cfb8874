//! Scores of other libraries where they are: no capsule, no array of `NumPy`.
//!
//! A library that has the C interface of `DLPack` 1.3 shares an array by a function that its type names, which takes some
//! 50 ns, where a capsule takes microseconds, and some hundred between two steps of a model. What it shares is what a
//! capsule would hold, and is given back in the same way. Source: `DLPackExchangeAPI` in `dlpack.h` of `DLPack` 1.3.
//!
//! Limits: one or two axes of float32, float16 or bfloat16 in the memory of the host, the last axis contiguous. Anything
//! else, objects of derived classes, and whatever the function refuses, goes the way of capsules, which has the errors.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use half::{bf16, f16};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyType};

use super::{HOST, MAJOR, Taken, Versioned};
use crate::Scores;

type Share = unsafe extern "C" fn(*mut pyo3::ffi::PyObject, *mut *mut Versioned) -> c_int;

/// The beginning of `DLPackExchangeAPI`.
#[repr(C)]
struct Api {
    major: u32,
    _minor: u32,
    _previous: *const c_void,
    _allocate: *const c_void,
    share: Option<Share>,
}

/// Rows of scores that are shared by another library.
pub(in crate::py) struct Shared {
    scores: Pointer,
    rows: usize,
    width: usize,
    /// Scores between the beginnings of two rows.
    stride: isize,
    /// Given back when this is dropped.
    _taken: Taken,
}

enum Pointer {
    F32(*const f32),
    F16(*const f16),
    Bf16(*const bf16),
}

impl Shared {
    /// The scores of an object with so many axes, one or two; `None` if they cannot be had in this way.
    pub(in crate::py) fn borrowed(object: &Bound<'_, PyAny>, axes: usize) -> PyResult<Option<Self>> {
        Ok(shared(object)?.and_then(|taken| Self::of(taken, axes)))
    }

    fn of(taken: Taken, axes: usize) -> Option<Self> {
        let tensor = taken.tensor().ok()?;
        let shape = tensor.numbers(tensor.shape).ok()?;
        let strides = tensor.numbers(tensor.strides).ok()?; // never null from version 1.2 on
        let (rows, stride, width) = match (axes, shape, strides) {
            (1, &[width], &[1]) => (1, 0, width),
            (2, &[rows, width], &[stride, 1]) => (rows, stride, width),
            _ => return None,
        };
        let [rows, width] = [rows, width].map(usize::try_from);
        let (rows, width, stride) = (rows.ok()?, width.ok()?, isize::try_from(stride).ok()?);
        if rows == 0 || width == 0 || !HOST.contains(&tensor.device) || tensor.data.is_null() {
            return None;
        }
        stride.checked_mul(rows.cast_signed())?;
        let offset = usize::try_from(tensor.byte_offset).ok()?;
        tensor.data.addr().checked_add(offset)?;
        let data = tensor.data.wrapping_byte_add(offset);
        let scores = match (tensor.code, tensor.bits, tensor.lanes) {
            (2, 32, 1) => Pointer::F32(aligned(data)?),
            (2, 16, 1) => Pointer::F16(aligned(data)?),
            (4, 16, 1) => Pointer::Bf16(aligned(data)?),
            _ => return None,
        };
        Some(Self { scores, rows, width, stride, _taken: taken })
    }

    /// How many rows there are.
    pub(in crate::py) fn rows(&self) -> usize {
        self.rows
    }

    /// Scores of a row.
    pub(in crate::py) fn width(&self) -> usize {
        self.width
    }

    pub(in crate::py) fn row(&self, at: usize) -> Scores<'_> {
        assert!(at < self.rows, "{at} of {} rows", self.rows);
        let start = self.stride * at.cast_signed();
        // SAFETY: by the header what the library shares is there until it is given back, which is when `self` is dropped: from
        // `scores` on, `stride` scores apart, `rows` rows, each of `width` scores side by side. `at` is one of them, the
        // pointer is aligned, as `aligned` saw, and the products fit, as `of` saw. That nobody writes to the memory during a
        // call is what a call asks of its caller.
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

/// What the library shares of its object; `None` if it has no function for that or the function refuses.
fn shared(object: &Bound<'_, PyAny>) -> PyResult<Option<Taken>> {
    let py = object.py();
    let Some(Function { share, negates }) = function_of(&object.get_type())? else { return Ok(None) };
    if negates && object.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
        return Ok(None);
    }
    let mut managed = std::ptr::null_mut();
    // SAFETY: the object is of the very type that names the function, and the interpreter is attached. By the header the
    // function writes a pointer to what is the caller's from then on, or else returns another number than zero.
    if unsafe { share(object.as_ptr(), &raw mut managed) } != 0 {
        return match PyErr::take(py) {
            // The way of capsules finds words for it.
            Some(error) if error.is_instance_of::<PyException>(py) => Ok(None),
            Some(interrupt) => Err(interrupt),
            None => Ok(None),
        };
    }
    Ok(NonNull::new(managed).filter(|managed| managed.is_aligned()).map(Taken::Versioned))
}

/// The function that shares objects of a type.
#[derive(Clone, Copy)]
struct Function {
    share: Share,
    /// Whether such an object may be one whose scores are to be negated when they are read, as in torch, which does not say so
    /// when it shares them.
    negates: bool,
}

/// By the type's own attribute: what a derived class means by its memory is for that class to say.
fn function_of(class: &Bound<'_, PyType>) -> PyResult<Option<Function>> {
    static KNOWN: PyOnceLock<(Py<PyType>, Function)> = PyOnceLock::new();
    let py = class.py();
    if let Some((known, function)) = KNOWN.get(py)
        && class.is(known)
    {
        return Ok(Some(*function));
    }
    let own = class.getattr(intern!(py, "__dict__"))?;
    let name = intern!(py, "__dlpack_c_exchange_api__");
    let share = if own.contains(name)? { in_capsule(&own.get_item(name)?) } else { None };
    let Some(share) = share else { return Ok(None) };
    let function = Function { share, negates: class.hasattr(intern!(py, "is_neg"))? };
    // The first stays; another one only costs another look.
    let _ = KNOWN.set(py, (class.clone().unbind(), function));
    Ok(Some(function))
}

/// The function in a capsule, if this is one of the version that is written down here.
fn in_capsule(capsule: &Bound<'_, PyAny>) -> Option<Share> {
    let capsule = capsule.cast::<PyCapsule>().ok()?;
    let api = capsule.pointer_checked(Some(c"dlpack_exchange_api")).ok()?.cast::<Api>();
    if !api.is_aligned() {
        return None;
    }
    // SAFETY: by the header a capsule of this name holds such a table, which lives as long as the process, and the version is
    // the first of its fields in every version.
    let major = unsafe { (*api.as_ptr()).major };
    // SAFETY: as above; and the version is the one that the table is written down for here.
    if major == MAJOR { unsafe { (*api.as_ptr()).share } } else { None }
}
