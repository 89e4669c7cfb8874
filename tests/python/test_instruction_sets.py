"""Every instruction set gives the same bits, of every precision: tokens, scores and log-probabilities.

The choice is made once per process, so each set runs in a process of its own, and the test prints which ran.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import sortition

SCRIPT = """
import hashlib
import ml_dtypes
import numpy as np
import sortition as st

rng = np.random.default_rng(20261129)
settings = {}, dict(temperature=0.7, top_k=50, top_p=0.9), dict(top_p=0.95), dict(temperature=1.3, min_p=0.02)
settings = *settings, dict(top_k=20_000)


def digest(row):
    digest = hashlib.sha256()
    for params in settings:
        sampler = st.Sampler(st.SamplingParams(seed=row.size, **params))
        draw = sampler.draw(row, logprobs=min(row.size, 5))
        digest.update(repr(draw).encode())
        digest.update(sampler.process(row).tobytes())
    digest.update(st.softmax(row).tobytes())
    digest.update(st.log_softmax(row).tobytes())
    digest.update(repr((st.logsumexp(row), st.entropy(row), st.argmax(row))).encode())
    digest.update(st.top_p(row, 0.9).tobytes())
    return digest.digest()


every = hashlib.sha256()
for size in (1, 2, 15, 16, 17, 33, 1000, 32000, 151936):
    for kind in (3.0, 100.0, 1e30, 0.0):
        row = (rng.normal(size=size) * kind).astype(np.float32)
        row[rng.random(size) < 0.1] = -np.inf
        row[size // 2] = 0.5
        every.update(digest(row))
        for half in (ml_dtypes.bfloat16, np.float16):
            if half is ml_dtypes.bfloat16 or kind < 1e30:
                narrow = row.astype(half)
                every.update(digest(narrow))
                assert digest(narrow) == digest(narrow.astype(np.float32)), (size, kind, half)
kinds = *settings, dict(mirostat=2), dict(typical_p=0.9, repetition_penalty=1.2), dict(adaptive_target=0.3)
kinds = *kinds, dict(typical_p=0.5), dict(top_h=0.9), dict(tfs=0.9), dict(min_k=0.0)
table = (rng.normal(size=(16, 40000)) * 3).astype(np.float32)
samplers = [st.Sampler(st.SamplingParams(seed=at, **kinds[at % len(kinds)])) for at in range(16)]
for _ in range(3):
    draws = st.sample_batch(table, samplers, logprobs=4)
    for array in (draws.tokens, draws.logprobs, draws.raw_logprobs, draws.ranks, draws.top_ids, draws.top_logprobs):
        every.update(array.tobytes())
    every.update(st.sample_batch(table, samplers, rows=range(15, -1, -1)).tokens.tobytes())
print(st.info()["isa"], every.hexdigest())
"""


def under(isa: str) -> subprocess.CompletedProcess[str]:
    """Run the script under an instruction set."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"SORTITION_ISA": isa},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_instruction_set_of_this_machine_gives_the_same_bits(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that `info` names, each of which must be the one in use."""
    available = sortition.info()["available"]
    assert "portable" in available
    said = {isa: under(isa) for isa in available}
    with capsys.disabled():
        print("\ninstruction sets:", *available)  # noqa: T201 - the run says which
    assert {isa: run.stderr for isa, run in said.items() if run.returncode} == {}
    used, digests = zip(*(run.stdout.split() for run in said.values()), strict=True)
    assert list(used) == available
    assert len(set(digests)) == 1


@pytest.mark.parametrize("isa", ["sse", "AVX2"])
def test_an_unknown_instruction_set_is_an_error_at_import(isa: str) -> None:
    """Nobody is measured on something that was not asked for."""
    run = under(isa)
    assert run.returncode != 0
    assert "SORTITION_ISA" in run.stderr
    assert isa in run.stderr
