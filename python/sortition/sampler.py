"""One sequence: parameters, history, and the coins of its stream."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sortition import _native
from sortition._arrays import Logits, row, rows, scores, table, tokens
from sortition._checks import Words, integer, refuse, shown
from sortition.draw import Draw
from sortition.errors import LogitsError, SamplerInUseError
from sortition.params import SamplingParams
from sortition.trace import PlannedStage, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    import numpy.typing as npt

__all__ = ["MOST_FORKS", "Sampler", "sample"]

MOST_FORKS = 2**16
"""Each has a history of its own, and all are made at once."""


class Sampler:
    """Draws the tokens of one sequence. It holds history and buffers: use one per request, and keep it.

    Not for two threads at once: a call that finds another one running raises ``SamplerInUseError``. Scores must not be
    written to during a call.

    >>> import numpy as np
    >>> sampler = Sampler(SamplingParams(temperature=0.8, top_k=2, seed=7))
    >>> logits = np.log(np.array([0.42, 0.18, 0.10, 0.30], np.float32))  # 真 很 不 挺
    >>> sampler.sample(logits) in (0, 3)
    True
    >>> sampler.position
    1

    Args:
        params: how tokens are chosen.
        prompt: the ids before the output, in [0, 2^32). Penalties see them, but do nothing beyond the vocabulary.
            Refuse such ids if they come from strangers (this does not): chosen ones can make it take seconds.
        vocab_size: scores beyond it are not looked at. ``None``: every score is a token's.
        stop_tokens: ids that are impossible before ``params.min_tokens`` outputs.
        stream: samplers of one seed and different streams, in [0, 2^32), toss different coins.

    Raises:
        ParameterError: for a parameter outside its range, or one that names an id outside ``vocab_size``.
    """

    __slots__ = ("_native", "_params", "_seed")

    def __init__(
        self,
        params: SamplingParams | None = None,
        prompt: Sequence[int] | npt.NDArray[np.integer[Any]] = (),
        *,
        vocab_size: int | None = None,
        stop_tokens: Sequence[int] | AbstractSet[int] = (),
        stream: int = 0,
    ) -> None:
        self._params = SamplingParams() if params is None else params
        if not isinstance(self._params, SamplingParams):
            refuse("params", "SamplingParams", params)
        self._seed = _new_seed() if self._params.seed is None else self._params.seed
        self._native = _native.Sampler(
            self._params._native,  # noqa: SLF001 - the sampler's own parameters
            self._seed,
            tokens("prompt", prompt),
            None if vocab_size is None else integer("vocab_size", vocab_size, least=1, below=2**32),
            tokens("stop_tokens", list(stop_tokens) if isinstance(stop_tokens, (set, frozenset)) else stop_tokens),
            integer("stream", stream, least=0, below=2**32),
        )

    def sample(self, logits: Logits, mask: Any = None) -> int:
        """Draw a token and record it.

        >>> allowed = np.arange(64) == 33  # for 40 scores: it is padded to whole words of 32 bits
        >>> Sampler().sample(np.zeros(40), mask=np.packbits(allowed, bitorder="little").view(np.uint32))
        33

        Args:
            logits: scores of shape ``(vocab,)``, finite or -inf, of NumPy or any library with DLPack, in the memory of
                the host. float32, float16 and bfloat16 are read in place, other types are converted.
            mask: packed ``int32`` or ``uint32`` of shape ``(ceil(vocab / 32),)``; bit ``t & 31`` of word ``t >> 5``
                allows token ``t``. Tokens beyond it are impossible.

        Raises:
            LogitsError: NaN or +inf in the scores, or a wrong shape.
            NoCandidateError: no token is possible.
            ParameterError: a parameter names an id that the row does not have.
        """
        return self._native.sample(logits, mask)

    def draw(self, logits: Logits, mask: Any = None, *, logprobs: int | None = None, trace: bool = False) -> Draw:
        """Draw a token and record it, like :meth:`sample`, and say how likely it was.

        >>> draw = Sampler(SamplingParams(top_k=1)).draw([0.0, 0.0, -1.0], logprobs=2)
        >>> draw.token, draw.rank, draw.kept, round(draw.raw_logprob, 4), [id for id, _ in draw.top]
        (0, 1, 1, -0.862, [0, 1])

        Args:
            logits: as for :meth:`sample`.
            mask: as for :meth:`sample`.
            logprobs: how many of the best tokens to list.
            trace: whether to record what each stage did. The token is the same.

        Raises:
            ParameterError: more ``logprobs`` than tokens; and as :meth:`sample`.
        """
        count = 0 if logprobs is None else integer("logprobs", logprobs, least=0, below=2**32)
        token, logprob, raw_logprob, rank, best, kept, record = self._native.draw(logits, mask, count, bool(trace))
        return Draw(
            token=token,
            logprob=logprob,
            raw_logprob=raw_logprob,
            rank=rank,
            top=best,
            kept=kept,
            trace=None if record is None else Trace.made_of(*record),
        )

    def process(self, logits: Logits, mask: Any = None) -> npt.NDArray[np.float32]:
        """The scores after all stages, a new array, -inf where a token was removed. Nothing is drawn.

        >>> Sampler(SamplingParams(top_k=2)).process([1.0, 3.0, 2.0])
        array([-inf,   3.,   2.], dtype=float32)

        Raises:
            LogitsError, NoCandidateError, ParameterError: as :meth:`sample`.
        """
        array = row(logits)
        out = np.empty(array.shape, np.float32)
        self._native.process(array, mask, out)
        return out

    def plan(self) -> tuple[PlannedStage, ...]:
        """The stages that run at this position, in order, and what each needs. A mask is not among them.

        >>> for stage in Sampler(SamplingParams(temperature=0.8, top_k=50, top_p=0.95)).plan():
        ...     print(stage)
        temperature: nothing
        top_k: a selection
        top_p: the mass, a selection by mass
        """
        return tuple(PlannedStage(name, needs) for name, needs in self._native.plan())

    def verify(
        self,
        rows: Logits,
        draft: Sequence[int] | npt.NDArray[np.integer[Any]],
        draft_logits: Logits = None,
        *,
        mask: Any = None,
    ) -> list[int]:
        """The tokens of a draft that stand, and the one after; they are recorded.

        Every position has the history, the mask, the memory of a policy and the coins that it would have had step by
        step. Rows behind the last token that is returned are not looked at.

        Without ``draft_logits`` the token of a position is the one that :meth:`sample` would draw, and the draft's
        stands if it is the same: the output is, to the bit, that without a draft, whatever made the draft.

        With them a drafted token stands more often, by speculative sampling (Leviathan et al., arXiv 2211.17192; Chen
        et al., arXiv 2302.01318): with the chance ``min(1, p / q)``. The first that does not is replaced by one drawn
        from ``max(0, p - q)``. ``p`` is its probability after all stages of this sampler, and ``q`` in the softmax of
        ``draft_logits`` as they are: they must be what the draft was drawn from, its temperature and its cuts applied,
        as :meth:`process` of its sampler returns them; logarithms of probabilities will do. Then the output has the
        distribution of that without a draft, whatever ``q`` is, but other tokens.

        >>> import numpy as np
        >>> rows = np.log([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]])
        >>> Sampler(SamplingParams(temperature=0)).verify(rows, [1, 1])
        [1, 0]
        >>> small, draft, draft_logits = Sampler(SamplingParams(temperature=0.5)), [], []
        >>> for row in np.log([[0.4, 0.6], [0.7, 0.3]]):
        ...     draft_logits.append(small.process(row))
        ...     draft.append(small.sample(row))
        >>> sampler = Sampler(SamplingParams(seed=7))
        >>> sampler.verify(rows, draft, draft_logits) == sampler.output.tolist()
        True

        Args:
            rows: scores before each token of the draft and after the last, of shape ``(len(draft) + 1, vocab)``.
            draft: the drafted ids.
            draft_logits: the scores they were drawn from, of shape ``(len(draft), vocab)``, finite or -inf.
            mask: as for :meth:`sample`, of shape ``(len(draft) + 1, ceil(vocab / 32))``.

        Raises:
            LogitsError: as :meth:`sample`, with the row; or ``draft_logits`` leave a drafted token no chance.
            NoCandidateError: as :meth:`sample`, with the row.
            ParameterError: as :meth:`sample`; or the draft does not fit the shapes, or has ids beyond the vocabulary.
        """
        ids = tokens("draft", draft)
        drawn_from = None if draft_logits is None else table(draft_logits, "draft_logits")
        if not ids and drawn_from is not None and not len(drawn_from):
            drawn_from = None  # nothing was drafted, and nothing is to be told of it
        return self._native.verify(table(rows, "rows", one=True), ids, drawn_from, mask)

    def accept(self, token: int) -> None:
        """Record a token that was chosen elsewhere. Ids beyond the vocabulary are not penalised.

        Refuse such ids if they come from strangers (this does not): many chosen ones can make it take seconds.
        How likely it was is not known here, so mirostat and adaptive-p go on with what they remembered before it.

        >>> sampler = Sampler(SamplingParams(temperature=0, presence_penalty=5))
        >>> sampler.accept(1)
        >>> sampler.sample([1.0, 3.0, 2.0])
        2

        Raises:
            ParameterError: if it is not in [0, 2^32).
        """
        self._native.accept(integer("token", token, least=0, below=2**32))

    def rollback(self, n: int) -> None:
        """Take back the last ``n`` tokens, with what was remembered of them: the same draws again give the same tokens.

        >>> sampler, logits = Sampler(SamplingParams(seed=7)), [0.5, 0.25, 0.125]
        >>> tokens = [sampler.sample(logits) for _ in range(3)]
        >>> sampler.rollback(2)
        >>> [sampler.sample(logits) for _ in range(2)] == tokens[1:]
        True

        Raises:
            ParameterError: if there are fewer.
        """
        count = integer("n", n, least=0)
        if count > self.position:
            refuse("n", "at most the length of the output", Words(f"{shown(count)} after {self.position} tokens"))
        self._native.rollback(count)

    def fork(self, n: int) -> list[Sampler]:
        """``n`` samplers in this one's state and of its seed, on the streams 0 to n - 1: forks of forks share them.

        >>> [child.stream for child in Sampler(SamplingParams(seed=7)).fork(3)]
        [0, 1, 2]

        Raises:
            ParameterError: ``n`` is not in [1, 65536].
        """
        count = integer("n", n, least=1, most=MOST_FORKS)
        return [self._with(native) for native in self._native.fork(count)]

    def reset(self) -> None:
        """Back to the beginning of the output: the same coins again.

        >>> sampler = Sampler(SamplingParams(seed=7))
        >>> token = sampler.sample([0.5, 0.25, 0.125])
        >>> sampler.reset()
        >>> sampler.position, sampler.sample([0.5, 0.25, 0.125]) == token
        (0, True)
        """
        self._native.reset()

    def __copy__(self) -> Sampler:
        return self._with(self._native.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Sampler:
        return self.__copy__()

    def to_bytes(self) -> bytes:
        """Everything that decides which tokens come next, for :meth:`from_bytes`; pickle goes the same way.

        That is parameters, prompt, output, seed, stream, stop tokens, ``vocab_size``, and what a policy remembers. The
        format has a version and a checksum and is the same on every machine.

        >>> sampler = Sampler(SamplingParams(temperature=0.8, seed=7), prompt=[0, 3])
        >>> logits = [0.42, 0.18, 0.10, 0.30]
        >>> token = sampler.sample(logits)
        >>> twin = Sampler.from_bytes(sampler.to_bytes())
        >>> [twin.sample(logits) for _ in range(9)] == [sampler.sample(logits) for _ in range(9)]
        True

        Raises:
            ParameterError: there are processors, which are code.
        """
        if self._params.processors:
            names = ", ".join(getattr(code, "__qualname__", repr(code)) for code in self._params.processors)
            refuse("processors", "empty to make bytes of a sampler: they are code", Words(names))
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, state: bytes) -> Sampler:
        """The sampler that :meth:`to_bytes` was called on: it goes on as that one would.

        Bytes that have changed are refused, and so are those of another version of the format, and values that the
        constructor would refuse. The checksum is no signature: whoever can write it decides which tokens come next.

        Args:
            state: the bytes. The ``seed`` of its parameters is the one that was in use.

        Raises:
            ParameterError: the bytes are none that :meth:`to_bytes` made.
        """
        try:
            native = _native.Sampler.from_bytes(bytes(memoryview(state)))
        except TypeError:
            refuse("state", "bytes", state)
        params = SamplingParams._from_native(native.values(), native.seed)  # noqa: SLF001 - the sampler's own parameters
        return cls._of(native, params, native.seed)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sampler.from_bytes, (self.to_bytes(),)

    def _with(self, native: _native.Sampler) -> Sampler:
        return self._of(native, self._params, self._seed)

    @classmethod
    def _of(cls, native: _native.Sampler, params: SamplingParams, seed: int) -> Sampler:
        sampler = object.__new__(cls)
        sampler._native, sampler._params, sampler._seed = native, params, seed
        return sampler

    @property
    def params(self) -> SamplingParams:
        """The parameters."""
        return self._params

    @property
    def seed(self) -> int:
        """The seed in use, also when it came from the system."""
        return self._seed

    @property
    def stream(self) -> int:
        """The stream of its coins."""
        return self._native.stream

    @property
    def position(self) -> int:
        """How many tokens so far."""
        return self._native.position

    @property
    def prompt(self) -> npt.NDArray[np.int64]:
        """The ids before the output, a new array."""
        return self._native.prompt

    @property
    def output(self) -> npt.NDArray[np.int64]:
        """The tokens so far, a new array."""
        return self._native.output

    def __repr__(self) -> str:
        try:
            where = f"at {self.position}, seed {self.seed}, stream {self.stream}"
        except SamplerInUseError:  # a log line about it must not end the call that it is in
            where = f"in use by another call, seed {self.seed}"
        return f"<Sampler {where}, {self._params!r}>"


def sample(logits: Logits, params: SamplingParams | None = None, **changes: Any) -> Any:
    """Draw one token for a row of scores, or one for each row, without state.

    Row ``r`` draws from stream ``r`` at position 0, so a row's token is that of ``Sampler(..., stream=r)``.

    >>> sample([0.1, 0.9, 0.5], temperature=0)
    1
    >>> sample([[0.1, 0.9], [0.9, 0.1]], temperature=0)
    array([1, 0])

    Args:
        logits: scores of shape ``(vocab,)`` or ``(rows, vocab)``.
        params: the parameters of every row.
        **changes: parameters by name, in place of those of ``params``.

    Returns:
        An ``int`` for one row, an ``int64`` array of shape ``(rows,)`` for several.

    Raises:
        LogitsError: as for :meth:`Sampler.sample`, with the row.
        ParameterError, TypeError: as for :class:`SamplingParams`.
    """
    if params is not None and not isinstance(params, SamplingParams):
        refuse("params", "SamplingParams", params)
    SamplingParams._know(changes)  # noqa: SLF001 - the same package
    if params is None:
        params = SamplingParams(**changes)
    elif changes:
        params = replace(params, **changes)
    array = scores(logits)
    if array.ndim > 2:  # noqa: PLR2004 - rows and scores
        msg = f"logits must have the shape (vocab,) or (rows, vocab), got {array.shape}"
        raise LogitsError(msg)
    table = rows(array)
    seed = _new_seed() if params.seed is None else params.seed
    out = np.empty(table.shape[0], np.int64)
    _native.sample_rows(table, params._native, seed, out)  # noqa: SLF001 - the same package
    return int(out[0]) if array.ndim == 1 else out


def _new_seed() -> int:
    return int.from_bytes(os.urandom(8), "little")
