"""Records the real rows: the scores of SmolLM2-135M after four beginnings, in half precision.

python benches/python/record.py
"""

from __future__ import annotations

import numpy as np

import sortition
from rows import RECORDED

BEGINNINGS = (
    "The capital of France is",
    "Once upon a time there was a",
    "def fibonacci(n):\n    if n < 2:\n        return",
    "今天天气",
)


def main() -> None:
    """Writes `benches/data/smollm2.npz`."""
    model = sortition.load("smollm2")
    scores = []
    for text in BEGINNINGS:
        model.truncate(0)
        scores.append(np.array(model.forward(model.tokenizer.encode(text)), np.float16))
    RECORDED.parent.mkdir(exist_ok=True)
    np.savez_compressed(RECORDED, scores=np.stack(scores))


if __name__ == "__main__":
    main()
