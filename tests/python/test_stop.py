"""Stop strings: what ends a text, and what may be shown before that is known."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sortition import ParameterError
from sortition.stop import StopStrings

# Few characters, so that strings overlap themselves and each other.
stops = st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=4)
texts = st.lists(st.text("ab\n", max_size=4), max_size=12)


def cut(text, strings):
    """By the definition: the stop that completes earliest, of those the longest; the text before it."""
    for end in range(len(text) + 1):
        ending = [string for string in strings if text[:end].endswith(string)]
        if ending:
            longest = max(ending, key=len)
            return text[: end - len(longest)], longest
    return text, None


def possible(text, strings):
    """How much of the end of `text` may still become a stop: its longest end that begins one, and is not whole."""
    return max(
        (length for string in strings for length in range(1, len(string)) if text.endswith(string[:length])), default=0
    )


def feed_all(scanner, pieces):
    return "".join(scanner.feed(piece) for piece in pieces) + ("" if scanner.matched else scanner.flush())


@given(strings=stops, pieces=texts)
@example(strings=["aab"], pieces=["aa", "ab"])
@example(strings=["b", "ab"], pieces=["a", "b"])
@example(strings=["abab", "ba"], pieces=["a", "b", "a"])
def test_text_ends_before_the_stop_that_completes_first(strings, pieces):
    """Whatever the pieces, the shown text and the match are those of the definition."""
    scanner = StopStrings(strings).scanner()
    assert (feed_all(scanner, pieces), scanner.matched) == cut("".join(pieces), strings)


@given(strings=stops, pieces=texts)
def test_only_what_may_still_become_a_stop_is_held_back(strings, pieces):
    """After every piece, all text is out but the longest end that begins a stop."""
    scanner = StopStrings(strings).scanner()
    shown = text = ""
    for piece in pieces:
        shown, text = shown + scanner.feed(piece), text + piece
        if scanner.matched is not None:
            break
        assert shown == text[: len(text) - possible(text, strings)]


@given(strings=stops, pieces=texts)
def test_the_matched_stop_is_shown_when_asked_for(strings, pieces):
    """With `include_stop` the text ends with the stop."""
    scanner = StopStrings(strings, include_stop=True).scanner()
    text, matched = cut("".join(pieces), strings)
    assert feed_all(scanner, pieces) == text + (matched or "")


@given(strings=stops, pieces=texts, allowed_from=st.integers(0, 6))
def test_a_stop_cannot_complete_before_it_may(strings, pieces, allowed_from):
    """One that completes earlier is plain text; one that only begins earlier counts. Nothing is held in vain."""
    scanner = StopStrings(strings).scanner()
    shown = text = ""
    for index, piece in enumerate(pieces):
        shown += scanner.feed(piece, may_stop=index >= allowed_from)
        ends = range(len(text) + 1, len(text) + len(piece) + 1)
        text += piece
        if index >= allowed_from:
            found = [(end, s) for end in ends for s in sorted(strings, key=len)[::-1] if text[:end].endswith(s)]
            if found:
                end, stop = found[0]
                # What went out before a stop was allowed to complete cannot be taken back.
                assert scanner.matched == stop
                assert shown == text[: end - len(stop)]
                return
        assert scanner.matched is None
        assert shown == text[: len(text) - possible(text, strings)]


def test_a_stop_spans_tokens_of_a_chat():
    r"""The string "\nUser:" in three pieces: nothing of it ever shows."""
    scanner = StopStrings(["\nUser:"]).scanner()
    assert [scanner.feed(piece) for piece in ("Sure.", "\n", "User", ": and")] == ["Sure.", "", "", ""]
    assert scanner.matched == "\nUser:"


def test_after_a_match_everything_is_dropped():
    """In the same piece, and in later ones."""
    scanner = StopStrings("。").scanner()
    assert scanner.feed("你好。再见") == "你好"
    assert scanner.feed("还有") == ""
    assert scanner.flush() == ""


class CountingList(list):
    """A list that counts how often it is read."""

    reads = 0

    def __getitem__(self, index):
        self.reads += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("text", ["a" * 5_000, ("a" * 499 + "c") * 10, "a" * 4_999 + "b"], ids=["a", "aac", "aab"])
def test_the_work_is_linear_for_stops_made_of_one_letter(text):
    """Each character takes the automaton forward once, and it cannot fall back further than it went."""
    strings = StopStrings(["a" * length + "b" for length in range(1, 501, 7)])
    strings._fail = fails = CountingList(strings._fail)
    scanner = strings.scanner()
    for character in text:
        scanner.feed(character)
    assert fails.reads <= len(text)


def test_the_automaton_is_no_larger_than_the_strings():
    """A common beginning is stored once."""
    strings = StopStrings(["a" * length for length in range(1, 1001)])
    assert len(strings._next) == 1001


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ([""], r"stop\[0\] must be a string that is not empty, .*, got ''"),
        ("", r"stop\[0\] must be a string that is not empty"),
        (["a", ""], r"stop\[1\] must be a string that is not empty"),
        ([b"a"], r"stop\[0\] must be a string, got b'a'"),
        ([None], r"stop\[0\] must be a string, got None"),
        (7, r"stop must be a string, or a collection of strings, got 7"),
    ],
)
def test_a_stop_that_is_none_is_refused(stop, message):
    """The message names the one that is wrong."""
    with pytest.raises(ParameterError, match=message):
        StopStrings(stop)
