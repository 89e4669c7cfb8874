"""What is said of a name that no parameter has; imported for that error only.

It may be another stack's name for a parameter, or of a matter that parameters do not decide, or written wrongly.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from sortition._checks import shown
from sortition._stacks import LLAMA_CPP, OPENAI, SAMPLERS, TRANSFORMERS, VLLM

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["error"]

_STACKS = (TRANSFORMERS, VLLM, OPENAI, LLAMA_CPP)
#: What other stacks have elsewhere than among their parameters of one name.
_HERE = {"dry_sequence_breakers": "dry_breakers", "samplers": "order"}


def error(name: str, known: Collection[str]) -> TypeError:
    """The error for a name that is not a known one.

    >>> error("repeat_penalty", {"repetition_penalty"})
    TypeError('repeat_penalty is no parameter of SamplingParams: do you mean repetition_penalty?')
    """
    meant = [stack.translated[name][0] for stack in _STACKS if name in stack.translated]
    meant += SAMPLERS.get(name, ((), ()))[1]
    meant += [_HERE[name]] if name in _HERE else []
    if not meant and any(name in stack.passed for stack in _STACKS):
        hint = ", which say how a token is chosen; for the rest look at generate, Sampler and Sampler.draw"
    elif not meant and any(name in stack.refused for stack in _STACKS):
        hint = ", and none of those decides what it does"
    else:
        meant = meant or get_close_matches(name, known, 1)
        hint = f": do you mean {meant[0]}?" if meant else ""
    said = name if name.isidentifier() and shown(name) == repr(name) else shown(name)
    return TypeError(f"{said} is no parameter of SamplingParams{hint}")
