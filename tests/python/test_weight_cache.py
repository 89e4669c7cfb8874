"""Decoded weights on disk: used when whole, made again when not, safe to share."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from sortition.models.weight_cache import cache_folder, cached

METADATA = {"name": "小模型", "layers": 2, "epsilon": 1e-5, "tokens": ["你", "好"]}
ARRAYS = {"a": np.arange(7, dtype=np.float32), "b": np.full((3, 5), np.pi, np.float32)}


class Decoder:
    """Decodes a file, and counts how often."""

    def __init__(self):
        self.calls = 0

    def __call__(self, path):
        self.calls += 1
        return METADATA | {"size": path.stat().st_size}, ARRAYS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SORTITION_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def check(contents, size=7):
    metadata, arrays = contents
    assert metadata == METADATA | {"size": size}
    assert set(arrays) == set(ARRAYS)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.dtype == np.float32


def test_the_second_opening_decodes_nothing(folder, source):
    """It reads what the first one kept, bit for bit."""
    decode = Decoder()
    check(cached(source, decode))
    check(cached(source, decode))
    assert decode.calls == 1
    assert len(list(folder.iterdir())) == 1


@pytest.mark.usefixtures("folder")
def test_the_arrays_are_mapped_and_cannot_be_written_to(source):
    """They are shared by every process that opens the model."""
    _, arrays = cached(source, Decoder())
    assert not arrays["b"].flags.writeable
    assert not arrays["b"].flags.owndata


@pytest.mark.usefixtures("folder")
def test_another_model_file_is_another_cache_file(source):
    """Whatever its name and its time say: the contents count."""
    decode = Decoder()
    cached(source, decode)
    source.write_bytes(b"weights, new")
    check(cached(source, decode), size=12)
    assert decode.calls == 2


def test_a_broken_cache_file_is_made_again(folder, source):
    """Any byte of it may be wrong, and it may end anywhere."""
    cached(source, Decoder())
    path = next(folder.iterdir())
    whole = path.read_bytes()
    padding = range(len(whole) - 4, len(whole))
    broken = [whole[:end] for end in (0, 1, 20, 40, len(whole) - 1)] + [whole + b"\0", b"x" * len(whole)]
    header_end = 32 + int.from_bytes(whole[8:16], "little")
    positions = [*range(0, header_end, 7), *range(-(-header_end // 64) * 64, len(whole), 5), *padding]
    broken += [whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :] for at in positions]
    for data in broken:
        path.write_bytes(data)
        decode = Decoder()
        check(cached(source, decode))
        assert decode.calls == 1
        assert path.read_bytes() == whole


def test_many_may_open_at_once(folder, source):
    """Each gets the whole contents, and nothing is left behind but one file."""
    results, start = [], threading.Barrier(8)

    def opening():
        start.wait()
        results.append(cached(source, Decoder()))

    threads = [threading.Thread(target=opening) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for contents in results:
        check(contents)
    assert [path.suffix for path in folder.iterdir()] == [".weights"]


def test_a_write_that_fails_leaves_nothing_behind_and_is_no_error(folder, source, monkeypatch):
    """A full disk costs time only."""

    def full(_path, _target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    decode = Decoder()
    check(cached(source, decode))
    check(cached(source, decode))
    assert decode.calls == 2
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path, source, monkeypatch):
    """Here a file stands in its way."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SORTITION_CACHE_DIR", str(tmp_path / "file" / "cache"))
    check(cached(source, Decoder()))


def test_the_cache_can_be_switched_off(tmp_path, source, monkeypatch):
    """By an empty name."""
    monkeypatch.setenv("SORTITION_CACHE_DIR", "")
    assert cache_folder() is None
    check(cached(source, Decoder()))
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "chosen/sortition"),
        ("linux", None, "home/.cache/sortition"),
        ("darwin", None, "home/Library/Caches/sortition"),
        ("win32", "LOCALAPPDATA", "chosen/sortition"),
    ],
)
def test_the_cache_is_where_the_system_keeps_caches(platform, variable, expected, tmp_path, monkeypatch):
    """Under the user's folder for them."""
    for name in ("SORTITION_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "chosen"))
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert cache_folder() == tmp_path / expected
