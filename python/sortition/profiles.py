"""Profiles: the order of the stages, and how a stage is read, as a named stack has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sortition import _native
from sortition._checks import refuse, utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Profile"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """How another stack samples: the order of its stages, and its variants of their definitions. It turns no stage on.

    >>> Profile.named("llama.cpp").readings
    ('typical_exceeds', 'greedy_after_cuts', 'xtc_or_nothing')
    >>> Profile.named("llama.cpp").order[-1]
    'temperature'

    Attributes:
        name: ``"sortition"``, ``"transformers"``, ``"vllm"``, ``"openai"`` or ``"llama.cpp"``.
        order: every soft stage once. A stage that the stack does not have keeps its place next to its neighbours of the
            default order.
        readings: the variant definitions that the stack uses, by name:
            ``top_k_ties`` keeps every token equal to the k-th;
            ``typical_ties`` keeps every token as typical as the last one kept;
            ``typical_exceeds`` keeps until the total probability exceeds its limit, not only reaches it;
            ``floor_ties`` keeps all that equal the best where epsilon or eta is above every probability;
            ``top_h_whole`` looks only at the best hundred, and does not renormalise the entropy of a prefix;
            ``bad_words_output_only`` lets bad words begin only in the output, not in the prompt;
            ``greedy_after_cuts`` takes, at temperature 0, the best of the candidates that the cuts left;
            ``xtc_or_nothing`` excludes nothing where XTC would leave fewer than ``min_keep``.
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
            ParameterError: there is no such profile; the message lists those that there are.
        """
        if not isinstance(name, str):
            refuse("profile", "a name", name)
        fields = _native.profile(utf8(name))
        order, readings = tuple(fields.pop("order")), tuple(fields.pop("readings"))
        return cls(name=fields.pop("name"), order=order, readings=readings, penalties=fields)
