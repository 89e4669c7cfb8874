"""What is not a matter of the vocabulary: the cost of a call, of the import, and the size of the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

import sortition
from measure import race

ROOT = Path(__file__).parents[2]
SMALL = 32


def overheads() -> list[tuple[str, str, str]]:
    """What, how much, and the goal."""
    rows = [(f"{name} on {SMALL} scores", f"{1e6 * seconds:.2f} µs", "1 µs") for name, seconds in calls().items()]
    rows.append(("`import sortition` above `import numpy`", f"{1e3 * import_time():.0f} ms", "30 ms"))
    size = wheel_size()
    rows.append(("wheel", "not built" if size is None else f"{size / 1e6:.2f} MB", "1.5 MB"))
    return rows


def calls() -> dict[str, float]:
    """Seconds of a call on a small row."""
    x = np.random.default_rng(0).standard_normal(SMALL, np.float32)
    entries = {"`argmax`": partial(sortition.argmax, x)}
    for name, params in {
        "`Sampler.sample`, greedy": {"temperature": 0},
        "`Sampler.sample`, temperature": {"temperature": 0.8},
        "`Sampler.sample`, top-k 8, top-p .95, temperature": {"temperature": 0.8, "top_k": 8, "top_p": 0.95},
    }.items():
        sample = sortition.Sampler(sortition.SamplingParams(**params, seed=7)).sample
        entries[name] = partial(sample, x)
    return race(entries)


def import_time(repeats: int = 15) -> float:
    """Seconds, the least of processes that import both less the least of those that import NumPy."""
    least = {"numpy": float("inf"), "numpy, sortition": float("inf")}
    with tempfile.TemporaryDirectory() as compiled:  # as whoever installs a wheel has it, whatever is set here
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": compiled}
        for _ in range(repeats):
            for names, best in least.items():
                start = perf_counter()
                subprocess.run([sys.executable, "-c", f"import {names}"], check=True, env=environment)
                least[names] = min(best, perf_counter() - start)
    return least["numpy, sortition"] - least["numpy"]


def wheel_size() -> int | None:
    """Bytes of a wheel built now, if maturin is at hand."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--quiet", "--out", folder]
        done = subprocess.run(command, cwd=ROOT, check=False)
        sizes = [path.stat().st_size for path in Path(folder).glob("*.whl")]
    return sizes[0] if done.returncode == 0 and sizes else None
