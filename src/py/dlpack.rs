//! `DLPack`: arrays of other libraries, borrowed for `NumPy`.
//!
//! A library hands out its array as a capsule: a pointer to a struct that describes the memory and says how to give it
//! back. Who takes it renames the capsule and calls the deleter once. Here the description is checked and copied, and
//! shown to `NumPy` by `__array_interface__`; the array that `NumPy` makes of that keeps the memory until it is gone.
//! Source: `dlpack.h` of `DLPack` 1.1 and the Python specification, <https://dmlc.github.io/dlpack/latest/>.
//!
//! Limits: memory of the host, types that `NumPy` has, and bfloat16, which is shown as its bits. What the description
//! says of addresses is believed, as it is by everyone who takes a capsule.

#![expect(unsafe_code, reason = "what is in a capsule is known by its name alone")]

pub(super) mod exchange;

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

const MAJOR: u32 = 1;
/// As many axes as `NumPy` can have.
const MOST_AXES: usize = 64;
/// CPU, and memory of the host that is pinned for CUDA or `ROCm`.
const HOST: [i32; 3] = [1, 3, 11];

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *const c_void,
    device: i32,
    _device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    /// In elements; null where the memory is contiguous.
    strides: *const i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    tensor: Tensor,
    _context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`. The header promises that all up to the flags is the same in every version.
#[repr(C)]
struct Versioned {
    major: u32,
    _minor: u32,
    _context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    _flags: u64,
    tensor: Tensor,
}

/// What was taken out of a capsule: ours alone, until it is dropped.
enum Taken {
    Managed(NonNull<Managed>),
    Versioned(NonNull<Versioned>),
}

// SAFETY: by the specification the renamed capsule has given the struct to its consumer, and the deleter works for code that
// has nothing of Python: it takes the GIL itself if it needs it, and so depends on no thread's state. Here the struct is only
// read, but for the one call of the deleter in `drop`.
unsafe impl Send for Taken {}
// SAFETY: as above; through `&Taken` everything is only read.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        match *self {
            Self::Managed(managed) => {
                // SAFETY: the consumer of a renamed capsule owns the struct, and the capsule's destructor leaves it alone: it
                // is alive until its deleter is called, here alone. By the header null means that there is none, and the
                // argument is the struct that the deleter came with, which it deletes as well.
                unsafe {
                    if let Some(deleter) = (*managed.as_ptr()).deleter {
                        deleter(managed.as_ptr());
                    }
                }
            }
            Self::Versioned(managed) => {
                // SAFETY: as above; the field comes before the flags, and so is there in every version.
                unsafe {
                    if let Some(deleter) = (*managed.as_ptr()).deleter {
                        deleter(managed.as_ptr());
                    }
                }
            }
        }
    }
}

impl Taken {
    fn from_capsule(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        // Two threads with one capsule: the second sees the new name.
        with_critical_section(capsule, || {
            if let Some(managed) = take(capsule, c"dltensor_versioned", c"used_dltensor_versioned")? {
                Ok(Self::Versioned(managed))
            } else if let Some(managed) = take(capsule, c"dltensor", c"used_dltensor")? {
                Ok(Self::Managed(managed))
            } else {
                refused(format!("a capsule must be named dltensor or dltensor_versioned, got {}", capsule.repr()?))
            }
        })
    }

    fn tensor(&self) -> PyResult<&Tensor> {
        match self {
            // SAFETY: the specification has a capsule of this name hold this struct; it is aligned, as `take` saw, and alive
            // until `drop`. Nobody writes to it, as the consumer owns it.
            Self::Managed(managed) => Ok(unsafe { &managed.as_ref().tensor }),
            Self::Versioned(managed) => {
                // SAFETY: as above; the field comes before the flags, and so is there in every version.
                let major = unsafe { (*managed.as_ptr()).major };
                if major != MAJOR {
                    return refused(format!("the major version must be {MAJOR}, got {major}"));
                }
                // SAFETY: as above; and the version is the one that the struct is written down for here.
                Ok(unsafe { &managed.as_ref().tensor })
            }
        }
    }
}

/// What is in a capsule of this name, which has the other one from now on.
fn take<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr, used: &'static CStr) -> PyResult<Option<NonNull<T>>> {
    if !capsule.is_valid_checked(Some(name)) {
        return Ok(None);
    }
    let managed = capsule.pointer_checked(Some(name))?.cast::<T>();
    if !managed.is_aligned() {
        return refused(format!("a capsule must hold an aligned pointer, got {managed:?}"));
    }
    // SAFETY: the object is a capsule, the interpreter is attached, and the name is static, as the specification asks.
    if unsafe { pyo3::ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok(Some(managed))
}

fn refused<T>(what: String) -> PyResult<T> {
    Err(PyBufferError::new_err(what))
}

impl Tensor {
    fn axes(&self) -> PyResult<usize> {
        match usize::try_from(self.ndim) {
            Ok(axes) if axes <= MOST_AXES => Ok(axes),
            _ => refused(format!("an array must have at most {MOST_AXES} axes, got {}", self.ndim)),
        }
    }

    /// What `of`, which is the shape or the strides, holds of each axis.
    fn numbers(&self, of: *const i64) -> PyResult<&[i64]> {
        let axes = self.axes()?;
        if axes == 0 {
            return Ok(&[]);
        }
        if of.is_null() || !of.is_aligned() {
            return refused(format!("shape and strides must be aligned pointers, got {of:?}"));
        }
        // SAFETY: by the header shape and strides are the tensor's own and have a number for each of `ndim` axes; null and
        // what is not aligned has just been refused.
        Ok(unsafe { std::slice::from_raw_parts(of, axes) })
    }

    fn shape(&self) -> PyResult<Vec<usize>> {
        let length = |&length: &i64| match usize::try_from(length) {
            Ok(length) => Ok(length),
            Err(_) => refused(format!("an axis must have a length of at least 0, got {length}")),
        };
        self.numbers(self.shape)?.iter().map(length).collect()
    }

    /// In bytes; `None` where the memory is contiguous.
    fn strides(&self, itemsize: u8) -> PyResult<Option<Vec<i64>>> {
        if self.strides.is_null() {
            return Ok(None);
        }
        let bytes = |&stride: &i64| match stride.checked_mul(itemsize.into()) {
            Some(bytes) => Ok(bytes),
            None => refused(format!("a stride must fit in 64 bits of bytes, got {stride}")),
        };
        self.numbers(self.strides)?.iter().map(bytes).collect::<PyResult<_>>().map(Some)
    }

    fn address(&self, shape: &[usize]) -> PyResult<usize> {
        if shape.contains(&0) {
            return Ok(0);
        }
        let offset = usize::try_from(self.byte_offset).ok();
        match offset.and_then(|offset| self.data.addr().checked_add(offset)) {
            Some(address) if !self.data.is_null() => Ok(address),
            _ => refused(format!("an array must have memory, got {:?} + {}", self.data, self.byte_offset)),
        }
    }

    /// The letter that `NumPy` has for the kind of number.
    fn kind(&self) -> PyResult<char> {
        match (self.code, self.bits, self.lanes) {
            (0, 8 | 16 | 32 | 64, 1) => Ok('i'),
            (1, 8 | 16 | 32 | 64, 1) | (4, 16, 1) => Ok('u'),
            (2, 16 | 32 | 64, 1) => Ok('f'),
            (5, 64 | 128, 1) => Ok('c'),
            (6, 8, 1) => Ok('b'),
            (code, bits, lanes) => refused(format!(
                "a type must be one of NumPy's or bfloat16, got code {code}, {bits} bits, {lanes} lanes"
            )),
        }
    }
}

/// See `_native.pyi`.
#[pyclass(name = "DLPack", module = "sortition._native", frozen)]
pub(super) struct PyDLPack {
    typestr: String,
    shape: Vec<usize>,
    strides: Option<Vec<i64>>,
    address: usize,
    is_bfloat16: bool,
    /// Given back when the last array on it is gone.
    _taken: Taken,
}

#[pymethods]
impl PyDLPack {
    #[new]
    fn new(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let taken = Taken::from_capsule(capsule)?;
        let tensor = taken.tensor()?;
        if !HOST.contains(&tensor.device) {
            return refused(format!("an array must be in the memory of the host, got device {}", tensor.device));
        }
        let (kind, itemsize) = (tensor.kind()?, tensor.bits / 8);
        let order = if cfg!(target_endian = "little") { '<' } else { '>' };
        let shape = tensor.shape()?;
        Ok(Self {
            typestr: format!("{order}{kind}{itemsize}"),
            strides: tensor.strides(itemsize)?,
            address: tensor.address(&shape)?,
            shape,
            is_bfloat16: tensor.code == 4,
            _taken: taken,
        })
    }

    /// Of an array that can only be read.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", &self.typestr)?;
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("strides", self.strides.as_ref().map(|strides| PyTuple::new(py, strides)).transpose()?)?;
        interface.set_item("data", (self.address, true))?;
        Ok(interface)
    }

    #[getter]
    fn is_bfloat16(&self) -> bool {
        self.is_bfloat16
    }
}
