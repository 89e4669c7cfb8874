"""Many sequences at once: a row of scores and a sampler for each, in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sortition import _native
from sortition._checks import integer, integers, ordered, place, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sortition._arrays import Logits
    from sortition.sampler import Sampler

__all__ = ["Draws", "sample_batch"]


# Not frozen: to go round that for each field takes longer than a small batch when caches are cold.
@dataclass(slots=True, eq=False)
class Draws:
    """The tokens of a batch, and what their rows said of them. Row ``i`` is that of ``samplers[i]``.

    The fields after ``errors`` are ``None`` unless ``logprobs`` was given; in a row that failed they hold NaN, and 0 or
    -1 where they are integers. :class:`sortition.Draw` says what each means.

    Attributes:
        tokens: the ids, ``int64`` of shape ``(rows,)``; -1 where the row failed.
        errors: the exceptions of the rows that failed, by row. Each has its own, also where processors raise one object
            for many, unless its class cannot be copied.
        logprobs: ``float64`` of shape ``(rows,)``, after all stages.
        raw_logprobs: the same in the scores as they came.
        ranks: ``int64`` of shape ``(rows,)``, in the scores as they came; 1 is the best.
        top_ids: the best of the scores as they came, best first, ``int64`` of shape ``(rows, logprobs)``.
        top_logprobs: their raw log-probabilities, ``float64`` of the same shape.
        kept: how many candidates were left after all stages, ``int64`` of shape ``(rows,)``.
    """

    tokens: npt.NDArray[np.int64]
    errors: dict[int, Exception]
    logprobs: npt.NDArray[np.float64] | None = None
    raw_logprobs: npt.NDArray[np.float64] | None = None
    ranks: npt.NDArray[np.int64] | None = None
    top_ids: npt.NDArray[np.int64] | None = None
    top_logprobs: npt.NDArray[np.float64] | None = None
    kept: npt.NDArray[np.int64] | None = None


def sample_batch(
    logits: Logits,
    samplers: Sequence[Sampler],
    *,
    mask: Any = None,
    logprobs: int | None = None,
    rows: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None,
    out: npt.NDArray[np.int64] | None = None,
    on_error: Literal["raise", "mark"] = "raise",
) -> Draws:
    """Draw a token for each of many sequences, and record them: what ``Sampler.sample`` would draw for each alone.

    Rows are spread over ``st.info()["threads"]`` threads where that is quicker. A row's result does not depend on its
    neighbours, on their order, or on the number of threads. Processors of the caller's own may be called from several
    threads, and at the same time as far as Python allows.

    >>> from sortition import Sampler, SamplingParams
    >>> samplers = [Sampler(SamplingParams(temperature=0)), Sampler(SamplingParams(top_k=1, seed=7))]
    >>> draws = sample_batch([[0.1, 0.9, 0.5], [0.9, 0.1, 0.5]], samplers, logprobs=1)
    >>> draws.tokens.tolist(), draws.top_ids.tolist(), [sampler.position for sampler in samplers]
    ([1, 0], [[1], [0]], [1, 1])

    Args:
        logits: scores of shape ``(rows, vocab)``, finite or -inf, of NumPy or any library with DLPack, in the memory of
            the host. float32, float16 and bfloat16 are read in place, other types are converted.
        samplers: a sequence with one for each row, in the order of the rows, no two the same; empty if there are no
            rows. ``None`` cannot stand for a row without a sequence: leave that row out of ``rows``.
        mask: packed ``int32`` or ``uint32`` of shape ``(rows, ceil(vocab / 32))``, as for ``Sampler.sample``; all bits
            of a row that is not restricted are 1.
        logprobs: how many of the best tokens to list. ``None``: no log-probabilities.
        rows: which rows to draw from, where not each has a sequence, or one has several: the call is
            ``sample_batch(logits[rows], samplers, mask=mask[rows])`` without the copies. There is one sampler, and one
            row of results, for each.
        out: where to write the tokens: writable, contiguous, ``int64`` of shape ``(len(samplers),)``.
        on_error: ``"raise"`` raises the error of the first row that fails, and every sampler is as it was. ``"mark"``
            gives -1 for the rows that fail, whose samplers are as they were, and serves the others.

    Raises:
        LogitsError: as for ``Sampler.sample``; ``.row``, as in every error that is one row's, is the row of results.
        ParameterError: the arguments do not fit each other, a sampler is there twice, or there are more ``logprobs``
            than tokens. No sampler has changed; nor has one if any of the others is raised:
        SamplerInUseError: another call is at work on one of the samplers.
        KeyboardInterrupt: Ctrl-C, as soon as the processors that are under way are done; no others are called.
    """
    if not isinstance(on_error, str) or on_error not in ("raise", "mark"):
        refuse("on_error", "'raise' or 'mark'", on_error)
    if type(samplers) is not list:
        samplers = _listed(samplers)
    tokens, errors, details = _native.sample_batch(
        samplers,
        logits,
        mask,
        None if rows is None else _indices(rows),
        None if logprobs is None else integer("logprobs", logprobs, least=0, below=2**32),
        on_error == "mark",
        None if out is None else place("out", out, np.int64, (len(samplers),)),
    )
    return Draws(tokens, errors) if details is None else Draws(tokens, errors, *details)


#: The tokens of :func:`sample_batch` and nothing else, for the loops of other libraries: a step of a model has pushed
#: all code and data out of the caches, and each function less that is called after it is some microseconds less.
draw_tokens = _native.draw_tokens


def _listed(samplers: Any) -> list[Sampler]:
    legal = "a sequence of Sampler"
    try:
        items = iter(ordered("samplers", legal, samplers))
    except TypeError:
        refuse("samplers", legal, samplers)
    return list(items)  # what a generator raises is its own


def _indices(rows: Any) -> list[int]:
    legal = "a sequence of row indices of at least 0"
    array = integers("rows", legal, rows)
    if array.size and array.min() < 0:
        refuse("rows", legal, rows)
    indices: list[int] = array.tolist()
    return indices
