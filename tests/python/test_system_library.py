"""No limit and no log-probability depends on which version of a logarithm the system's library picks for the CPU.

glibc has one version for CPUs with fused multiply-adds and one for those without, and they differ now and then in the
last bit. A variable of the environment hides the instruction from it, so the two can be compared on one machine.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

WITHOUT_FMA = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA_Usable,-AVX2_Usable,-FMA4"}

SYSTEM = "import math; print(hash(tuple(math.exp(-i / 977) for i in range(20_000))))"

LIMITS = """
import hashlib
import sortition as st

limits = hashlib.sha256()
for i in range(1, 20_000):
    sampler = st.Sampler(st.SamplingParams(epsilon=i / 20_011, seed=0))
    (step,) = sampler.draw([0.0, 1.0], trace=True).trace.steps
    limits.update(step.limit.hex().encode())
    limits.update(sampler.draw([0.0, i / 977]).logprob.hex().encode())
print(limits.hexdigest())
"""


def said(script: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.skipif(
    (platform.machine().lower(), platform.libc_ver()[0]) != ("x86_64", "glibc"),
    reason="only glibc on x86-64 can be asked for its other version",
)
def test_limits_and_log_probabilities_have_the_same_bits_whatever_the_system_computes():
    """A limit on probabilities goes through a logarithm and an exponential."""
    if said(SYSTEM, {}) == said(SYSTEM, WITHOUT_FMA):
        pytest.skip("the system's library has one version for this CPU")
    assert said(LIMITS, {}) == said(LIMITS, WITHOUT_FMA)
