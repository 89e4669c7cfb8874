"""What `generate` of transformers spends between scores and tokens, with its own sampling and with this package's.

`python benches/python/transformers_generate.py`, after `make test-peers`. One process, SmolLM2, two rows, both ways in
turn; counted are the calls of the processors, the softmax over the vocabulary and the draw there, and the whole of
`draw` here. One thread, and its time on the processor, which other programs do not add to.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from statistics import median

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


@contextmanager
def counted(*places):
    """The seconds spent in these functions, each given as its owner and name, while the context lasts."""
    spent = [0.0]
    before = [getattr(owner, name) for owner, name in places]

    def clock(function):
        def timed(*args, **kwargs):
            started = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[0] += time.thread_time() - started

        return timed

    for (owner, name), function in zip(places, before, strict=True):
        setattr(owner, name, clock(function))
    try:
        yield spent
    finally:
        for (owner, name), function in zip(places, before, strict=True):
            setattr(owner, name, function)


def main():
    """Both ways, in turn."""
    path = smollm2.find()
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name).eval()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, padding_side="left")
    batch = tokenizer(PROMPTS, padding=True, return_tensors="pt")
    exactly = {"max_new_tokens": TOKENS, "eos_token_id": None}
    theirs, ours = [], []
    for round_ in range(ROUNDS):
        torch.manual_seed(round_)
        own = (LogitsProcessorList, "__call__"), (torch.nn.functional, "softmax"), (torch, "multinomial")
        with counted(*own) as spent:
            drawn = model.generate(**batch, do_sample=True, temperature=TEMPERATURE, top_k=0, top_p=TOP_P, **exactly)
        assert drawn.shape[1] == batch["input_ids"].shape[1] + TOKENS
        theirs.append(spent[0])
        params = st.SamplingParams(temperature=TEMPERATURE, top_p=TOP_P, seed=round_)
        prompts = tokenizer(PROMPTS).input_ids
        samplers = [st.Sampler(params, prompt=ids, stream=row) for row, ids in enumerate(prompts)]
        with counted((integration, "draw")) as spent:
            drawn = model.generate(**batch, custom_generate=integration.generate, samplers=samplers, **exactly)
        assert drawn.shape[1] == batch["input_ids"].shape[1] + TOKENS
        ours.append(spent[0])
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, SmolLM2, {len(PROMPTS)} rows,")
    print(f"temperature {TEMPERATURE}, top-p {TOP_P}, {TOKENS} tokens, median of {ROUNDS} rounds, microseconds a step:")
    for name, times in ("transformers", theirs), ("sortition", ours):
        print(f"{name:>14} {median(times) / TOKENS * 1e6:8.0f}")
    print(f"{'ratio':>14} {median(theirs) / median(ours):8.0f}")


if __name__ == "__main__":
    main()
