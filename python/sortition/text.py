"""Tokens into text: bytes into characters, characters past the stop strings.

A token is bytes, and may be a part of a character: UTF-8 is decoded incrementally, an unfinished character is held,
and at the end of the text it goes out as U+FFFD. Invalid bytes become U+FFFD at once and never stall what follows.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left
from typing import TYPE_CHECKING

from sortition._checks import shown
from sortition.errors import ModelError

if TYPE_CHECKING:
    from sortition.models.protocol import Tokenizer
    from sortition.stop import StopStrings

__all__ = ["TextBuilder"]


class TextBuilder:
    r"""The text of one sequence, built token by token.

    Args:
        tokenizer: gives the bytes of a token.
        stop: the stop strings.
        min_tokens: no stop string completes within the first so many tokens.
        show_special: whether special tokens show their names.

    >>> from sortition.models.scripted import PieceTokenizer
    >>> from sortition.stop import StopStrings
    >>> builder = TextBuilder(PieceTokenizer([b"A\xe4", b"\xbd\xa0\xe5", b"\xa5\xbdB"]), StopStrings(["你好"]))
    >>> [builder.push(token) for token in (0, 1, 2)], builder.matched, builder.text_tokens
    (['A', '', ''], '你好', 1)
    """

    def __init__(
        self, tokenizer: Tokenizer, stop: StopStrings, *, min_tokens: int = 0, show_special: bool = False
    ) -> None:
        self._tokenizer = tokenizer
        self._hidden = frozenset() if show_special else frozenset(tokenizer.special_tokens.values())
        self._scanner = stop.scanner()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._min_tokens = min_tokens
        self._ends: list[int] = []  # how many characters are whole after each token
        self._last = 0  # the index of the last token that added bytes
        self._shown = 0

    @property
    def matched(self) -> str | None:
        """The stop string that ended the text, or `None` so far."""
        return self._scanner.matched

    @property
    def text_tokens(self) -> int:
        """How many tokens the text so far covers: the fewest, from the first on, that hold all of it."""
        return 0 if self._shown == 0 else bisect_left(self._ends, self._shown) + 1

    def push(self, token: int) -> str:
        """Add a token; return the text that may go out now."""
        data = b"" if token in self._hidden else self._bytes(token)
        if data:
            self._last = len(self._ends)
        characters = self._decoder.decode(data)
        may_stop = len(self._ends) >= self._min_tokens
        self._ends.append((self._ends[-1] if self._ends else 0) + len(characters))
        return self._out(self._scanner.feed(characters, may_stop=may_stop))

    def close(self) -> str:
        """The rest of the text, when no token follows.

        An unfinished character, now U+FFFD, belongs to the last token that added to it, and may complete a stop as
        any other character may.
        """
        characters = self._decoder.decode(b"", final=True)
        for index in range(self._last, len(self._ends)):
            self._ends[index] += len(characters)
        text = self._scanner.feed(characters, may_stop=self._last >= self._min_tokens)
        return self._out(text + ("" if self.matched is not None else self._scanner.flush()))

    def _bytes(self, token: int) -> bytes:
        data = self._tokenizer.token_bytes(token)
        if not isinstance(data, bytes):
            msg = f"tokenizer.token_bytes({token}) must return bytes, got {shown(data)}"
            raise ModelError(msg)
        return data

    def _out(self, text: str) -> str:
        self._shown += len(text)
        return text
