"""Decoded weights, kept in the user's cache folder so that a model opens quickly the second time.

One file holds everything: a fixed start (magic, lengths, checksums), a JSON header (metadata, and where each array
is), and the float32 arrays, which are mapped into memory. A file is named by the hash of the model file that it was
made from, so it cannot be outdated. It is verified by its checksums, so a damaged one is made again. It is renamed into
place once it is complete, so any number of processes may open and make it at the same time.

The folder is `SORTITION_CACHE_DIR` if that is set (an empty value keeps nothing), else the system's cache folder. If it
cannot be written to, the weights are decoded every time; that is not an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
import struct
import sys
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sortition.models.llama import Floats

    Contents = tuple[dict[str, Any], dict[str, Floats]]

__all__ = ["cache_folder", "cached"]

_MAGIC = b"SORTITN1"  # the last digit is the version of this format
_START = struct.Struct("<8sQQII")  # magic, bytes of the header, bytes of the data, checksum of each
_ALIGN = 64


def cached(source: Path, decode: Callable[[Path], Contents]) -> Contents:
    """What `decode(source)` returns, metadata and float32 arrays, from the cache where it is there and whole.

    The metadata must be plain JSON values. The arrays may be read-only.
    """
    folder = cache_folder()
    if folder is None:
        return decode(source)
    with source.open("rb") as file:
        if sys.version_info >= (3, 11):
            digest = hashlib.file_digest(file, "sha256")
        else:
            digest = hashlib.sha256(file.read())
    path = folder / f"{source.stem}-{digest.hexdigest()[:32]}.weights"
    contents = _read(path)
    if contents is not None:
        return contents
    contents = decode(source)
    with contextlib.suppress(OSError):  # no room, no right to write: it works without
        _write(path, *contents)
        return _read(path) or contents  # the mapped file, so that the memory of the arrays can go
    return contents


def cache_folder() -> Path | None:
    """Where weights are kept, or `None` to keep none."""
    chosen = os.environ.get("SORTITION_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "sortition"


def _read(path: Path) -> Contents | None:
    """The contents of a cache file, or `None` if it does not exist or is damaged."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # ValueError: an empty file cannot be mapped
        return None
    view = memoryview(mapped)
    if len(view) < _START.size:
        return None
    magic, header_size, data_size, header_sum, data_sum = _START.unpack_from(view)
    header_end = _START.size + header_size
    data_start = -(-header_end // _ALIGN) * _ALIGN
    if magic != _MAGIC or len(view) != data_start + data_size:
        return None
    header, data = view[_START.size : header_end], view[data_start:]
    if zlib.crc32(header) != header_sum or zlib.crc32(data) != data_sum:
        return None
    described = json.loads(bytes(header))
    arrays = {
        name: np.frombuffer(data, np.float32, count=int(np.prod(shape)), offset=offset).reshape(shape)
        for name, (offset, shape) in described["arrays"].items()
    }
    return described["metadata"], arrays


def _write(path: Path, metadata: dict[str, Any], arrays: dict[str, Floats]) -> None:
    """Write beside the place, then rename: whoever looks sees a whole file or none."""
    places, offset = {}, 0
    for name, array in arrays.items():
        places[name] = offset, array.shape
        offset += -(-array.nbytes // _ALIGN) * _ALIGN
    header = json.dumps({"metadata": metadata, "arrays": places}).encode()
    data_sum = 0
    for block in _blocks(arrays):
        data_sum = zlib.crc32(block, data_sum)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_START.pack(_MAGIC, len(header), offset, zlib.crc32(header), data_sum))
            file.write(header + bytes(-(_START.size + len(header)) % _ALIGN))
            file.writelines(_blocks(arrays))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _blocks(arrays: dict[str, Floats]) -> Iterable[memoryview | bytes]:
    for array in arrays.values():
        flat = np.ascontiguousarray(array, np.float32).reshape(-1)
        yield flat.data.cast("B")
        yield bytes(-flat.nbytes % _ALIGN)
