"""The cases of text: stop strings over pieces, characters over bytes, and how a stream ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sortition import SamplingParams, generate, stream
from sortition.models import ScriptedModel

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).parents[1] / "data"
FILES = [DATA / "text.toml", DATA / "more" / "characters.toml"]
CASES = [case for file in FILES for case in tomllib.loads(file.read_text(encoding="utf-8"))["case"]]
FIELDS = {"id", "why", "source", "pieces", "byte_pieces", "stop", "max_tokens", "eos_from", "eos_count", "raises_at"}
EXPECTED = {"text", "emitted", "matched", "finish_reason", "any_chunking", "raises"}
GREEDY = SamplingParams(temperature=0)

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


class BrokenModelError(Exception):
    """What the model of a case raises."""


class RaisingModel(ScriptedModel):
    """A scripted model that raises when it is asked for a certain piece."""

    raises_at: int

    def forward(self, tokens, **options):
        if len(self.calls) == self.raises_at:
            raise BrokenModelError
        return super().forward(tokens, **options)


def pieces_of(case):
    return case["pieces"] if "pieces" in case else [bytes(piece) for piece in case["byte_pieces"]]


def run(case, pieces):
    """The model, the prompt (the first end token, which is no piece) and the options of a case."""
    kind = RaisingModel if "raises_at" in case else ScriptedModel
    eos = [f"<eos{index}>" for index in range(case.get("eos_count", 1))]
    model = kind.from_pieces(pieces, eos=eos, eos_from=case.get("eos_from"))
    model.raises_at = case.get("raises_at")
    return model, [len(pieces)], {"stop": case.get("stop", ()), "max_tokens": case.get("max_tokens", 128)}


def emitted(chunks, pieces):
    """All text that has gone out after each piece."""
    text, after = "", []
    for chunk in chunks:
        text += chunk.text
        if chunk.token is not None and chunk.token < pieces:
            after.append(text)
    return after


def test_every_field_of_the_files_is_known_here():
    """A field that nobody reads would promise what nobody checks."""
    for case in CASES:
        assert set(case) <= FIELDS | {"expect"}, case["id"]
        assert set(case["expect"]) <= EXPECTED, case["id"]


@every_case
def test_a_stream_ends_as_the_case_says(case):
    """Text, what went out after each piece, why it ended, and what matched."""
    pieces, expect = pieces_of(case), case["expect"]
    model, prompt, options = run(case, pieces)
    chunks = []
    if expect.get("raises"):
        with pytest.raises(BrokenModelError):
            chunks.extend(stream(model, prompt, GREEDY, **options))  # extend keeps what came before the exception
        assert "".join(chunk.text for chunk in chunks) == expect["text"]
        return
    chunks.extend(stream(model, prompt, GREEDY, **options))
    assert "".join(chunk.text for chunk in chunks) == expect["text"]
    if "emitted" in expect:
        assert emitted(chunks, len(pieces)) == expect["emitted"]
    assert [chunk.finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1].finish_reason == expect["finish_reason"]
    by_token = len(pieces) + case.get("eos_count", 1) - 1 if expect["finish_reason"] == "stop" else None
    assert chunks[-1].matched == expect.get("matched", by_token)


@every_case
def test_the_unstreamed_text_is_the_streamed_text(case):
    """`generate` joins what `stream` yields, and an exception carries what was produced so far."""
    model, prompt, options = run(case, pieces_of(case))
    if case["expect"].get("raises"):
        with pytest.raises(BrokenModelError) as caught:
            generate(model, prompt, GREEDY, **options)
        assert caught.value.partial.text == case["expect"]["text"]
        assert caught.value.partial.finish_reason is None
        return
    done = generate(model, prompt, GREEDY, **options)
    assert (done.text, done.finish_reason) == (case["expect"]["text"], case["expect"]["finish_reason"])


@pytest.mark.parametrize("case", [c for c in CASES if c["expect"].get("any_chunking")], ids=lambda case: case["id"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_same_bytes_in_other_pieces_give_the_same_text(case, data):
    """Where the tokens are cut, inside a character too, does not show in the text."""
    whole = b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces_of(case))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=len(whole))))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    pieces = [piece for piece in pieces if piece]
    model, prompt, options = run(case, pieces)
    done = generate(model, prompt, GREEDY, **options)
    assert done.text == case["expect"]["text"]
    assert done.finish_reason == case["expect"]["finish_reason"]
    if "matched" in case["expect"]:
        assert done.matched == case["expect"]["matched"]
