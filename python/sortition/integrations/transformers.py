"""transformers: `model.generate(..., custom_generate=generate, samplers=[...])`.

The loop is that of the library's own sampling, by its own hooks, so batches, padding, caches, stopping criteria and
processors are what they are there; only the draw is another. A processor that leaves one candidate would do as well,
but the library then looks for the arg-max of a row in which it is the only score, which takes longer than the draw.

Made for transformers 5.24, whose hooks are not public and change. Not done here: beams, a streamer (the library hands
none to a custom loop), and the outputs beside the tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sortition._checks import ordered
from sortition.batch import draw_tokens
from sortition.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sortition.sampler import Sampler

__all__ = ["generate"]


def generate(
    model: Any,
    input_ids: Any,
    logits_processor: Any,
    stopping_criteria: Any,
    generation_config: Any,
    samplers: Sequence[Sampler] = (),
    **model_kwargs: Any,
) -> Any:
    """Draw with samplers of this package. Give it to `model.generate` as `custom_generate`.

    What the configuration and the caller ask for in processors (`min_new_tokens`, `prefix_allowed_tokens_fn`) comes
    first. Temperature and cuts are the samplers' own, so `do_sample` must be off, which is the library's default; some
    models' files turn it on.

    Args:
        model: the model, as the library gives it; so are the next four.
        input_ids: the prompts, shape `(rows, tokens)`, padded on the left.
        logits_processor: what runs before the samplers.
        stopping_criteria: when a row is finished; from then on it is padded, and its sampler rests.
        generation_config: the configuration.
        samplers: one for each row, which knows its prompt without the padding.
        **model_kwargs: masks, positions and the cache.

    Returns:
        Prompts and outputs, shape `(rows, tokens)`.

    Raises:
        ParameterError: not as many samplers as rows, or something is asked for that is not done here.
        LogitsError: as `Sampler.sample`, with the row among those that are not finished.
    """
    import torch

    samplers = _checked(generation_config, samplers, len(input_ids))
    pad = generation_config._pad_token_tensor  # noqa: SLF001 - the hooks of the library's own loops
    unfinished = torch.ones(len(input_ids), dtype=torch.bool, device=input_ids.device)
    outputs = model._prefill(input_ids, generation_config, model_kwargs)  # noqa: SLF001
    while True:
        model_kwargs = model._update_model_kwargs_for_generation(  # noqa: SLF001
            outputs, model_kwargs, is_encoder_decoder=model.config.is_encoder_decoder
        )
        scores = outputs.logits[:, -1]
        if logits_processor:  # processors may write into what they are given
            scores = logits_processor(input_ids, scores.to(torch.float32, copy=True))
        drawn = draw(scores, samplers, unfinished.tolist(), pad)
        input_ids = torch.cat([input_ids, torch.tensor(drawn, device=input_ids.device)[:, None]], dim=-1)
        unfinished &= ~stopping_criteria(input_ids, None)
        if not unfinished.any():
            return input_ids
        inputs = model.prepare_inputs_for_generation(
            input_ids, next_sequence_length=1 if model_kwargs["use_cache"] else None, **model_kwargs
        )
        outputs = model(**inputs, return_dict=True)


def draw(scores: Any, samplers: list[Sampler], unfinished: Sequence[bool], pad: Any) -> list[int]:
    """A token for every row, by a tensor of scores of the shape `(rows, vocab)`; the pad token for finished ones.

    Scores on the host are read where they are, in their own precision; those on a device are brought there as they are.
    """
    if not scores.is_cpu:
        scores = scores.cpu()
    if all(unfinished):
        return draw_tokens(samplers, scores)
    rows = [row for row, going in enumerate(unfinished) if going]
    tokens = [0 if pad is None else int(pad)] * len(unfinished)
    drawn = draw_tokens([samplers[row] for row in rows], scores, rows)
    for row, token in zip(rows, drawn, strict=True):
        tokens[row] = token
    return tokens


def _checked(config: Any, samplers: Sequence[Sampler], rows: int) -> list[Sampler]:
    samplers = list(ordered("samplers", "a sequence of Sampler", samplers))
    if len(samplers) != rows:
        msg = f"samplers must hold one sampler for each of {rows} rows, got {len(samplers)}"
        raise ParameterError(msg)
    wanted = {"do_sample": False, "num_beams": 1, "return_dict_in_generate": False}
    for name, value in wanted.items():
        if (getattr(config, name, None) or value) != value:
            msg = f"{name} must be {value} with samplers of this package, got {getattr(config, name)}"
            raise ParameterError(msg)
    return samplers
