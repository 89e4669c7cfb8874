"""Stop strings: when does text end, and how much of it may be shown before that is known?

One automaton (Aho and Corasick, 1975) reads the text character by character, so a stop string may span any number of
pieces, and start or end inside one. Its state is the longest end of the text that begins some stop string; exactly
that much is held back, since only that may still become a stop. The work is linear in the text and in the stop
strings together, whatever they look like.

The stop that completes earliest wins; of several that complete at the same character, the longest.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sortition._checks import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["StopScanner", "StopStrings"]


class StopStrings:
    """A set of stop strings, compiled once and shared by any number of scanners.

    Args:
        stop: the strings; one string alone may be given as it is. None of them may be empty.
        include_stop: whether the stop that matched is shown.

    Raises:
        ParameterError: an empty stop string (it would match everywhere), or something that is no string.

    >>> scanner = StopStrings(["<|sep|>"]).scanner()
    >>> scanner.feed("hello <"), scanner.feed("|sep|> and more"), scanner.matched
    ('hello ', '', '<|sep|>')
    """

    def __init__(self, stop: Iterable[str] | str = (), *, include_stop: bool = False) -> None:
        self.strings = _checked(stop)
        self.include_stop = include_stop
        # A node is a number, 0 the empty string; `next`, `fail`, `depth` and `match` are its columns.
        self._next: list[dict[str, int]] = [{}]
        self._depth = [0]
        self._match: list[str | None] = [None]
        for string in self.strings:
            self._insert(string)
        self._fail = [0] * len(self._next)
        self._link()
        self._held = self._holding()

    def scanner(self) -> StopScanner:
        """A scanner at the start of a text."""
        return StopScanner(self)

    def step(self, node: int, character: str) -> int:
        """The state after one more character."""
        while node and character not in self._next[node]:
            node = self._fail[node]
        return self._next[node].get(character, 0)

    def match(self, node: int) -> str | None:
        """The longest stop string that ends here."""
        return self._match[node]

    def held(self, node: int) -> int:
        """How many characters before this point may still become a stop."""
        return self._held[node]

    def _insert(self, string: str) -> None:
        node = 0
        for character in string:
            child = self._next[node].get(character)
            if child is None:
                child = len(self._next)
                self._next[node][character] = child
                self._next.append({})
                self._depth.append(self._depth[node] + 1)
                self._match.append(None)
            node = child
        self._match[node] = string

    def _link(self) -> None:
        """Breadth first: a node fails to the longest proper end of its string that is a node too."""
        queue = deque([0])
        while queue:
            node = queue.popleft()
            for character, child in self._next[node].items():
                self._fail[child] = self.step(self._fail[node], character) if node else 0
                if self._match[child] is None:
                    self._match[child] = self._match[self._fail[child]]
                queue.append(child)

    def _holding(self) -> list[int]:
        """A whole stop string that was let pass holds only as much of its end as begins another."""
        held = [0] * len(self._next)
        queue = deque([0])
        while queue:
            node = queue.popleft()
            held[node] = self._depth[node] if self._next[node] else held[self._fail[node]]
            queue.extend(self._next[node].values())
        return held


class StopScanner:
    """One text on its way out.

    Attributes:
        matched: the stop string that ended the text, or `None` so far.
    """

    def __init__(self, strings: StopStrings) -> None:
        self.matched: str | None = None
        self._strings = strings
        self._node = 0
        self._pieces: deque[str] = deque()  # the text held back: its pieces, what of the first is gone, what is left
        self._gone = 0
        self._length = 0

    def feed(self, text: str, *, may_stop: bool = True) -> str:
        """Read a piece; return what may go out now. What comes after a match is dropped.

        Args:
            text: the next piece, of any length.
            may_stop: whether a stop may complete in this piece. One that completes where it may not is plain text.
        """
        if self.matched is not None:
            return ""
        strings = self._strings
        if not strings.strings:
            return text
        for index, character in enumerate(text):
            self._node = strings.step(self._node, character)
            stop = strings.match(self._node)
            if stop is not None and may_stop:
                self.matched = stop
                self._hold(text[: index + 1])
                shown = self._release(self._length - (0 if strings.include_stop else len(stop)))
                self._drop()
                return shown
        self._hold(text)
        return self._release(self._length - strings.held(self._node))

    def flush(self) -> str:
        """The text is over: what was held back is no stop, and goes out."""
        self._node = 0
        return self._release(self._length)

    def _hold(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._length += len(text)

    def _release(self, count: int) -> str:
        """Take `count` characters from the front, copying none of those that stay: a long hold stays linear."""
        self._length -= count
        taken = []
        while count:
            piece = self._pieces[0][self._gone : self._gone + count]
            taken.append(piece)
            count -= len(piece)
            self._gone += len(piece)
            if self._gone == len(self._pieces[0]):
                self._pieces.popleft()
                self._gone = 0
        return "".join(taken)

    def _drop(self) -> None:
        self._pieces.clear()
        self._gone = self._length = 0


def _checked(stop: Iterable[str] | str) -> tuple[str, ...]:
    try:
        items = iter((stop,) if isinstance(stop, str) else stop)
    except TypeError:
        refuse("stop", "a string, or a collection of strings", stop)
    strings = tuple(items)
    for index, string in enumerate(strings):
        if not isinstance(string, str):
            refuse(f"stop[{index}]", "a string", string)
        if not string:
            refuse(
                f"stop[{index}]",
                "a string that is not empty, as an empty one would stop before the first token",
                string,
            )
    return strings
