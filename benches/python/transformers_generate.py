"""What `generate` of transformers spends between scores and tokens, with its own sampling and with this package's.

`python benches/python/transformers_generate.py`, after `make test-peers`. One process, SmolLM2, two rows, both ways in
turn. Counted are, there, the processors, the softmax over the vocabulary and the draw, and here the whole of `draw`, on
one thread. Both quartiles and the median of all steps are shown: what a shared machine does to memory that is touched
once a step lies between them.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from statistics import quantiles

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, LogitsProcessorList

import sortition as st
from sortition.integrations import transformers as integration
from sortition.models import smollm2

PROMPTS = ["The capital of France is", "今天天气真好，"]
TOKENS = 48
ROUNDS = 5
TEMPERATURE, TOP_P = 0.8, 0.95
THEIRS = [(LogitsProcessorList, "__call__"), (torch.nn.functional, "softmax"), (torch, "multinomial")]
OURS = [(integration, "draw")]


@contextmanager
def timed(owner, name, seconds):
    """While this lasts, note how long each call of the function takes."""
    function = getattr(owner, name)

    def call(*args, **kwargs):
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds.append(time.perf_counter() - started)

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, function)


def measure(places, generate, seconds):
    """Generate once, and note what each step spends in these places."""
    with timed(*places[0], seconds[0]):
        if places[1:]:
            measure(places[1:], generate, seconds[1:])
        else:
            generate()


def main():
    """Both ways, in turn."""
    path = smollm2.find()
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name).eval()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, padding_side="left")
    batch = tokenizer(PROMPTS, padding=True, return_tensors="pt") | {"max_new_tokens": TOKENS, "eos_token_id": None}

    def theirs():
        model.generate(**batch, do_sample=True, temperature=TEMPERATURE, top_k=0, top_p=TOP_P)

    def ours():
        params = st.SamplingParams(temperature=TEMPERATURE, top_p=TOP_P, seed=7)
        prompts = tokenizer(PROMPTS).input_ids
        samplers = [st.Sampler(params, prompt=ids, stream=row) for row, ids in enumerate(prompts)]
        model.generate(**batch, custom_generate=integration.generate, samplers=samplers)

    counts = [[] for _ in THEIRS], [[] for _ in OURS]
    for _ in range(ROUNDS):
        measure(THEIRS, theirs, counts[0])
        measure(OURS, ours, counts[1])
    for seconds in (*counts[0], *counts[1]):
        assert len(seconds) == ROUNDS * TOKENS  # once a step, and nowhere else
    microseconds = [quantiles(1e6 * sum(parts) for parts in zip(*way, strict=True)) for way in counts]
    ratios = [theirs / ours for theirs, ours in zip(*microseconds, strict=True)]
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, SmolLM2, {len(PROMPTS)} rows,")
    print(f"temperature {TEMPERATURE}, top-p {TOP_P}, microseconds a step, of {ROUNDS * TOKENS}:")
    print(f"{'':>14} {'quartile':>8} {'median':>8} {'quartile':>8}")
    for name, numbers in zip(("transformers", "sortition", "ratio of them"), (*microseconds, ratios), strict=True):
        print(f"{name:>14} " + " ".join(f"{number:8.0f}" for number in numbers))


if __name__ == "__main__":
    main()
