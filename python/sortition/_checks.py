"""Arguments as the core takes them. An error names the argument, what is legal, and the value that was given."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sortition.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "Words",
    "array",
    "integer",
    "integers",
    "is_masked",
    "number",
    "ordered",
    "place",
    "real",
    "refuse",
    "shown",
    "token",
    "utf8",
]


def refuse(name: str, legal: str, value: Any) -> NoReturn:
    """Raise the error for a value that is not legal; ``value`` may be an explanation in words."""
    msg = f"{name} must be {legal}, got {shown(value)}"
    raise ParameterError(msg) from None


def shown(value: Any) -> str:
    """A value as an error shows it: no more than 80 characters, and its type where it cannot be shown."""
    if isinstance(value, Words):
        return value
    try:
        return repr(value)[:80]
    except Exception:  # noqa: BLE001 - of whatever it is: an integer of too many digits, a list that is too deep
        return f"a value of type {type(value).__name__}"


def ordered(name: str, legal: str, value: Any) -> Any:
    """A collection with an order, which a set has not."""
    if isinstance(value, AbstractSet):
        refuse(name, legal, Words(f"a {type(value).__name__}, which has no order"))
    return value


def is_masked(value: Any) -> bool:
    """Whether it is a masked array of NumPy, or a list that has some."""
    if "numpy.ma" not in sys.modules:  # it takes its time, and who has a masked array has loaded it
        return False
    parts = value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(part, np.ma.MaskedArray) for part in parts)


def array(name: str, legal: str, value: Any) -> npt.NDArray[Any]:
    """What NumPy makes an array of."""
    if is_masked(value):
        refuse(name, legal, Words("a masked array, whose mask would be lost"))
    try:
        return np.asarray(value)
    except Exception:  # noqa: BLE001 - rows of several lengths, and whatever a class of another library raises
        refuse(name, legal, value)


def integers(name: str, legal: str, value: Any) -> npt.NDArray[np.integer[Any]]:
    """Integers in their order, one-dimensional."""
    found = array(name, legal, ordered(name, legal, value))
    if found.size == 0:
        return np.empty(0, np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        refuse(name, legal, value)
    return found


def utf8(name: str) -> str:
    """A name for the core, whose text is UTF-8; what that cannot write, no name has."""
    return name.encode(errors="backslashreplace").decode()


def place(name: str, value: Any, dtype: type[np.generic], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """An array to write results into; an error says which of its conditions it does not meet."""
    array: npt.NDArray[Any] | None = value if isinstance(value, np.ndarray) and not is_masked(value) else None
    if array is not None and array.dtype == dtype and array.shape == shape and array.flags.carray:
        return array
    legal = f"a writable, aligned, contiguous {dtype.__name__} array of shape {shape}"
    if array is None:
        refuse(name, legal, Words(type(value).__name__))
    failed = {
        f"of dtype {array.dtype}": array.dtype != dtype,
        f"of shape {array.shape}": array.shape != shape,
        f"with strides {array.strides}": not array.flags.c_contiguous,
        "that is not aligned": not array.flags.aligned,
        "that is read-only": not array.flags.writeable,
    }
    refuse(name, legal, Words("one " + ", ".join(what for what, fails in failed.items() if fails)))


class Words(str):
    """A value in words, shown without quotes."""

    __slots__ = ()


def number(name: str, value: Any) -> float:
    """A real number of any numeric type, but no ``bool`` and no text."""
    found = real(value)
    if found is None:
        refuse(name, "a number", value)
    return found


def real(value: Any) -> float | None:
    """A number as a float, infinite if it is beyond all finite ones; ``None`` for what is none."""
    if isinstance(value, bool) or getattr(value, "ndim", False) or is_masked(value):
        return None
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "bcOSUmM":
        return None
    # float() also reads text and buffers.
    if not (hasattr(type(value), "__float__") or hasattr(type(value), "__index__")):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def integer(
    name: str, value: Any, *, least: int | None = None, most: int | None = None, below: int | None = None
) -> int:
    """An integer of any integer type, but no ``bool``, in ``[least, most]`` or ``[least, below)``."""
    if type(value) is int and most is None and below is None and (least is None or value >= least):
        return value  # the check that is in the way of every call
    if most is not None:
        legal, below = f"an integer in [{least}, {most}]", most + 1
    elif below is not None:
        legal = f"an integer in [{least}, {below})"
    else:
        legal = "an integer" if least is None else f"an integer of at least {least}"
    if isinstance(value, (bool, np.bool_)) or is_masked(value):
        refuse(name, legal, value)
    try:
        checked = operator.index(value)
    except TypeError:
        refuse(name, legal, value)
    if (least is not None and checked < least) or (below is not None and checked >= below):
        refuse(name, legal, value)
    return checked


def token(name: str, legal: str, value: Any, whole: Any) -> int:
    """A token id in a collection, which an error shows as well."""
    try:
        found = -1 if isinstance(value, (bool, np.bool_)) or is_masked(value) else operator.index(value)
    except TypeError:
        found = -1
    if not 0 <= found < 2**32:
        refuse(name, f"{legal} in [0, 2^32)", Words(f"{shown(value)} in {shown(whole)}"))
    return found
