"""The functions that take a row return what the reference returns, for every row and every shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sortition
from sortition import reference
from sortition.reference.weights import weights
from strategies import finite_logits

if TYPE_CHECKING:
    from collections.abc import Callable

TABLES = st.integers(1, 3).flatmap(
    lambda rows: st.sampled_from([1, 15, 16, 17, 100]).flatmap(
        lambda size: st.lists(finite_logits(st.just(size)), min_size=rows, max_size=rows).map(np.stack)
    )
)


def near(got: np.ndarray, want: np.ndarray) -> None:
    """Within 1e-5 times max(1, |number|), -inf for -inf."""
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=1e-5, atol=1e-5)


@given(row=finite_logits())
def test_argmax_is_the_lowest_id_of_the_best(row: np.ndarray) -> None:
    """Of equals the first, -0.0 and 0.0 being equal."""
    assert sortition.argmax(row) == int(reference.argmax(row))


def rough_sum(weight: np.ndarray) -> np.float64:
    """Of every sixty-four weights, those sixteen apart are added in float32, (a + b) + (c + d); the rest in float64."""
    whole = weight.size - weight.size % 64
    a, b, c, d = np.moveaxis(weight[:whole].reshape(-1, 4, 16), 1, 0)
    return ((a + b) + (c + d)).sum(dtype=np.float64) + weight[whole:].sum(dtype=np.float64)


@given(row=finite_logits(), temperature=st.sampled_from([1e-40, 1e-3, 0.1, 0.5, 0.7, 1.0, 2.0, 100.0, 1e30]))
def test_softmax_is_weight_over_sum_of_weights_to_the_bit(row: np.ndarray, temperature: float) -> None:
    """The weights of the definition, their sum, a quotient in float64, and one rounding to float32.

    Below 1e-30 the last place is free: a remainder of the division may leave the range of float32.
    """
    weight = weights(row, temperature)
    want = (weight / rough_sum(weight)).astype(np.float32)
    got = sortition.softmax(row, temperature=temperature)
    seen = want > 1e-30
    assert got[seen].view(np.uint32).tolist() == want[seen].view(np.uint32).tolist()
    np.testing.assert_allclose(got[~seen], want[~seen], rtol=1e-6, atol=2e-45)


@pytest.mark.parametrize("none", [1.0, [], np.zeros((2, 0))], ids=["a number", "no score", "rows of none"])
@pytest.mark.parametrize(
    "function",
    [
        sortition.argmax,
        sortition.softmax,
        sortition.log_softmax,
        sortition.logsumexp,
        sortition.entropy,
        lambda x: sortition.top_k(x, 2),
        lambda x: sortition.top_p(x, 0.5),
    ],
)
def test_what_has_no_scores_is_called_by_its_name(function: Callable[[Any], Any], none: Any) -> None:
    """That of the argument."""
    with pytest.raises(sortition.LogitsError, match=r"^x must have at least one score along the last axis, got shape "):
        function(none)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3)])
def test_no_rows_have_their_shape(shape: tuple[int, ...]) -> None:
    """What is asked of each row is asked of none, and any number of axes stays."""
    none = np.zeros(shape, np.float32)
    assert sortition.softmax(none).shape == sortition.log_softmax(none).shape == shape
    assert sortition.argmax(none).shape == sortition.entropy(none).shape == shape[:-1]
    assert sortition.softmax(none, out=none) is none
    for k in (1, 2, 9):
        expected = np.sort(none, axis=-1)[..., :k]
        for part, dtype in zip(sortition.top_k(none, k), (np.float32, np.int64), strict=True):
            assert (part.shape, part.dtype) == (expected.shape, dtype)


def test_one_row_gives_a_number_and_several_an_array_of_their_shape() -> None:
    """However the scores arrive: in place, strided, of another type, as lists."""
    table = np.array([[0.0, 3.0, 1.0, 2.0], [5.0, 0.0, 0.0, 0.0]], np.float32)
    forms = [
        table,
        table.astype(np.float64),
        np.repeat(table, 2, axis=1)[:, ::2],
        table.astype(np.float16),
        table.tolist(),
    ]
    for rows in forms:
        best = sortition.argmax(rows[0])
        assert (type(best), best) == (int, 1)
        for function, kind in ((sortition.argmax, np.int64), (sortition.entropy, np.float64)):
            one = function(rows[0])
            several = function(rows)
            assert (type(one), several.shape, several.dtype) == (kind(0).item().__class__, (2,), kind)
            assert several.tolist() == [one, function(rows[1])]
            deep = function([rows, rows, rows])
            assert (deep.shape, deep.dtype, deep[2].tolist()) == ((3, 2), kind, several.tolist())


def test_of_no_rows_there_is_no_nucleus_and_no_token() -> None:
    """Whatever they would have been like."""
    for none in (np.zeros((0, 5), np.float32), np.zeros((0, 5)), np.zeros((6, 10), np.float16)[:0, ::2]):
        assert sortition.top_p(none, 0.5) == []
        tokens = sortition.sample(none, top_k=2)
        assert (tokens.shape, tokens.dtype) == ((0,), np.int64)
        with pytest.raises(sortition.ParameterError, match=r"^k must be"):
            sortition.top_k(none, 0)


@given(row=finite_logits(), temperature=st.sampled_from([0.1, 0.5, 1.0, 2.0, 100.0]))
def test_softmax_is_a_distribution_within_a_few_units_of_the_last_place(row: np.ndarray, temperature: float) -> None:
    """Relative to each probability, where it is a normal float32; the sum is 1."""
    got, want = sortition.softmax(row, temperature=temperature), reference.softmax(row, temperature)
    seen = want > 1e-37
    np.testing.assert_allclose(got[seen], want[seen], rtol=5e-7)
    assert (got[~seen] <= 2e-37).all()
    assert float(got.sum(dtype=np.float64)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e-37])
def test_temperatures_below_all_normal_floats(scale: float) -> None:
    """Denormal scores are as far apart as others are at temperatures as much larger; of equals each has its share."""
    for temperature in (1e-37, 1e-39, 1e-42, 1e-45, 5e-324):
        row = np.array([0.5, 1.0, 1.0, 0.0, -np.inf, 1 - 2**-22], np.float32) * np.float32(scale)
        with np.errstate(over="ignore"):
            exact = np.exp((row.astype(np.float64) - float(row.max())) / temperature)
        exact /= exact.sum()
        assert np.allclose(exact, sortition.softmax(row, temperature=temperature), rtol=1e-6, atol=1e-40)
        assert np.allclose(exact, reference.softmax(row, temperature), rtol=1e-6, atol=1e-40)
        drawn = sortition.sample(np.tile(row, (4000, 1)), temperature=temperature, seed=1)
        assert exact[drawn].min() > 0
        assert abs(np.mean(drawn == 1) - exact[1]) < 0.045  # 5.7 deviations at a half: one false alarm in 80 million


@pytest.mark.parametrize("temperature", [1e-4, 1.0, 3.0])
def test_a_row_at_the_limit_of_what_can_be_weighed_as_it_stands_keeps_its_mass(temperature: float) -> None:
    """Below -2^15 ln 2 · T weights are measured from the best score: here that is above, and most others are below."""
    limit = -(2.0**15) * np.log(2) * temperature
    row = np.full(12_000, limit * (1 + 1e-6), np.float32)
    row[10] = limit * (1 - 1e-6)
    exact = np.exp((row.astype(np.float64) - float(row[10])) / temperature)
    exact /= exact.sum()
    near(sortition.softmax(row, temperature=temperature) * 1e4, exact * 1e4)
    sampler = sortition.Sampler(sortition.SamplingParams(temperature=temperature, top_p=0.5, seed=0))
    kept = np.flatnonzero(sampler.process(row) > -np.inf)
    reached = np.cumsum(np.concatenate([exact[[10]], np.delete(exact, 10)]))
    assert len(kept) == np.searchsorted(reached, 0.5 * (1 - 2.0**-20)) + 1
    assert max(sampler.sample(row) for _ in range(20)) > 4096


@given(row=finite_logits())
def test_log_softmax_logsumexp_and_entropy_are_those_of_float64(row: np.ndarray) -> None:
    """Also where a score minus the best leaves float32: what cannot be held is the lowest float or -inf."""
    want = np.maximum(reference.log_softmax(row), np.where(row > -np.inf, np.finfo(np.float32).min, -np.inf))
    near(np.maximum(sortition.log_softmax(row), np.where(row > -np.inf, np.finfo(np.float32).min, -np.inf)), want)
    near(sortition.logsumexp(row), reference.logsumexp(row))
    near(sortition.entropy(row), reference.entropy(row))


@given(row=finite_logits(), data=st.data())
def test_top_k_is_sorted_and_breaks_ties_by_id(row: np.ndarray, data: st.DataObject) -> None:
    """Values and ids, exactly; impossible tokens come last, by id."""
    k = data.draw(st.integers(1, len(row)))
    values, ids = sortition.top_k(row, k)
    want_values, want_ids = reference.top_k(row, k)
    assert ids.dtype == np.int64
    assert values.dtype == np.float32
    assert ids.tolist() == want_ids.tolist()
    assert (values == want_values).all()


@given(row=finite_logits(), p=st.sampled_from([1e-9, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0]) | st.floats(0.01, 1))
def test_top_p_is_the_nucleus_best_first(row: np.ndarray, p: float) -> None:
    """The ids, exactly."""
    assert sortition.top_p(row, p).tolist() == reference.top_p(row, p).tolist()


@given(table=TABLES)
def test_a_table_is_its_rows(table: np.ndarray) -> None:
    """Every function works on the last axis, and a row does not see its neighbours."""
    for name in ("argmax", "logsumexp", "entropy", "softmax", "log_softmax"):
        together = getattr(sortition, name)(table)
        alone = np.stack([getattr(sortition, name)(row) for row in table])
        np.testing.assert_array_equal(together, alone)
    values, ids = sortition.top_k(table, 1)
    assert ids[:, 0].tolist() == [int(sortition.argmax(row)) for row in table]
    assert values.shape == ids.shape == (len(table), 1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@given(row=finite_logits())
def test_out_is_written_and_returned(name: str, row: np.ndarray) -> None:
    """The caller's buffer holds the result; the row is as it was."""
    before, out = row.tobytes(), np.empty_like(row)
    assert getattr(sortition, name)(row, out=out) is out
    np.testing.assert_array_equal(out, getattr(sortition, name)(row))
    assert row.tobytes() == before
