"""Profiles: the order of the stages, and how a stage is read, as a named stack has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sortition import _native
from sortition._checks import refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Profile"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """How a named stack samples: a plain value, which turns no stage on.

    >>> Profile.named("llama.cpp").readings
    ('typical_exceeds', 'greedy_after_cuts', 'xtc_or_nothing')
    >>> Profile.named("llama.cpp").order[-1]
    'temperature'

    Attributes:
        name: ``"sortition"``, ``"transformers"``, ``"vllm"``, ``"openai"`` or ``"llama.cpp"``.
        order: every soft stage once. A stage that the stack lacks stays beside its neighbours of the default order.
        readings: where the stack reads a definition in its own way:
            ``top_k_ties`` keeps every token equal to the k-th;
            ``typical_ties`` keeps every token as typical as the last one kept;
            ``typical_exceeds`` has the mass exceeded, not reached;
            ``floor_ties`` has epsilon and eta above every probability keep all that equal the best;
            ``top_h_whole`` sums the terms of the distribution of the best hundred;
            ``bad_words_output_only`` has bad words look at the output, not at the prompt;
            ``greedy_after_cuts`` takes at temperature 0 the best of what the cuts left;
            ``xtc_or_nothing`` has XTC do nothing where it would leave fewer than ``min_keep``.
        penalties: the scopes and windows of the penalties and of DRY, by their names in ``SamplingParams``.
    """

    name: str
    order: tuple[str, ...]
    readings: tuple[str, ...]
    penalties: Mapping[str, Any]

    @classmethod
    def named(cls, name: str) -> Profile:
        """The profile of this name.

        Raises:
            ParameterError: there is none.
        """
        if not isinstance(name, str):
            refuse("profile", "a name", name)
        fields = _native.profile(name)
        order, readings = tuple(fields.pop("order")), tuple(fields.pop("readings"))
        return cls(name=fields.pop("name"), order=order, readings=readings, penalties=fields)
