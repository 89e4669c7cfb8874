"""A model that says what it is told to: for tests, examples and teaching.

Its scores come from a list, one row a step, or from a function of the context, so that a whole decoding can be
written down by hand. It has everything that a model may have: `truncate`, `fork`, `all=True`, and a tokenizer.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from sortition._checks import Words, integer, refuse, shown
from sortition.errors import ModelError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from sortition.models.protocol import Tokenizer

    Scores = npt.NDArray[np.float32]

__all__ = ["PieceTokenizer", "ScriptedModel"]


class ScriptedModel:
    """A model whose scores are given.

    Args:
        scores: a function of the whole context (a tuple of ids) that returns scores of shape `(vocab,)`; or rows, of
            which row 0 answers the prompt and row i the i-th token after it.
        prompt_length: where the script begins, when it is rows; by default, behind the tokens of the first call.
        repeat_last: whether the last row answers every call beyond it; else such a call is a `ModelError`.
        tokenizer: what `stream` and `generate` use to read and write text.

    Raises:
        ParameterError: `scores` is neither, or one of the rows is not a row of numbers.

    >>> model = ScriptedModel([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    >>> model.forward([7, 7]), model.forward([2]), model.context
    (array([0., 1., 2.], dtype=float32), array([3., 0., 0.], dtype=float32), (7, 7, 2))
    """

    def __init__(
        self,
        scores: Callable[[tuple[int, ...]], npt.ArrayLike] | Sequence[npt.ArrayLike],
        *,
        prompt_length: int | None = None,
        repeat_last: bool = False,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self._scores = scores if callable(scores) else _rows("scores", scores, "a function, or a sequence of rows")
        self._prompt_length = None if prompt_length is None else integer("prompt_length", prompt_length, least=0)
        self._repeat_last = repeat_last
        self._start = self._prompt_length  # of the script in the context, once it is known
        self._tokenizer = tokenizer
        self._context: tuple[int, ...] = ()
        self.calls: list[tuple[int, ...]] = []  # what each `forward` was given, for tests to look at

    @classmethod
    def from_probabilities(cls, rows: Sequence[npt.ArrayLike], *, tokenizer: Tokenizer | None = None) -> ScriptedModel:
        """Rows of probabilities, which need not sum to 1; their logarithms are the scores.

        >>> ScriptedModel.from_probabilities([[0.0, 1.0]]).forward([0])
        array([-inf,   0.], dtype=float32)

        Raises:
            ParameterError: a row is no row of numbers, or has one below 0.
        """
        return cls([_log(row) for row in _rows("rows", rows, "a sequence of rows", np.float64)], tokenizer=tokenizer)

    @classmethod
    def from_pieces(
        cls, pieces: Sequence[str | bytes], *, eos: Sequence[str] = ("<eos>",), eos_from: int | None = None
    ) -> ScriptedModel:
        """A model that says the pieces in order, one token each, and then prefers the last of its end tokens.

        The ids of the pieces are 0, 1, …; those of the end tokens follow. From piece `eos_from` on it prefers the end
        token, by default behind the last piece. The second best is always the next piece, if there is one.

        >>> model = ScriptedModel.from_pieces(["你", "好"])
        >>> [int(model.forward([token]).argmax()) for token in (2, 0, 1)]
        [0, 1, 2]

        Raises:
            ParameterError: as :class:`PieceTokenizer`, or there is no end token.
        """
        tokenizer = PieceTokenizer(pieces, eos=eos)
        ends = len(tokenizer.eos_ids)
        if not ends:
            refuse("eos", "at least one name", eos)
        vocab = len(tokenizer)
        end = vocab - ends if eos_from is None else integer("eos_from", eos_from, least=0)
        rows = np.full((vocab - ends + 1, vocab), -10.0, np.float32)
        for step, row in enumerate(rows):
            row[-1] = 1.0 if step >= end else -5.0
            row[:-ends][step : step + 1] = 0.0
        return cls(list(rows), repeat_last=True, tokenizer=tokenizer)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer it was given."""
        if self._tokenizer is None:
            msg = "this ScriptedModel has no tokenizer: give it one (tokenizer=PieceTokenizer([...])) to work with text"
            raise ModelError(msg)
        return self._tokenizer

    @property
    def context(self) -> tuple[int, ...]:
        """Every token so far."""
        return self._context

    def forward(self, tokens: Sequence[int], *, all: bool = False) -> Scores:  # noqa: A002 - the protocol's word
        """Append `tokens`; the scores after the last, shape `(vocab,)`, or with `all` after each, `(tokens, vocab)`.

        Raises:
            ParameterError: no tokens, or what is no id.
            ModelError: the script is at its end, or the function returned no row of scores.
        """
        ids = tuple(
            integer(f"tokens[{at}]", token, least=0)
            for at, token in enumerate(_listed("tokens", "a sequence of token ids", tokens))
        )
        if not ids:
            refuse("tokens", "at least one token id", tokens)
        start = len(self._context)
        self._context += ids
        self.calls.append(self._context[start:])
        if self._start is None:
            self._start = len(self._context)
        if not all:
            return self._row(self._context)
        ends = range(start + 1, len(self._context) + 1)
        return np.stack([self._row(self._context[:end]) for end in ends])

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` tokens; the script goes back with them.

        Raises:
            ParameterError: `length` is not in [0, length of the context].
        """
        if not 0 <= integer("length", length) <= len(self._context):
            refuse("length", f"in [0, {len(self._context)}]", length)
        self._context = self._context[:length]
        if length == 0:
            self._start = self._prompt_length

    def fork(self) -> ScriptedModel:
        """The same script at the same place, and from there on its own."""
        twin = copy.copy(self)
        twin.calls = []
        return twin

    def _row(self, context: tuple[int, ...]) -> Scores:
        if callable(self._scores):
            returned = self._scores(context)
            row = _one_row(returned, np.float32)
            if row is None:
                msg = f"the function of this ScriptedModel must return scores of shape (vocab,), got {shown(returned)}"
                raise ModelError(msg)
            return row
        step = len(context) - (self._start or 0)
        if step < 0:  # inside the prompt nothing is scripted: every token is as likely
            return np.zeros_like(self._scores[0])
        if step >= len(self._scores) and not self._repeat_last:
            msg = f"the script has {len(self._scores)} rows, and row {step} was asked for"
            raise ModelError(msg)
        return self._scores[min(step, len(self._scores) - 1)].copy()


class PieceTokenizer:
    """A vocabulary of given pieces; the ids are their places.

    Args:
        pieces: what each token adds to the text; bytes may be parts of characters.
        eos: the names of the end tokens, which follow the pieces.

    Raises:
        ParameterError: a piece is neither text nor bytes, or a name is not text or occurs twice.

    `encode` takes the longest piece that fits, from left to right.

    >>> tokenizer = PieceTokenizer(["今天", "天气", "今"])
    >>> tokenizer.encode("今天天气今"), tokenizer.eos_ids, tokenizer.token_bytes(3)
    ([0, 1, 2], (3,), b'<eos>')
    """

    def __init__(self, pieces: Sequence[str | bytes], *, eos: Sequence[str] = ("<eos>",)) -> None:
        self._pieces = [
            piece if isinstance(piece, bytes) else _utf8(f"pieces[{index}]", piece, "text or bytes")
            for index, piece in enumerate(_listed("pieces", "a sequence of text or bytes", pieces))
        ]
        names = list(_listed("eos", "a sequence of names", eos))
        self._table = self._pieces + [_utf8(f"eos[{index}]", name) for index, name in enumerate(names)]
        self._special = {name: len(self._pieces) + index for index, name in enumerate(names)}
        if len(self._special) < len(names):
            refuse("eos", "names that differ", eos)

    def __len__(self) -> int:
        """How many tokens there are, the end tokens included."""
        return len(self._table)

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """The end tokens."""
        return tuple(self._special.values())

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The end tokens by name."""
        return self._special

    def token_bytes(self, token: int) -> bytes:
        """The piece, or the name of the end token.

        Raises:
            ParameterError: there is no such token. Scores that are wider than the vocabulary lead here; a model whose
                scores are padded says so by its `vocab_size`.
        """
        if not 0 <= integer("token", token) < len(self):
            refuse("token", f"in [0, {len(self)}), the tokens that this PieceTokenizer has", token)
        return self._table[token]

    def encode(self, text: str) -> list[int]:
        """The ids of `text`.

        Raises:
            ParameterError: `text` is no text, or has a part that no piece fits.
        """
        data, ids, at = _utf8("text", text), [], 0
        best_first = sorted(range(len(self._pieces)), key=lambda index: -len(self._pieces[index]))
        while at < len(data):
            token = next((i for i in best_first if self._pieces[i] and data.startswith(self._pieces[i], at)), None)
            if token is None:
                refuse(
                    "text",
                    "made of the pieces",
                    Words(f"{shown(data[at:].decode(errors='replace'))}, which begins with none"),
                )
            ids.append(token)
            at += len(self._pieces[token])
        return ids


def _listed(name: str, legal: str, items: Any) -> Iterable[Any]:
    """An iterator over `items`; text is refused, as it would be split into letters."""
    if isinstance(items, (str, bytes)):
        refuse(name, legal, items)
    try:
        iterator: Iterable[Any] = iter(items)
    except TypeError:
        refuse(name, legal, items)
    return iterator


def _utf8(name: str, text: Any, legal: str = "text") -> bytes:
    if not isinstance(text, str):
        refuse(name, legal, text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        refuse(name, f"{legal} that can be written in UTF-8", text)


def _rows(name: str, rows: Any, legal: str, dtype: Any = np.float32) -> list[npt.NDArray[Any]]:
    found = []
    for index, given in enumerate(_listed(name, legal, rows)):
        row = _one_row(given, dtype)
        if row is None:
            refuse(f"{name}[{index}]", "a row of numbers, shape (vocab,)", given)
        found.append(row)
    return found


def _one_row(given: Any, dtype: Any) -> npt.NDArray[Any] | None:
    """One row of at least one real number, or `None` if it is something else."""
    try:
        array = np.asarray(given)
    except ValueError:  # lists of several lengths
        return None
    if array.ndim != 1 or not array.size or array.dtype.kind in "OSUcMm":
        return None
    return array.astype(dtype)


def _log(probabilities: npt.NDArray[np.float64]) -> Scores:
    if not (probabilities >= 0).all():
        msg = f"probabilities must be 0 or more, got {probabilities.min()}"
        raise ParameterError(msg)
    with np.errstate(divide="ignore"):
        return np.log(probabilities).astype(np.float32)
