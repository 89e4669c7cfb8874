"""Values travel; samplers are copied whole. As bytes they travel in test_state.py."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hypothesis

import sortition as st
from sortition.reference import PROFILES
from strategies import history_params, stage_params

ROW = np.linspace(-1, 1, 64).astype(np.float32)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_parameters_survive_pickle(protocol: int) -> None:
    params = st.SamplingParams(logit_bias={1: 2.0, 3: -np.inf}, suppress=[4], temperature=0.5, seed=7)
    assert pickle.loads(pickle.dumps(params, protocol)) == params  # noqa: S301 - our own bytes
    assert copy.deepcopy(params) == params


@given(data=hypothesis.data())
def test_parameters_come_back_from_their_dictionary_and_from_pickle(data: hypothesis.DataObject) -> None:
    """Whatever they are: equal, with an equal hash, and the same when they are taken apart again."""
    values = data.draw(stage_params(9)) | data.draw(history_params(9))
    params = st.SamplingParams.profile(data.draw(hypothesis.sampled_from(sorted(PROFILES))), **values)
    again, other = st.SamplingParams(**params.to_dict()), pickle.loads(pickle.dumps(params))  # noqa: S301 - our own
    assert params == again == other
    assert hash(params) == hash(again) == hash(other)
    assert params.to_dict() == again.to_dict()
    assert eval(repr(params), {"SamplingParams": st.SamplingParams, "inf": np.inf}) == params  # noqa: S307 - our own


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_a_copied_sampler_goes_on_alone(how: object) -> None:
    """From the same state, with the same coins, and without moving the other."""
    sampler = st.Sampler(st.SamplingParams(frequency_penalty=0.5, seed=7), stream=3)
    sampler.sample(ROW)
    twin = how(sampler)
    ahead = [twin.sample(ROW) for _ in range(5)]
    assert sampler.position == 1
    assert ahead == [sampler.sample(ROW) for _ in range(5)]
    assert (twin.seed, twin.stream) == (7, 3)


@pytest.mark.parametrize("function", [st.softmax, st.log_softmax])
def test_a_row_may_be_written_over_itself(function: object) -> None:
    expected = function(ROW)
    row = ROW.copy()
    assert function(row, out=row) is row
    np.testing.assert_array_equal(row, expected)
    buffer = np.concatenate([ROW, [0.0]]).astype(np.float32)
    np.testing.assert_array_equal(function(buffer[:64], out=buffer[1:]), expected)


@pytest.mark.parametrize("call", [lambda x: st.sample(x, seed=1), lambda x: st.top_p(x, 0.5)])
def test_a_block_of_tables_is_refused_where_one_table_is_meant(call: object) -> None:
    with pytest.raises(st.LogitsError, match=r"\(2, 2, 3\)"):
        call(np.zeros((2, 2, 3), np.float32))


def test_parameters_that_mean_the_same_are_equal() -> None:
    """The order of readings says nothing, nor does a mapping without biases."""
    one = st.SamplingParams(readings=["xtc_or_nothing", "top_k_ties", "top_k_ties"], logit_bias={})
    other = st.SamplingParams(readings=["top_k_ties", "xtc_or_nothing"])
    assert one == other
    assert hash(one) == hash(other)
