"""Verification of a draft: the tokens that stand, and the one after, as if there had been no draft.

That they follow the model's probabilities is in test_speculation.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import ReferenceSampler
from refusals import said
from sortition import LogitsError, NoCandidateError, ParameterError, Sampler, SamplingParams
from sortition.reference import profiles
from strategies import finite_logits, histories, history_params, masks, seeds, stage_params
from test_history import SMALL, outcome, play

if TYPE_CHECKING:
    from collections.abc import Callable

NAN, INF = float("nan"), float("inf")


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """All stages in any order, a history, rows with or without masks, and a draft that is right for a while."""
    size = draw(SMALL)
    params = draw(stage_params(size)) | {"seed": draw(seeds), "min_tokens": draw(st.integers(0, 6))}
    if draw(st.booleans()):
        params |= draw(history_params(size)) | {"order": draw(st.permutations(profiles.SOFT))}
    length = draw(st.integers(0, 4))
    rows = np.stack([draw(finite_logits(st.just(size))) for _ in range(length + 1)])
    state = {
        "prompt": draw(histories(size)),
        "vocab_size": draw(st.sampled_from([None, size])),
        "stop_tokens": draw(st.lists(st.integers(0, size - 1), max_size=2)),
        "stream": draw(st.integers(0, 2**32 - 1)),
    }
    request = {
        "params": params,
        "state": state,
        "script": draw(st.lists(st.integers(0, size - 1), max_size=5)),
        "rows": rows,
        "mask": np.stack([draw(masks(row)) for row in rows]) if draw(st.booleans()) else None,
    }
    return request | {"draft": drafted(draw, request, length)}


def drafted(draw: st.DrawFn, request: dict[str, Any], length: int) -> list[int]:
    """What would have been drawn without a draft, up to a place from which on it is anything."""
    right, size = draw(st.integers(0, length)), request["rows"].shape[1]
    tokens = outcome(lambda: step_by_step(ours(request), request, right))
    tokens = tokens if isinstance(tokens, list) else []
    return [*tokens, *draw(st.lists(st.integers(0, size - 1), min_size=length, max_size=length))][:length]


@st.composite
def scores_of(draw: st.DrawFn, draft: list[int], size: int) -> np.ndarray:
    """Scores that the draft can have been drawn from."""
    table = np.empty((len(draft), size), np.float32)
    for row, token in zip(table, draft, strict=True):
        row[:] = draw(finite_logits(st.just(size)))
        if row[token] == -INF:
            row[token] = draw(st.sampled_from([0.0, -3.0, row.max()]))
    return table


def ours(request: dict[str, Any]) -> Sampler:
    return play(Sampler(SamplingParams(**request["params"]), **request["state"]), request["script"])


def theirs(request: dict[str, Any]) -> ReferenceSampler:
    return play(ReferenceSampler(request["params"], **request["state"]), request["script"])


def step_by_step(sampler: Any, request: dict[str, Any], count: int) -> list[int]:
    """One token for each of the first rows."""
    rows, mask = request["rows"][:count], request["mask"]
    return [int(sampler.sample(row, None if mask is None else mask[at])) for at, row in enumerate(rows)]


@given(request=requests())
def test_what_stands_is_what_would_have_been_drawn_to_the_bit(request: dict[str, Any]) -> None:
    """And the sampler is, to the bit, one that never had a draft: history, counts, memory of a policy, coins."""
    sampler, plain, draft = ours(request), ours(request), request["draft"]
    tokens = outcome(lambda: sampler.verify(request["rows"], draft, mask=request["mask"]))
    if not isinstance(tokens, list):
        assert outcome(lambda: step_by_step(plain, request, len(draft) + 1)) == tokens
        assert sampler.to_bytes() == ours(request).to_bytes()
        return
    assert tokens == step_by_step(plain, request, len(tokens))
    assert sampler.to_bytes() == plain.to_bytes()
    assert tokens[:-1] == draft[: len(tokens) - 1]
    assert len(tokens) == len(draft) + 1 or tokens[-1] != draft[len(tokens) - 1]
    row = request["rows"][-1]
    assert outcome(lambda: sampler.process(row).tolist()) == outcome(lambda: plain.process(row).tolist())


@given(request=requests(), data=st.data())
def test_with_the_scores_of_the_draft_the_reference_names_the_very_tokens(
    request: dict[str, Any], data: st.DataObject
) -> None:
    """The history is theirs afterwards, and goes on as theirs."""
    sampler, reference, draft, rows = ours(request), theirs(request), request["draft"], request["rows"]
    logits = data.draw(scores_of(draft, rows.shape[1]))
    got = outcome(lambda: sampler.verify(rows, draft, logits, mask=request["mask"]))
    want = outcome(lambda: reference.verify(rows, draft, logits, mask=request["mask"]))
    assert got == want
    if not isinstance(got, list):
        assert sampler.to_bytes() == ours(request).to_bytes()
        return
    assert sampler.output.tolist() == reference.output
    assert tokens_then(sampler, rows) == tokens_then(reference, rows)


def tokens_then(sampler: Any, rows: np.ndarray) -> list[Any]:
    return [outcome(lambda row=row: sampler.sample(row)) for row in rows]


ROWS = np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0]], np.float32)
DRAFT = [2, 0]
"""What is best in the first two of these rows."""


def greedy(**params: Any) -> Sampler:
    return Sampler(SamplingParams(temperature=0, **params), prompt=[1])


def test_without_a_draft_it_is_one_token() -> None:
    assert greedy().verify(ROWS[:1], []) == [2]
    assert greedy().verify(ROWS[:1], np.empty(0, np.int64), np.empty((0, 3))) == [2]
    assert greedy().verify(ROWS[0], []) == [2]


@pytest.mark.parametrize(
    "convert", [np.float64, np.float16, lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: x.tolist()]
)
def test_rows_are_any_array(convert: Callable[[Any], Any]) -> None:
    """Of real numbers, strided or not, or lists; so are the scores of the draft."""
    assert greedy().verify(convert(ROWS), DRAFT) == [2, 0, 1]
    assert greedy().verify(convert(ROWS), np.array(DRAFT), convert(ROWS[:2])) == [2, 0, 1]


def test_every_position_has_its_own_mask() -> None:
    """Bit t of the row is token t: 2 is not allowed at first, 0 not after."""
    words = np.array([[0b011], [0b110], [0b111]], np.uint32)
    sampler = greedy()
    assert sampler.verify(ROWS, [1, 1], mask=words) == [1, 1, 1]
    assert greedy().verify(ROWS, [1, 0], mask=words.astype(np.int32)) == [1, 1]


def test_a_processor_sees_the_history_of_each_position() -> None:
    """The drafted tokens before it, and nothing after the first that does not stand."""
    seen: list[list[int]] = []
    sampler = greedy(processors=[lambda history, _: seen.append(history.tolist())])
    assert sampler.verify(ROWS, [2, 1]) == [2, 0]
    assert seen == [[1], [1, 2]]


def test_a_padded_head_is_not_looked_at() -> None:
    """Neither the target's nor the draft's, which may be of another width."""
    wide = np.pad(ROWS, ((0, 0), (0, 2)), constant_values=NAN)
    wider = np.pad(ROWS[:2], ((0, 0), (0, 9)), constant_values=99)
    sampler = Sampler(SamplingParams(temperature=0), vocab_size=3)
    assert sampler.verify(wide, DRAFT, wider) == [2, 0, 1]


@pytest.mark.parametrize("logits", [(), (ROWS[:2],)], ids=["exact", "speculative"])
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_an_error_in_any_row_leaves_the_sampler_as_it_was(bad: int, logits: tuple[Any, ...]) -> None:
    """Whatever was recorded before it is taken back: scores, an empty mask, a processor, each in each row."""
    sampler = Sampler(SamplingParams(temperature=0, frequency_penalty=1e-3, no_repeat_ngram=2), prompt=[1])
    before = sampler.to_bytes()
    rows = ROWS.copy()
    rows[bad, 1] = NAN
    with pytest.raises(LogitsError, match=f"row {bad}: token 1 has the score NaN") as scores:
        sampler.verify(rows, DRAFT, *logits)
    assert (scores.value.row, scores.value.token) == (bad, 1)
    mask = np.full((3, 1), 7, np.uint32)
    mask[bad] = 0
    with pytest.raises(NoCandidateError, match=f"row {bad}: no token is possible: mask") as empty:
        sampler.verify(ROWS, DRAFT, *logits, mask=mask)
    assert (empty.value.row, empty.value.stage) == (bad, "mask")
    assert sampler.to_bytes() == before
    assert sampler.verify(ROWS, DRAFT, *logits) == [2, 0, 1]

    class TiredError(Exception):
        pass

    def tires(history: np.ndarray, _: Any) -> None:
        if len(history) == 1 + bad:
            raise TiredError

    tired = greedy(processors=[tires])
    with pytest.raises(TiredError):
        tired.verify(ROWS, DRAFT, *logits)
    assert tired.output.tolist() == []


def test_rows_behind_the_last_token_are_not_looked_at() -> None:
    """Without a draft they would never have been."""
    rows, logits = ROWS.copy(), ROWS[:2].copy()
    rows[1:], logits[1:] = NAN, NAN
    assert greedy().verify(rows, [0, 0]) == [2]
    assert greedy().verify(rows, [0, 0], logits) == [2]


def draft_logits(row: int, token: int, score: float) -> np.ndarray:
    table = ROWS[:2].copy()
    table[row, token] = score
    return table


BAD_DRAFTS: dict[str, tuple[np.ndarray, int, tuple[str, ...]]] = {
    "NaN": (draft_logits(1, 2, NAN), 2, ("row 1: draft_logits: token 2 has the score NaN", "finite or -inf")),
    "+inf": (draft_logits(1, 2, INF), 2, ("row 1: draft_logits: token 2 has the score inf", "finite or -inf")),
    "an impossible token": (draft_logits(1, 0, -INF), 0, ("row 1: draft_logits: token 0 of draft has the score -inf",)),
}


@pytest.mark.parametrize("case", BAD_DRAFTS)
def test_scores_that_the_draft_was_not_drawn_from_are_refused(case: str) -> None:
    """With the row and the token; nothing is recorded."""
    logits, token, words = BAD_DRAFTS[case]
    sampler = greedy()
    with pytest.raises(LogitsError) as caught:
        sampler.verify(ROWS, DRAFT, logits)
    assert said(caught.value, *words)
    assert (caught.value.row, caught.value.token) == (1, token)
    assert sampler.position == 0


BAD_CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "a row too few": ((ROWS[:2], DRAFT), {}, ParameterError, "rows must be one more than draft has tokens, got 2"),
    "a row too many": ((ROWS, [2]), {}, ParameterError, "rows must be one more than draft has tokens, got 3"),
    "no rows": ((ROWS[:0], []), {}, ParameterError, "rows must be one more than draft has tokens, got 0"),
    "a block": ((ROWS[None], DRAFT), {}, LogitsError, r"rows must have the shape \(rows, vocab\), got \(1, 3, 3\)"),
    "draft_logits too many": ((ROWS, DRAFT, ROWS), {}, ParameterError, "draft_logits must be a row for each token"),
    "draft_logits too few": ((ROWS, DRAFT, ROWS[:1]), {}, ParameterError, "draft_logits must be a row for each token"),
    "a block of them": ((ROWS, DRAFT, ROWS[None, :2]), {}, LogitsError, "draft_logits must have the shape"),
    "of less width": ((ROWS, DRAFT, ROWS[:2, :2]), {}, LogitsError, "row 0: draft_logits: a row must have 3 .*, got 2"),
    "of more width": ((ROWS, DRAFT, np.zeros((2, 4))), {}, LogitsError, "draft_logits: a row must have 3 .*, got 4"),
    "an id beyond": ((ROWS, [2, 3]), {}, ParameterError, "draft names token 3, but the vocabulary has 3 tokens"),
    "an id below": ((ROWS, [2, -1]), {}, ParameterError, "draft must hold token ids of at least 0, got -1"),
    "no ids": ((ROWS, [2, 0.5]), {}, ParameterError, "draft must be a sequence of integer token ids"),
    "a mask too few": (
        (ROWS, DRAFT),
        {"mask": np.zeros((2, 1), np.int32)},
        ParameterError,
        r"mask must .* \(3, words\)",
    ),
    "one mask": ((ROWS, DRAFT), {"mask": np.zeros(1, np.int32)}, ParameterError, r"mask must .* \(3, words\)"),
    "no mask": ((ROWS, DRAFT), {"mask": np.zeros((3, 1))}, ParameterError, "mask must be packed int32 or uint32"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_what_does_not_fit_the_draft_is_refused(case: str) -> None:
    """By name, and before anything changes."""
    args, options, kind, message = BAD_CALLS[case]
    sampler = greedy()
    with pytest.raises(kind, match=message):
        sampler.verify(*args, **options)
    assert sampler.position == 0
