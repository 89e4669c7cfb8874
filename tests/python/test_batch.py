"""A batch is its rows: each draws what it would draw alone, or the call changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sortition as st

NAN, INF = float("nan"), float("inf")
ROWS = np.random.default_rng(5).normal(0, 2, (4, 40)).astype(np.float32)
KINDS: list[dict[str, Any]] = [
    {"temperature": 0, "frequency_penalty": 0.5},
    {"temperature": 0.8, "top_p": 0.9, "seed": 1},
    {"mirostat": 2, "mirostat_tau": 2.0, "seed": 2},
    {"repetition_penalty": 1.3, "top_k": 5, "no_repeat_ngram": 2, "seed": 3},
]


def samplers(**changes: Any) -> list[st.Sampler]:
    """One of each kind, some tokens into its output."""
    made = [st.Sampler(st.SamplingParams(**(kind | changes)), prompt=[7, 9]) for kind in KINDS]
    for sampler in made:
        for row in ROWS[:3]:
            sampler.sample(row)
    return made


def state(sampler: st.Sampler) -> tuple[Any, ...]:
    """Everything that the next draws depend on, and what they are."""
    copy = sampler.__copy__()
    return sampler.output.tolist(), sampler.position, [copy.draw(row, logprobs=3).to_dict() for row in ROWS]


def test_a_batch_draws_what_its_samplers_draw() -> None:
    """Tokens and details, step after step; without log-probabilities there are no other arrays."""
    together, alone = samplers(), samplers()
    for _ in range(5):
        draws = st.sample_batch(ROWS, together, logprobs=3)
        want = [sampler.draw(row, logprobs=3) for sampler, row in zip(alone, ROWS, strict=True)]
        assert draws.tokens.tolist() == [draw.token for draw in want]
        assert draws.logprobs.tolist() == [draw.logprob for draw in want]
        assert draws.raw_logprobs.tolist() == [draw.raw_logprob for draw in want]
        assert draws.ranks.tolist() == [draw.rank for draw in want]
        assert draws.kept.tolist() == [draw.kept for draw in want]
        assert draws.top_ids.tolist() == [[i for i, _ in draw.top] for draw in want]
        assert draws.top_logprobs.tolist() == [[x for _, x in draw.top] for draw in want]
    draws = st.sample_batch(ROWS, together)
    assert draws.tokens.tolist() == [sampler.sample(row) for sampler, row in zip(alone, ROWS, strict=True)]
    assert draws.errors == {}
    assert draws.logprobs is draws.raw_logprobs is draws.ranks is draws.top_ids is draws.top_logprobs is None
    assert draws.kept is None
    assert list(map(state, together)) == list(map(state, alone))


def test_the_arrays_have_the_types_and_shapes_that_are_promised() -> None:
    draws = st.sample_batch(ROWS, samplers(), logprobs=3)
    for name, dtype, shape in [
        ("tokens", np.int64, (4,)),
        ("logprobs", np.float64, (4,)),
        ("raw_logprobs", np.float64, (4,)),
        ("ranks", np.int64, (4,)),
        ("top_ids", np.int64, (4, 3)),
        ("top_logprobs", np.float64, (4, 3)),
        ("kept", np.int64, (4,)),
    ]:
        array = getattr(draws, name)
        assert (array.dtype, array.shape) == (dtype, shape), name
    assert st.sample_batch(ROWS, samplers(), logprobs=0).top_ids.shape == (4, 0)
    empty = st.sample_batch(ROWS[:0], [], logprobs=2)
    assert (empty.tokens.shape, empty.top_ids.shape) == ((0,), (0, 2))


def test_rows_select_as_an_index_would() -> None:
    """Gaps, any order, one row for several sequences; the mask goes with the scores."""
    mask = np.random.default_rng(1).integers(1, 2**32, (4, 2), np.uint32)
    for rows in ([2, 0], [3, 3, 3, 1], np.array([1]), []):
        one, other = samplers()[: len(rows)], samplers()[: len(rows)]
        index = np.array(rows, np.int64)
        got = st.sample_batch(ROWS, one, mask=mask, rows=rows, logprobs=2)
        want = st.sample_batch(ROWS[index], other, mask=mask[index], logprobs=2)
        assert got.tokens.tolist() == want.tokens.tolist()
        assert got.top_logprobs.tolist() == want.top_logprobs.tolist()
        assert list(map(state, one)) == list(map(state, other))


def test_forks_share_a_row_and_differ() -> None:
    """The first token of n choices for one prompt."""
    forks = st.Sampler(st.SamplingParams(seed=7)).fork(40)
    tokens = st.sample_batch(np.zeros((1, 1000), np.float32), forks, rows=[0] * 40).tokens
    assert len(set(tokens.tolist())) > 30


def _in_records(array: np.ndarray) -> np.ndarray:
    """Rows that are no whole number of scores apart, the first of them aligned."""
    records = np.zeros(len(array), [("row", array.dtype, array.shape[1:]), ("odd", np.uint16)])
    records["row"] = array
    return records["row"]


LAYOUTS = {
    "read-only": lambda x: _read_only(x.copy()),
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed rows": lambda x: x[::-1].copy()[::-1],
    "every second score": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "by columns": np.asfortranarray,
    "a padded table": lambda x: np.pad(x, ((0, 0), (3, 5)))[:, 3:-5],
    "in records": _in_records,
    "float64": lambda x: x.astype(np.float64),
    "lists": lambda x: x.tolist(),
}


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_the_layout_of_scores_and_masks_does_not_matter(layout: str) -> None:
    mask = np.random.default_rng(1).integers(1, 2**31, (4, 2)).astype(np.int32)
    want = st.sample_batch(ROWS, samplers(), mask=mask).tokens.tolist()
    assert st.sample_batch(LAYOUTS[layout](ROWS), samplers(), mask=mask).tokens.tolist() == want
    if layout not in ("float64", "lists"):
        assert st.sample_batch(ROWS, samplers(), mask=LAYOUTS[layout](mask)).tokens.tolist() == want
    one = LAYOUTS[layout](ROWS)[:1]
    assert st.sample_batch(one, samplers()[:1], mask=mask[:1]).tokens.tolist() == want[:1]


def test_out_is_what_is_returned_and_is_left_alone_by_an_error() -> None:
    out = np.full(4, 99, np.int64)
    assert st.sample_batch(ROWS, tuple(samplers()), out=out).tokens is out
    assert out.tolist() == st.sample_batch(ROWS, samplers()).tokens.tolist()
    bad = ROWS.copy()
    bad[2, 1] = NAN
    before = out.tolist()
    with pytest.raises(st.LogitsError):
        st.sample_batch(bad, samplers(), out=out)
    assert out.tolist() == before
    assert st.sample_batch(bad, samplers(), out=out, on_error="mark").tokens is out
    assert out[2] == -1


def test_out_may_not_lie_in_the_scores() -> None:
    """It is written to when all is decided, so that would be no harm; but who does it has mixed up arrays."""
    buffer = np.zeros(80, np.int64)
    scores = buffer.view(np.float32).reshape(4, 40)
    scores[:] = ROWS
    made, untouched = samplers(), samplers()
    with pytest.raises(st.ParameterError, match="out must be apart from logits and mask"):
        st.sample_batch(scores, made, out=buffer[:4])
    assert list(map(state, made)) == list(map(state, untouched))


def test_arrays_of_another_call_are_refused_in_words() -> None:
    """Its out is written to when all is decided; whoever uses it meanwhile has mixed up arrays."""
    out, said = np.zeros(4, np.int64), []

    def meddle(history: np.ndarray, scores: np.ndarray) -> None:
        for call in (
            lambda: st.sample_batch(ROWS, samplers(), out=out),
            lambda: st.sample_batch(out.view(np.float32)[None], [st.Sampler()]),
            lambda: st.Sampler().sample(out.view(np.float32)),
            lambda: st.Sampler().sample(ROWS[0, :8], out.view(np.uint32)),
            lambda: st.softmax(out.view(np.float32)),
            lambda: st.softmax(ROWS[0, :8], out=out.view(np.float32)),
            lambda: st.log_softmax(ROWS[0, :8], out=out.view(np.float32)),
        ):
            with pytest.raises(st.ParameterError) as caught:
                call()
            said.append(str(caught.value))

    made = [*samplers()[:3], st.Sampler(st.SamplingParams(processors=[meddle]))]
    st.sample_batch(ROWS, made, out=out)
    reading, owning = (
        "must be memory that no other call writes to, got",
        "out must be memory that no other call uses, got",
    )
    assert [line.rpartition(" the out of a call")[0] or line.rpartition(" memory in use")[0] for line in said] == [
        "out must be apart from logits and mask, and of no other call, got",
        *[f"{name} {reading}" for name in ("logits", "logits", "mask", "x")],
        owning,
        owning,
    ]


class UnluckyError(Exception):
    """Of a processor."""


def _unlucky(history: np.ndarray, scores: np.ndarray) -> None:
    raise UnluckyError


def _interrupted(history: np.ndarray, scores: np.ndarray) -> None:
    raise KeyboardInterrupt


#: What makes row 2 fail: its scores, changes of its parameters, the size of its vocabulary; and the error.
FAILURES: dict[str, tuple[Any, dict[str, Any], int | None, type[BaseException]]] = {
    "NaN": ((3, NAN), {}, None, st.LogitsError),
    "infinity": ((3, INF), {}, None, st.LogitsError),
    "nothing": ((..., -INF), {}, None, st.NoCandidateError),
    "everything banned": ((..., ROWS[2]), {"suppress": list(range(40))}, None, st.NoCandidateError),
    "an id too large": ((..., ROWS[2]), {"logit_bias": {40: 1.0}}, None, st.ParameterError),
    "a row too short": ((..., ROWS[2]), {}, 41, st.LogitsError),
    "a processor that raises": ((..., ROWS[2]), {"processors": [_unlucky]}, None, UnluckyError),
    "a processor that answers nonsense": ((..., ROWS[2]), {"processors": [lambda *_: "no"]}, None, st.LogitsError),
    "a processor that makes NaN": ((..., ROWS[2]), {"processors": [lambda _, x: x * np.nan]}, None, st.LogitsError),
}


def with_a_bad_row(name: str) -> tuple[np.ndarray, list[st.Sampler]]:
    """Scores and samplers of which the third is bad, and was not used before."""
    scores, changes, vocab_size, _ = FAILURES[name]
    rows, made = ROWS.copy(), samplers()
    place, value = scores
    rows[2, place] = value
    made[2] = st.Sampler(st.SamplingParams(**(KINDS[2] | changes)), vocab_size=vocab_size)
    return rows, made


@pytest.mark.parametrize("logprobs", [None, 2])
@pytest.mark.parametrize("name", FAILURES)
def test_an_error_leaves_every_sampler_as_it_was(name: str, logprobs: int | None) -> None:
    """Also those whose rows were good; the error says which row it was."""
    rows, made = with_a_bad_row(name)
    untouched = samplers()
    with pytest.raises(FAILURES[name][3]) as caught:
        st.sample_batch(rows, made, logprobs=logprobs)
    assert caught.value.row == 2  # type: ignore[attr-defined]
    assert isinstance(caught.value, UnluckyError) or str(caught.value).startswith("row 2: ")
    for at in (0, 1, 3):
        assert state(made[at]) == state(untouched[at])
    assert (made[2].position, made[2].output.tolist()) == (0, [])


@pytest.mark.parametrize("logprobs", [None, 2])
@pytest.mark.parametrize("name", FAILURES)
def test_marked_rows_stand_still_and_the_others_go_on(name: str, logprobs: int | None) -> None:
    rows, made = with_a_bad_row(name)
    alone = samplers()
    draws = st.sample_batch(rows, made, logprobs=logprobs, on_error="mark")
    assert list(draws.errors) == [2]
    assert type(draws.errors[2]) is FAILURES[name][3]
    assert draws.errors[2].row == 2  # type: ignore[attr-defined]
    assert draws.tokens[2] == -1
    assert made[2].position == 0
    for at in (0, 1, 3):
        assert draws.tokens[at] == alone[at].sample(rows[at])
        assert state(made[at]) == state(alone[at])
    if logprobs is not None:
        assert np.isnan([draws.logprobs[2], draws.raw_logprobs[2], *draws.top_logprobs[2]]).all()
        assert (draws.ranks[2], draws.kept[2], draws.top_ids[2].tolist()) == (0, 0, [-1, -1])
        assert np.isfinite(draws.raw_logprobs[[0, 1, 3]]).all()


def test_the_first_of_several_bad_rows_is_raised_and_all_are_marked() -> None:
    rows = ROWS.copy()
    rows[3, 0] = rows[1, 5] = NAN
    with pytest.raises(st.LogitsError, match="row 1: token 5") as caught:
        st.sample_batch(rows, samplers())
    assert (caught.value.row, caught.value.token) == (1, 5)
    assert sorted(st.sample_batch(rows, samplers(), on_error="mark").errors) == [1, 3]


def test_an_interrupt_is_nobodys_row() -> None:
    """Whoever presses Ctrl-C while a processor runs ends the call, and no sampler has moved."""
    made, untouched = samplers(), samplers()
    made[2] = st.Sampler(st.SamplingParams(processors=[_interrupted]))
    with pytest.raises(KeyboardInterrupt):
        st.sample_batch(ROWS, made, on_error="mark")
    assert [state(made[at]) for at in (0, 1, 3)] == [state(untouched[at]) for at in (0, 1, 3)]


def test_the_same_sampler_twice_is_refused() -> None:
    made = samplers()
    before = state(made[1])
    with pytest.raises(
        st.ParameterError, match="samplers must be one Sampler for each row, got the same for the rows 1 and 3"
    ):
        st.sample_batch(ROWS, [made[0], made[1], made[2], made[1]])
    assert state(made[1]) == before


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"samplers": 3}, st.ParameterError, "samplers must be a sequence of Sampler, got 3"),
        ({"samplers": [None] * 4}, st.ParameterError, "samplers must be a sequence of Sampler, got .*NoneType.* at 0"),
        ({"samplers": []}, st.ParameterError, "samplers must be one for each row of logits, got 0 for 4 rows"),
        ({"rows": [1]}, st.ParameterError, "samplers must be one for each of rows, got 4 for 1 rows"),
        ({"rows": [0, 1, 2, 4]}, st.ParameterError, "rows must be indices below .* rows of logits, got 4, of 4 rows"),
        ({"rows": [0, 1, 2, -1]}, st.ParameterError, r"rows must be a sequence of row indices .*, got \[0, 1, 2, -1\]"),
        ({"rows": [True] * 4}, st.ParameterError, "rows must be a sequence of row indices"),
        ({"rows": 2}, st.ParameterError, "rows must be a sequence of row indices of at least 0, got 2"),
        ({"logits": ROWS[0]}, st.LogitsError, r"logits must have the shape \(rows, vocab\), got \(40,\)"),
        ({"logits": ROWS[None]}, st.LogitsError, r"logits must have the shape \(rows, vocab\), got \(1, 4, 40\)"),
        ({"logits": ROWS[:3]}, st.ParameterError, "samplers must be one for each row of logits, got 4 for 3 rows"),
        ({"logits": [[1, 2], [1]]}, st.LogitsError, "logits must be rows of one length"),
        ({"logits": ROWS[:, :0]}, st.LogitsError, "row 0: a row of logits must have"),
        (
            {"mask": np.zeros((3, 2), np.int32)},
            st.ParameterError,
            r"mask must have the shape \(4, words\).* \(3, 2\)",
        ),
        (
            {"mask": np.zeros((5, 2), np.int32)},
            st.ParameterError,
            r"mask must have the shape \(4, words\).* \(5, 2\)",
        ),
        ({"mask": np.zeros(2, np.int32)}, st.ParameterError, r"mask must have the shape \(4, words\), .*, got \(2,\)"),
        ({"mask": np.zeros((4, 0), np.int32)}, st.ParameterError, r"mask must have .*, got \(4, 0\)"),
        ({"mask": np.zeros((4, 2), np.int64)}, st.ParameterError, "mask must be packed int32 or uint32, got .* int64"),
        ({"logprobs": 41}, st.ParameterError, "logprobs must be at most .*, got 41 with a vocabulary of 40"),
        ({"logprobs": -1}, st.ParameterError, "logprobs must be an integer in"),
        ({"on_error": "ignore"}, st.ParameterError, "on_error must be 'raise' or 'mark', got 'ignore'"),
        (
            {"out": np.zeros(4, np.int32)},
            st.ParameterError,
            r"out must be .* int64 array of shape \(4,\), got one of dtype int32",
        ),
        ({"out": np.zeros(3, np.int64)}, st.ParameterError, r"out must be .*, got one of shape \(3,\)"),
        ({"out": np.zeros(8, np.int64)[::2]}, st.ParameterError, r"out must be .*, got one with strides \(16,\)"),
        ({"out": _read_only(np.zeros(4, np.int64))}, st.ParameterError, "out must be .*, got one that is read-only"),
        ({"out": [0, 0, 0, 0]}, st.ParameterError, "out must be .*, got list"),
    ],
)
@pytest.mark.parametrize("on_error", ["raise", "mark"])
def test_what_does_not_fit_is_refused_before_anything_changes(
    changes: dict[str, Any], error: type[Exception], message: str, on_error: str
) -> None:
    """By either way of handling the errors of rows: these are errors of the call. A row of no scores is a row's."""
    made, untouched = samplers(), samplers()
    given = {"logits": ROWS, "samplers": made, "on_error": on_error} | changes
    if on_error == "mark" and "row 0" in message:
        assert sorted(st.sample_batch(**given).errors) == [0, 1, 2, 3]
    else:
        with pytest.raises(error, match=message):
            st.sample_batch(**given)
    assert list(map(state, made)) == list(map(state, untouched))
