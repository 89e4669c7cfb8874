"""Arrays of another library, as DLPack describes them: made by hand, field by field."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

#: Code and bits of each type, from the header of DLPack.
CODES: dict[Any, tuple[int, int]] = {
    np.dtype(np.int8): (0, 8),
    np.dtype(np.int64): (0, 64),
    np.dtype(np.uint16): (1, 16),
    np.dtype(np.float16): (2, 16),
    np.dtype(np.float32): (2, 32),
    np.dtype(np.float64): (2, 64),
    np.dtype(ml_dtypes.bfloat16): (4, 16),
    np.dtype(np.complex64): (5, 64),
    np.dtype(np.bool_): (6, 8),
    np.dtype(ml_dtypes.float8_e5m2): (12, 8),
}

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


def new_capsule(pointer: int, name: ctypes.c_char_p) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(pointer, name, None)


class Foreign:
    """An array of another library. It counts how often its memory was given back."""

    def __init__(self, array: np.ndarray, *, versioned: bool = True, **fields: Any) -> None:
        self.given_back = 0
        self.array = array
        self.managed = Versioned(major=1, minor=1) if versioned else Managed()
        self.managed.deleter = fields.pop("deleter", DELETER(self._delete))
        if "major" in fields:
            self.managed.major = fields.pop("major")
        code, bits = CODES[array.dtype]
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        strides = (ctypes.c_int64 * array.ndim)(*(stride // array.itemsize for stride in array.strides))
        known = {"data": array.ctypes.data, "device": 1, "ndim": array.ndim, "code": code, "bits": bits, "lanes": 1}
        for name, value in (known | {"shape": shape, "strides": strides} | fields).items():
            setattr(self.managed.tensor, name, value)
        self.name = ctypes.c_char_p(b"dltensor_versioned" if versioned else b"dltensor")

    def _delete(self, managed: int) -> None:
        assert managed == ctypes.addressof(self.managed)
        self.given_back += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.managed.tensor.device, 0

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None) -> Any:
        return new_capsule(ctypes.addressof(self.managed), self.name)


class Old(Foreign):
    """One from before there were versions."""

    def __init__(self, array: np.ndarray, **fields: Any) -> None:
        super().__init__(array, versioned=False, **fields)

    def __dlpack__(self) -> Any:
        return super().__dlpack__()
