"""What stands of a draft, and what comes in its place, follows the model's probabilities, whatever the draft's are.

Three tokens in a row are held to the joint probabilities that the reference computes step by step, by a G-test. Seeds
are fixed, so a test passes always or never; the false-alarm rate is that of a right sampler with seeds that nobody has
tried: 1e-6 for each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goodness import FALSE_ALARM, g_test
from sortition import Sampler, SamplingParams, reference
from sortition.reference import weights

COUNT = 20_000
ROWS = np.log(
    [
        [0.40, 0.30, 0.15, 0.10, 0.05],
        [0.10, 0.20, 0.30, 0.25, 0.15],
        [0.22, 0.18, 0.20, 0.20, 0.20],
    ]
).astype(np.float32)
"""The model's scores of three positions, in any context: what depends on the context are the stages."""

DRAFTS: dict[str, list[list[float]]] = {
    "near": [[0.35, 0.33, 0.17, 0.08, 0.07], [0.12, 0.22, 0.26, 0.26, 0.14]],
    "far": [[0.05, 0.10, 0.15, 0.30, 0.40], [0.60, 0.10, 0.10, 0.10, 0.10]],
    "zero where the model is not": [[0.00, 0.50, 0.50, 0.00, 0.00], [0.50, 0.00, 0.00, 0.00, 0.50]],
    "certain": [[0.00, 0.00, 1.00, 0.00, 0.00], [0.00, 1.00, 0.00, 0.00, 0.00]],
    "next to zero": [[1e-30, 1.0, 1e-30, 1e-30, 1e-30], [1e-9, 1e-9, 1.0, 1e-9, 1e-9]],
    "even": [[0.20] * 5, [0.20] * 5],
}
"""The probabilities of the draft's two tokens."""

STAGES: dict[str, dict[str, Any]] = {
    "none": {},
    "penalties and top-k": {"frequency_penalty": 0.7, "repetition_penalty": 1.3, "top_k": 3, "temperature": 1.2},
    "presence, bias and top-p": {"presence_penalty": -0.5, "logit_bias": {4: 1.0}, "top_p": 0.8, "temperature": 0.7},
    "n-grams and bans": {"no_repeat_ngram": 2, "bad_words": [[0, 4], [2]], "min_p": 0.05},
    "xtc": {"xtc_probability": 1.0, "xtc_threshold": 0.2},
    "mirostat": {"mirostat": 2, "mirostat_tau": 1.2, "mirostat_eta": 0.5},
    "adaptive-p": {"adaptive_target": 0.3, "adaptive_decay": 0.5},
    "greedy": {"temperature": 0},
}
PROMPT = [0, 1, 4, 0]


def joint_chances(params: dict[str, Any]) -> np.ndarray:
    """Of every three tokens in a row: the product of the probabilities that each has after those before it."""
    probabilities = np.zeros((5,) * len(ROWS))

    def walk(tokens: tuple[int, ...], probability: float, memory: dict[str, Any]) -> None:
        if len(tokens) == len(ROWS):
            probabilities[tokens] = probability
            return
        for token in range(5):
            here = np.zeros(5)

            def choose(weight: Any, _: Any, token: int = token, here: Any = here) -> int:
                here[:] = weight / weight.sum(dtype=np.float64)
                return token if weight[token] > 0 else int(weight.argmax())

            state = {"prompt": PROMPT, "output": tokens, **memory}
            drawn = reference.draw(ROWS[len(tokens)], params, choose=choose, **state)
            if here[token] > 0:
                walk((*tokens, token), probability * here[token], {"mu": drawn.mu, "average": drawn.average})

    walk((), 1.0, {})
    return probabilities


def agreement(tokens: np.ndarray, probabilities: np.ndarray) -> float:
    """Of triples of tokens with their probabilities: see `goodness.g_test`."""
    return g_test(np.ravel_multi_index(tuple(tokens.T), probabilities.shape), probabilities.ravel())


def drawn_from(probabilities: list[list[float]], seed: int = 2026) -> np.ndarray:
    """A draft of two for each stream, by a generator of its own."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.choice(5, COUNT, p=row) for row in probabilities], axis=1)


def logs(probabilities: list[list[float]]) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def three(sampler: Sampler, draft: Any, *logits: Any) -> list[int]:
    """Three tokens: what stands, the one after, and without a draft what is missing."""
    sampler.verify(ROWS, draft, *logits)
    for row in ROWS[sampler.position :]:
        sampler.sample(row)
    return sampler.output.tolist()


def speculated(params: dict[str, Any], drafts: np.ndarray, *logits: Any) -> np.ndarray:
    samplers = Sampler(SamplingParams(**params, seed=7), prompt=PROMPT).fork(COUNT)
    return np.array([three(sampler, draft, *logits) for sampler, draft in zip(samplers, drafts, strict=True)])


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_tokens_follow_the_model_whatever_the_draft(draft: str) -> None:
    """With penalties and top-k: they depend on what stood before, and cut what the draft may have drawn."""
    params = STAGES["penalties and top-k"]
    tokens = speculated(params, drawn_from(DRAFTS[draft]), logs(DRAFTS[draft]))
    assert agreement(tokens, joint_chances(params)) > FALSE_ALARM


@pytest.mark.parametrize("stages", STAGES)
def test_the_tokens_follow_the_model_through_all_kinds_of_stages(stages: str) -> None:
    """With a draft that is off by a good deal."""
    params = STAGES[stages]
    tokens = speculated(params, drawn_from(DRAFTS["far"]), logs(DRAFTS["far"]))
    assert agreement(tokens, joint_chances(params)) > FALSE_ALARM


def test_the_tokens_follow_the_model_without_the_scores_of_the_draft() -> None:
    """Then they are those without a draft."""
    params = STAGES["penalties and top-k"]
    tokens = speculated(params, drawn_from(DRAFTS["near"]))
    assert agreement(tokens, joint_chances(params)) > FALSE_ALARM
    parent = Sampler(SamplingParams(**params, seed=7), prompt=PROMPT)
    plain = [[fork.sample(row) for row in ROWS] for fork in parent.fork(1000)]
    assert tokens[:1000].tolist() == plain


def test_a_draft_may_come_from_a_sampler_of_the_same_seed() -> None:
    """Its coins are tossed for the draw; those that decide here are tossed for other purposes."""
    params, cold = STAGES["penalties and top-k"], {"temperature": 0.6, "top_p": 0.9}
    rows = logs(DRAFTS["near"])
    big = Sampler(SamplingParams(**params, seed=7), prompt=PROMPT).fork(COUNT)
    small = Sampler(SamplingParams(**cold, seed=7), prompt=PROMPT).fork(COUNT)
    tokens = []
    for one, other in zip(big, small, strict=True):
        draft, logits = [], []
        for row in rows:
            logits.append(other.process(row))
            draft.append(other.sample(row))
        tokens.append(three(one, draft, np.stack(logits)))
    assert agreement(np.array(tokens), joint_chances(params)) > FALSE_ALARM


def test_as_many_drafted_tokens_stand_as_the_chances_have_in_common() -> None:
    """The sum of min(p, q), which no other way can exceed; within five deviations."""
    params, draft = STAGES["penalties and top-k"], DRAFTS["near"]
    drafts = drawn_from(draft)
    scores = reference.process(ROWS[0], params, prompt=PROMPT)
    share = float(np.minimum(weights.probabilities(scores), draft[0]).sum())
    stood = np.mean(speculated(params, drafts, logs(draft))[:, 0] == drafts[:, 0])
    # A token that comes in the place of a drafted one is never the same.
    assert abs(stood - share) < 5 * math.sqrt(share * (1 - share) / COUNT)


def test_of_a_draft_from_the_same_chances_every_token_stands() -> None:
    """The quotient of the probabilities is 1, and every coin is below."""
    logits = ROWS[:2]
    for sampler in Sampler(SamplingParams(seed=3)).fork(2000):
        twin = Sampler(SamplingParams(seed=4), stream=sampler.stream)
        draft = [twin.sample(row) for row in logits]
        assert sampler.verify(ROWS, draft, logits)[:2] == draft


def test_the_test_finds_a_draft_that_lies_about_its_chances() -> None:
    """Drawn from one distribution and given out as another, it would bend what comes out."""
    params = STAGES["penalties and top-k"]
    tokens = speculated(params, drawn_from(DRAFTS["far"]), logs(DRAFTS["near"]))
    assert agreement(tokens, joint_chances(params)) < FALSE_ALARM
