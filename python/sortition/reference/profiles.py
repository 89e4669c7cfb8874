"""The order of the stages, and the named stacks: their order and their readings of a stage.

A profile turns no stage on. A stage that the named stack lacks keeps its place beside its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CUTS", "EDITS", "HARD", "ORDER", "PROFILES", "SOFT", "Profile"]

HARD = ("mask", "allowed_ids", "suppress", "min_tokens", "bad_words")
EDITS = ("logit_bias", "custom", "repetition", "frequency", "presence", "no_repeat_ngram", "dry")
CUTS = (
    "top_n_sigma",
    "min_k",
    "top_k",
    "typical",
    "top_p",
    "min_p",
    "p_less",
    "epsilon",
    "eta",
    "top_a",
    "tfs",
    "top_h",
    "xtc",
)
SOFT = (*EDITS, "temperature", *CUTS)
ORDER = (*HARD, *SOFT, "draw")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """An order of the soft stages, the switches, and defaults for parameters that are not given."""

    order: tuple[str, ...] = SOFT
    defaults: Mapping[str, object] = field(default_factory=dict)
    top_k_ties: bool = False
    typical_ties: bool = False
    typical_exceeds: bool = False
    floor_ties: bool = False  # epsilon and eta above every probability: all that equal the best
    top_h_whole: bool = False
    bad_words_see_prompt: bool = True
    greedy_after_cuts: bool = False
    xtc_or_nothing: bool = False


TRANSFORMERS_CUTS = (
    "top_n_sigma",
    "min_k",
    "top_h",
    "top_k",
    "top_p",
    "min_p",
    "p_less",
    "typical",
    "epsilon",
    "eta",
    "top_a",
    "tfs",
    "xtc",
)
VLLM_CUTS = (
    "top_n_sigma",
    "min_k",
    "min_p",
    "p_less",
    "top_k",
    "typical",
    "top_p",
    "epsilon",
    "eta",
    "top_a",
    "tfs",
    "top_h",
    "xtc",
)

PROFILES: Mapping[str, Profile] = {
    "sortition": Profile(),
    "transformers": Profile(
        order=(*EDITS, "temperature", *TRANSFORMERS_CUTS),
        top_k_ties=True,
        typical_ties=True,
        floor_ties=True,
        top_h_whole=True,
    ),
    "vllm": Profile(order=(*EDITS, "temperature", *VLLM_CUTS), top_k_ties=True, bad_words_see_prompt=False),
    "openai": Profile(defaults={"repetition_scope": "output"}),
    "llama.cpp": Profile(
        order=(*EDITS, *CUTS, "temperature"),
        defaults={
            f"{name}_{what}": value
            for name in ("repetition", "frequency", "presence")
            for what, value in (("scope", "all"), ("window", 64))
        }
        | {"dry_window": 64},
        typical_exceeds=True,
        greedy_after_cuts=True,
        xtc_or_nothing=True,
    ),
}
