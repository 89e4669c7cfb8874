"""Tokens into text: bytes into characters, and which tokens the text covers."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sortition import SamplingParams, generate, stream
from sortition.models import PieceTokenizer, ScriptedModel
from sortition.stop import StopStrings
from sortition.text import TextBuilder

GREEDY = SamplingParams(temperature=0, seed=0)

# Bytes near the beginnings and ends of characters, so that broken ones are frequent.
parts = st.one_of(
    st.binary(min_size=1, max_size=3),
    st.sampled_from(["你".encode()[:2], "你".encode()[2:], "😊".encode()[:3], "👩‍💻".encode(), b"\xed\xa0\x80", b"a"]),
)
texts = st.lists(st.text("ab你😊", min_size=1, max_size=3), min_size=1, max_size=8)


def build(pieces, **options):
    builder = TextBuilder(PieceTokenizer(pieces), StopStrings(options.pop("stop", ())), **options)
    return builder, [builder.push(token) for token in range(len(pieces))]


@given(pieces=st.lists(parts, max_size=8))
@example(pieces=[b"\xff", b"A"])
@example(pieces=[b"\xf0\x9f", b"\x98", b"\x8a"])
def test_bytes_in_any_pieces_give_the_text_of_all_bytes_at_once(pieces):
    """Incremental decoding is decoding: nothing stalls, nothing is lost at the end."""
    builder, shown = build(pieces)
    assert "".join(shown) + builder.close() == b"".join(pieces).decode("utf-8", "replace")


@given(pieces=texts, stop=st.lists(st.text("ab你😊", min_size=1, max_size=3), max_size=2))
def test_streamed_pieces_joined_equal_the_unstreamed_text(pieces, stop):
    """And both say the same about their end."""
    prompt = [len(pieces)]
    chunks = list(stream(ScriptedModel.from_pieces(pieces), prompt, GREEDY, stop=stop))
    done = generate(ScriptedModel.from_pieces(pieces), prompt, GREEDY, stop=stop)
    assert "".join(chunk.text for chunk in chunks) == done.text
    assert chunks[-1].completion == done
    assert tuple(chunk.token for chunk in chunks if chunk.token is not None) == done.tokens


@given(pieces=texts, stop=st.lists(st.text("ab你😊", min_size=1, max_size=3), max_size=2))
def test_the_text_covers_the_fewest_tokens_that_hold_it(pieces, stop):
    """`text_tokens` by the definition, over whole characters."""
    done = generate(ScriptedModel.from_pieces(pieces), [len(pieces)], GREEDY, stop=stop)
    covers = next(count for count in range(len(pieces) + 1) if "".join(pieces[:count]).startswith(done.text))
    assert done.text_tokens == covers


def test_an_unfinished_character_counts_for_the_token_that_began_it():
    """The end token behind it adds nothing."""
    done = generate(ScriptedModel.from_pieces(["a", b"\xf0\x9f"]), [2], GREEDY)
    assert (done.text, done.tokens, done.text_tokens) == ("a\ufffd", (0, 1, 2), 2)


def test_special_tokens_show_their_names_only_when_asked():
    """They are no text."""
    tokenizer = PieceTokenizer(["你"])
    hidden = TextBuilder(tokenizer, StopStrings())
    shown = TextBuilder(tokenizer, StopStrings(), show_special=True)
    assert [hidden.push(0), hidden.push(1)] == ["你", ""]
    assert [shown.push(0), shown.push(1)] == ["你", "<eos>"]


def test_a_stop_string_cannot_complete_within_the_first_tokens():
    """It may begin there. What completed too early is plain text."""
    builder, shown = build(["ab", "a", "b", "c"], stop=["ab"], min_tokens=2)
    assert shown == ["ab", "", "", ""]
    assert builder.matched == "ab"


def test_an_unfinished_character_may_complete_a_stop():
    """U+FFFD at the end is a character like any other: chunking makes no difference."""
    builder, shown = build([b"a\xe4"], stop=["\ufffd"])
    assert "".join(shown) + builder.close() == "a"
    assert builder.matched == "\ufffd"
