"""A sampler that draws only what a grammar allows: for `sortition.decode`, with any library that hands out masks.

`llguidance`, `outlines_core` and `xgrammar` beside this file make a `Matcher` of theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sortition.sampler import Sampler

__all__ = ["MaskedSampler", "Matcher"]


class Matcher(Protocol):
    """Where one sequence stands in its grammar."""

    def mask(self) -> npt.NDArray[np.int32]:
        """What may come next: packed, shape `(ceil(vocab / 32),)`, as `Sampler.sample` takes it."""
        ...

    def accept(self, token: int, /) -> None:
        """Go on by a token that the mask allows."""
        ...


class MaskedSampler:
    """A sampler and a matcher that go on together, for `decode`.

    The end of the text is one of the grammar's tokens: name it in `stop_tokens`. A text that `max_tokens` cut off is
    only the beginning of one that the grammar allows.

    >>> import numpy as np
    >>> from sortition import Sampler, SamplingParams, ScriptedModel, decode
    >>> class Counting:
    ...     next = 1
    ...     def mask(self):
    ...         return np.array([1 << self.next], np.int32)
    ...     def accept(self, token):
    ...         self.next = token + 1
    >>> sampler = MaskedSampler(Sampler(SamplingParams(seed=7)), Counting())
    >>> model = ScriptedModel(lambda context: [0.0] * 4)
    >>> [step.token for step in decode(model, [0], sampler, stop_tokens=[3])]
    [1, 2, 3]
    """

    def __init__(self, sampler: Sampler, matcher: Matcher) -> None:
        self._sampler = sampler
        self._matcher = matcher

    def sample(self, logits: Any) -> int:
        """Draw a token that the grammar allows; sampler and matcher record it.

        Raises:
            NoCandidateError: no token is both allowed and possible; neither has changed. Nor has the sampler by what
                the matcher raises.
        """
        token = self._sampler.sample(logits, self._matcher.mask())
        try:
            self._matcher.accept(token)
        except BaseException:
            self._sampler.rollback(1)
            raise
        return token
