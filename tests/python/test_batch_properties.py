"""A row's result depends on nothing beside it: not on the order of a batch, on how it is split, or on the threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortition
from sortition import Draws, Sampler, SamplingParams, sample_batch, set_num_threads
from strategies import finite_logits, histories, history_params, masks, packed, seeds, stage_params

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RECORDED = Path(__file__).parents[2] / "benches" / "data" / "smollm2.npz"

#: Token, logprob, raw logprob, rank, candidates, the best with their log-probabilities; floats with all their digits.
Outcome = tuple[Any, ...]


@pytest.fixture(autouse=True, scope="module")
def as_before() -> Iterator[None]:
    before = sortition.info()["threads"]
    yield
    set_num_threads(before)


def of_a_row(draws: Draws, at: int) -> Outcome:
    if at in draws.errors:
        return (str(draws.errors[at]).partition(": ")[2],)
    floats = [draws.logprobs[at], draws.raw_logprobs[at], *draws.top_logprobs[at]]
    counts = [draws.tokens[at], draws.ranks[at], draws.kept[at], *draws.top_ids[at]]
    return (*map(int, counts), *(float(x).hex() for x in floats))


def of_a_draw(sampler: Sampler, row: np.ndarray, mask: np.ndarray | None, logprobs: int) -> Outcome:
    try:
        draw = sampler.draw(row, mask=mask, logprobs=logprobs)
    except ValueError as error:
        return (str(error),)
    floats = [draw.logprob, draw.raw_logprob, *(x for _, x in draw.top)]
    return draw.token, draw.rank, draw.kept, *(i for i, _ in draw.top), *(float(x).hex() for x in floats)


@st.composite
def requests(draw: st.DrawFn, size: int) -> dict[str, Any]:
    """A row of that many scores with everything that its token depends on; now and then it is a bad one."""
    row = draw(finite_logits(st.just(size)))
    mask = draw(masks(row))
    if draw(st.integers(0, 9)) == 0:
        row[draw(st.integers(0, size - 1))] = draw(st.sampled_from([np.nan, np.inf]))
    params = draw(stage_params(size)) | draw(st.just({}) | history_params(size)) | {"seed": draw(seeds)}
    return {
        "row": row,
        "mask": mask,
        "params": SamplingParams(**params),
        "prompt": draw(histories(size)),
        "output": draw(histories(size)),
        "stream": draw(st.integers(0, 2**32 - 1)),
    }


def sampler_of(request: dict[str, Any]) -> Sampler:
    sampler = Sampler(request["params"], request["prompt"], stream=request["stream"])
    for token in request["output"]:
        sampler.accept(token)
    return sampler


@given(data=st.data(), size=st.sampled_from([1, 2, 17, 64, 300, 150_000]), count=st.integers(1, 9))
def test_any_permutation_split_and_number_of_threads_gives_equal_bits(
    data: st.DataObject, size: int, count: int
) -> None:
    """For three steps, as each sampler alone draws; a few rows of 150,000 scores are enough to wake threads."""
    asked = [data.draw(requests(size)) for _ in range(count)]
    table, words = np.stack([r["row"] for r in asked]), np.stack([r["mask"] for r in asked])
    masked = data.draw(st.booleans())
    logprobs = min(size, 3)
    alone, together = [sampler_of(r) for r in asked], [sampler_of(r) for r in asked]
    for _ in range(3):
        want = [
            of_a_draw(sampler, r["row"], r["mask"] if masked else None, logprobs)
            for sampler, r in zip(alone, asked, strict=True)
        ]
        order = data.draw(st.permutations(range(count)))
        cut = data.draw(st.integers(0, count))
        set_num_threads(data.draw(st.integers(1, 4)))
        for part in filter(len, (order[:cut], order[cut:])):
            draws = sample_batch(
                table,
                [together[r] for r in part],
                rows=part,
                mask=words if masked else None,
                logprobs=logprobs,
                on_error="mark",
            )
            assert [of_a_row(draws, at) for at in range(len(part))] == [want[r] for r in part]
    assert [s.output.tolist() for s in together] == [s.output.tolist() for s in alone]


def halve_the_last(history: np.ndarray, scores: np.ndarray) -> None:
    if len(history):
        scores[history[-1]] /= 2


MIXED: Sequence[dict[str, Any]] = [
    {"temperature": 0, "repetition_penalty": 1.3},
    {"temperature": 0.7, "top_p": 0.9},
    {"temperature": 1.2, "min_p": 0.05, "presence_penalty": 0.6, "frequency_penalty": 0.2},
    {"top_k": 40, "top_p": 0.95, "temperature": 0.8, "min_p": 0.01},
    {"mirostat": 1, "mirostat_tau": 4.0},
    {"mirostat": 2},
    {"adaptive_target": 0.4},
    {"typical_p": 0.9, "no_repeat_ngram": 3},
    {"dry_multiplier": 0.8, "dry_base": 1.75, "top_k": 100},
    {"xtc_probability": 0.5, "xtc_threshold": 0.05, "temperature": 1.1},
    {"top_n_sigma": 1.5, "dynatemp_range": 0.5},
    {"tfs": 0.95, "top_a": 0.1, "smoothing_factor": 0.2, "smoothing_curve": 1.5},
    {"logit_bias": {11: 3.0, 13: -2.0}, "suppress": [0, 1, 2], "temperature": 1.5},
    {"eta": 0.002, "bad_words": [[11], [13, 14]]},
    {"processors": [halve_the_last], "top_k": 20},
    {},
]


def test_64_mixed_requests_over_200_steps_on_real_scores() -> None:
    """In another order, in other parts and on other threads at every step: to the bit what each draws alone."""
    with np.load(RECORDED) as file:
        recorded = file["scores"].astype(np.float32)
    count, steps, vocab = 64, 200, recorded.shape[1]
    rng = np.random.default_rng(8)
    words = np.stack([packed(rng.random(vocab) < 0.7) for _ in recorded])
    params = [SamplingParams(**MIXED[r % len(MIXED)], seed=r) for r in range(count)]
    alone, together = ([Sampler(p, prompt=[r, 11, 13]) for r, p in enumerate(params)] for _ in range(2))
    for step in range(steps):
        mask = words if step % 5 == 0 else None
        rows = [(step + 3 * r) % len(recorded) for r in range(count)]
        want = [
            of_a_draw(alone[r], recorded[rows[r]], None if mask is None else mask[rows[r]], 4) for r in range(count)
        ]
        set_num_threads(1 + step % 3)
        order = rng.permutation(count)
        for part in np.split(order, np.sort(rng.integers(0, count, 2))):
            draws = sample_batch(
                recorded, [together[r] for r in part], rows=[rows[r] for r in part], mask=mask, logprobs=4
            )
            assert [of_a_row(draws, at) for at in range(len(part))] == [want[r] for r in part]
    assert len({tuple(sampler.output.tolist()) for sampler in together}) > count / 2
