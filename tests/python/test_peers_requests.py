"""A request that is read here leaves what its stack leaves of the same request."""

from __future__ import annotations

import numpy as np
import pytest

from peers.registry import NAMES, load
from peers.rows import distribution, is_on_an_edge, random_row
from peers.stages import STAGES
from peers.trials import close, survives, tolerance
from sortition import SamplingParams

pytestmark = pytest.mark.heavy

REQUESTS = 400
STOPS = [0, 1]


def compare(profile, seed, make):
    """Rows, requests that `make` writes of random parameters, and both answers; returns how many were compared."""
    rng = np.random.default_rng(seed)
    left_out = {"allowed_ids", "logit_bias", "suppress", "min_keep", "dry"}
    names = [name for name in NAMES[profile] if name not in left_out]
    compared = 0
    for _ in range(REQUESTS):
        row = random_row(rng, masked=False)
        params = {}
        for name in rng.choice(names, size=int(rng.integers(0, len(names) + 1)), replace=False):
            params |= STAGES[name](rng, row)
        asked = make(params, row, rng)
        if asked is None:
            continue
        ours, theirs = asked
        values = ours.to_dict()
        if not survives(params, row, STOPS) or is_on_an_edge(profile, values, row, STOPS, rng):
            continue
        left, expected = distribution(profile, values, row, STOPS), theirs()
        apart = close(left, expected)
        if apart is None and row.tied:
            apart = close(np.sort(left), np.sort(expected))
        assert apart is not None, params
        assert apart <= tolerance(params), params
        compared += 1
    return compared


def test_a_generation_config_leaves_what_transformers_leaves_with_it(tmp_path):
    """The object, and the file that the library writes of it."""
    peer = load("transformers")
    from peers.transformers_peer import configuration

    def make(params, row, rng):
        if not peer.can(params, row):
            return None
        config = configuration(params)
        config.eos_token_id = STOPS
        if rng.random() < 0.3:
            config.top_k = None  # which there means 50
        path = tmp_path / "generation_config.json"
        config.to_json_file(path)
        read = SamplingParams.from_transformers(path if rng.random() < 0.5 else config)
        return read, lambda: peer.of_config(config, row, STOPS)

    assert compare("transformers", 1, make) > REQUESTS // 2


def test_a_request_to_the_server_of_llama_cpp_leaves_what_its_chain_leaves():
    """With the server's defaults, and with a list of samplers in another order."""
    load("llama.cpp")
    from peers.llama_cpp_peer import ORDER, left

    names = {"repetition_penalty": "repeat_penalty"}
    listed = [name for name in ORDER if name != "dry"]

    def make(params, row, rng):
        if "typical_p" in params or "dynatemp_range" in params:
            params.pop("top_n_sigma", None)
        if params.get("temperature") == 0:
            params.pop("dynatemp_range", None)
        request = {names.get(name, name): value for name, value in params.items()}
        settings = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, **params}
        order = ORDER
        if rng.random() < 0.5:
            # Penalties stay first: after a cut by a chain, llama.cpp's samplers see -inf where this package sees none.
            order = ["penalties", *rng.permutation(listed[1:])[: int(rng.integers(2, len(listed)))].tolist()]
            request["samplers"] = order
        if rng.random() < 0.5:
            request["repeat_last_n"] = settings["repetition_window"] = int(rng.choice([0, 5, 200]))
        read = SamplingParams.from_llama_cpp(request)
        return read, lambda: left(settings, row, order)

    assert compare("llama.cpp", 2, make) > REQUESTS // 2


@pytest.mark.parametrize(("profile", "read"), [("vllm", "from_vllm"), ("openai", "from_openai")])
def test_a_request_to_an_api_leaves_what_the_published_rules_leave(profile, read):
    """Keys of JSON are strings; 0, 1 and -1 switch off there what `None` switches off here."""
    peer = load(profile)
    off = {"top_p": 1.0, "frequency_penalty": 0.0, "presence_penalty": 0, "logit_bias": {}}
    if profile == "vllm":
        off |= {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "min_tokens": 0, "seed": -1}

    def make(params, row, rng):
        params.pop("bad_words", None)  # there they are words, which take a tokenizer
        params |= STAGES["logit_bias"](rng, row)
        if profile == "vllm" and rng.random() < 0.2:
            params["temperature"] = 0.005
            params["logit_bias"][0] = -1e4
        bias = {str(token): by for token, by in params["logit_bias"].items()}
        request = {"model": "m", "max_tokens": 9, **off, **params, "logit_bias": bias}
        return getattr(SamplingParams, read)(request), lambda: peer.probabilities(params, row, STOPS)

    assert compare(profile, 3, make) > REQUESTS // 2
