"""The cases in tests/data, read; and the two that they are run against: the reference and the package.

A case is a table; the opening of each file says what its fields mean. `Case` turns the fields that describe an input
into arrays and lists. `ReferenceSide` and `PackageSide` have the same few methods, so that `expectations.py` is written
once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

import sortition
from sortition import reference
from sortition.models import ScriptedModel
from sortition.reference import philox
from sortition.reference.weights import weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).parents[1] / "data"
FILES = sorted(path.relative_to(DATA).with_suffix("").as_posix() for path in DATA.rglob("*.toml"))

DESCRIPTION = {"id", "why", "source"}
INPUT = {
    *("logits", "probs", "fill", "dtype", "rows", "table"),
    *("params", "row_params", "vocab_size", "mask", "mask_dtype", "masks", "stop_tokens"),
    *("prompt", "prompt_fill", "output", "row_outputs", "rollback", "fork", "steps", "draws", "logprobs", "on_error"),
    *("call", "args", "width", "alpha", "max_tokens", "draft", "draft_probs"),
    *("pieces", "byte_pieces", "stop", "eos_from", "eos_count", "raises_at"),
}
DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class Case:
    """One table of a file."""

    file: str
    fields: Mapping[str, Any]

    def __post_init__(self) -> None:
        unknown = set(self.fields) - DESCRIPTION - INPUT - {"expect"}
        if unknown:
            msg = f"{self.file}: {self.id}: unknown fields {sorted(unknown)}"
            raise KeyError(msg)

    @property
    def id(self) -> str:
        return str(self.fields["id"])

    @property
    def expect(self) -> dict[str, Any]:
        return dict(self.fields["expect"])

    @property
    def params(self) -> dict[str, Any]:
        return typed(self.fields.get("params", {}))

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)

    def row(self) -> np.ndarray:
        """The scores of a case of one row, in the type that is handed over."""
        if (fill := self.get("fill")) is not None:
            values = np.full(fill["count"], fill["value"], np.float64)
            for token, value in fill.get("except", {}).items():
                values[int(token)] = value
        elif (probs := self.get("probs")) is not None:
            values = logarithm(probs)
        else:
            values = np.array(self.fields["logits"], np.float64)
        return values.astype(DTYPES[self.get("dtype", "float32")])

    def rows(self) -> list[np.ndarray]:
        return [np.array(row, np.float32) for row in self.fields["rows"]]

    def prompt(self) -> list[int]:
        if (fill := self.get("prompt_fill")) is not None:
            return list(fill["pattern"]) * int(fill["times"])
        return list(self.get("prompt", []))

    def mask(self, words: Sequence[int] | None = None) -> np.ndarray | None:
        """Packed words of one row, wrapped into the unsigned type where they are written as negative numbers."""
        words = self.get("mask") if words is None else words
        if words is None:
            return None
        signed = np.array(words, np.int64)
        return signed.astype(np.int32) if self.get("mask_dtype") == "int32" else signed.astype(np.uint32)

    def sampler(self, side: Side, **changes: Any) -> Any:
        """A sampler in the state that the case describes."""
        state = {name: self.get(name) for name in ("vocab_size", "stop_tokens") if name in self.fields}
        sampler = side.sampler(self.params | changes, prompt=self.prompt(), **state)
        for token in self.get("output", []):
            sampler.accept(token)
        if (back := self.get("rollback")) is not None:
            sampler.rollback(back)
        return sampler

    def row_samplers(self, side: Side) -> list[Any]:
        """One sampler for each row of a batch, in the state that the case describes."""
        rows = self.fields["rows"]
        own = self.get("row_params", [{} for _ in rows])
        samplers = [side.sampler(self.params | typed(params)) for params in own]
        for sampler, output in zip(samplers, self.get("row_outputs", [[] for _ in rows]), strict=True):
            for token in output:
                sampler.accept(token)
        return samplers

    def row_masks(self) -> list[np.ndarray | None]:
        return [self.mask(words) for words in self.get("masks", [None for _ in self.fields["rows"]])]


def logarithm(probs: Sequence[Any]) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.array(probs, np.float64))


def typed(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as Python has them: the keys of a TOML table are strings, ids are not."""
    out = dict(params)
    if "logit_bias" in out:
        out["logit_bias"] = {int(token): value for token, value in out["logit_bias"].items()}
    return out


def load(file: str) -> list[Case]:
    with (DATA / f"{file}.toml").open("rb") as stream:
        return [Case(file, table) for table in tomllib.load(stream)["case"]]


@dataclass
class ReferenceSampler:
    """The reference with a memory: what a `sortition.Sampler` must be equal to."""

    params: Mapping[str, Any]
    prompt: list[int] = field(default_factory=list)
    vocab_size: int | None = None
    stop_tokens: Sequence[int] = ()
    stream: int = 0
    output: list[int] = field(default_factory=list)
    memories: list[tuple[Any, Any]] = field(default_factory=list)
    """What mirostat and adaptive-p remember after each output."""

    @property
    def seed(self) -> int:
        return int(self.params.get("seed") or 0)

    @property
    def position(self) -> int:
        return len(self.output)

    def _request(self, mask: Any) -> dict[str, Any]:
        own = ("prompt", "output", "vocab_size", "stop_tokens", "stream", "seed")
        mu, average = self.memories[-1] if self.memories else (None, None)
        return {"mask": mask, "mu": mu, "average": average, **{name: getattr(self, name) for name in own}}

    def process(self, logits: Any, mask: Any = None) -> np.ndarray:
        return reference.process(logits, self.params, **self._request(mask))

    def draw(self, logits: Any, mask: Any = None, logprobs: int | None = None) -> reference.Drawn:
        drawn = reference.draw(logits, self.params, logprobs=logprobs or 0, **self._request(mask))
        self.output.append(drawn.token)
        self.memories.append((drawn.mu, drawn.average))
        return drawn

    def sample(self, logits: Any, mask: Any = None) -> int:
        return self.draw(logits, mask).token

    def verify(self, rows: Any, draft: Sequence[int], draft_logits: Any = None, *, mask: Any = None) -> list[int]:
        request = self._request(None)
        del request["mask"]
        draws = reference.verify(rows, draft, self.params, draft_logits=draft_logits, masks=mask, **request)
        self.output += [drawn.token for drawn in draws]
        self.memories += [(drawn.mu, drawn.average) for drawn in draws]
        return self.output[-len(draws) :]

    def accept(self, token: int) -> None:
        self.output.append(token)
        self.memories.append(self.memories[-1] if self.memories else (None, None))

    def rollback(self, count: int) -> None:
        del self.output[len(self.output) - count :]
        del self.memories[len(self.memories) - count :]

    def fork(self, count: int) -> list[ReferenceSampler]:
        return [
            ReferenceSampler(
                self.params,
                self.prompt,
                self.vocab_size,
                self.stop_tokens,
                stream,
                list(self.output),
                list(self.memories),
            )
            for stream in range(count)
        ]


class ReferenceSide:
    """The reference."""

    name = "reference"

    def sampler(self, params: Mapping[str, Any], **state: Any) -> ReferenceSampler:
        return ReferenceSampler(params, **state)

    def call(self, name: str, row: np.ndarray, args: Mapping[str, Any]) -> Any:
        return getattr(reference, name)(row, **args)

    def sample_rows(self, row: np.ndarray, count: int, params: Mapping[str, Any], seed: int) -> np.ndarray:
        """One token for each of `count` copies of the row; copy r throws the coin of stream r."""
        w0, w1, _, _ = philox.philox4x32((np.arange(count, dtype=np.uint64), 0, 0, 0), (seed, 0))
        coins = ((w0 << np.uint64(32) | w1) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        cumulative = np.cumsum(weights(reference.process(row, params)), dtype=np.float64)
        return np.searchsorted(cumulative, coins * cumulative[-1], side="right")

    def batch(
        self, rows: Sequence[np.ndarray], samplers: Sequence[Any], masks: Sequence[Any], on_error: str
    ) -> tuple[list[int], dict[int, Exception]]:
        tokens: list[int] = []
        errors: dict[int, Exception] = {}
        for r, (row, sampler, mask) in enumerate(zip(rows, samplers, masks, strict=True)):
            try:
                tokens.append(sampler.sample(row, mask))
            except ValueError as error:
                if on_error == "raise":
                    for earlier in samplers[:r]:
                        earlier.rollback(1)
                    error.row = r  # type: ignore[attr-defined]
                    raise
                errors[r] = error
                tokens.append(-1)
        return tokens, errors

    def verify(self, sampler: ReferenceSampler, *args: Any) -> list[int]:
        return sampler.verify(*args)

    def beam_search(self, table: np.ndarray, prompt: Sequence[int], **options: Any) -> tuple[float, list[int]]:
        return reference.beam_search(lambda tokens: table[tokens[-1]], prompt, **options)[0]

    def error_name(self, error: Exception) -> str:
        names = {reference.BadScoresError: "LogitsError", reference.EmptyRowError: "NoCandidateError"}
        return names.get(type(error), type(error).__name__)


class PackageSide:
    """The package as users have it."""

    name = "package"

    def parameters(self, params: Mapping[str, Any]) -> Any:
        given = dict(params)
        profile = given.pop("profile", None)
        return (
            sortition.SamplingParams(**given) if profile is None else sortition.SamplingParams.profile(profile, **given)
        )

    def sampler(self, params: Mapping[str, Any], **state: Any) -> Any:
        return sortition.Sampler(self.parameters(params), **state)

    def call(self, name: str, row: np.ndarray, args: Mapping[str, Any]) -> Any:
        return getattr(sortition, name)(row, **args)

    def sample_rows(self, row: np.ndarray, count: int, params: Mapping[str, Any], seed: int) -> np.ndarray:
        """One token for each of `count` copies of the row; copy r throws the coin of stream r."""
        return np.asarray(sortition.sample(np.broadcast_to(row, (count, len(row))), seed=seed, **params))

    def batch(
        self, rows: Sequence[np.ndarray], samplers: Sequence[Any], masks: Sequence[Any], on_error: str
    ) -> tuple[list[int], dict[int, Exception]]:
        mask = None if masks[0] is None else np.stack(masks)
        draws = sortition.sample_batch(np.stack(rows), samplers, mask=mask, on_error=on_error)
        return draws.tokens.tolist(), draws.errors

    def verify(self, sampler: Any, rows: Sequence[np.ndarray], *args: Any) -> list[int]:
        return list(sampler.verify(np.stack(rows), *args))

    def beam_search(self, table: np.ndarray, prompt: Sequence[int], **options: Any) -> tuple[float, list[int]]:
        best = sortition.beam_search(TableModel(table), list(prompt), **options)[0]
        return best.score, list(best.tokens)

    def generate(self, pieces: Sequence[str], eos_from: int | None, params: Mapping[str, Any]) -> Any:
        """What a scripted model says after a prompt that is no piece, greedily as in text.toml."""
        model = ScriptedModel.from_pieces(pieces, eos_from=eos_from)
        return sortition.generate(model, [len(pieces)], self.parameters({"temperature": 0} | dict(params)))

    def error_name(self, error: Exception) -> str:
        return type(error).__name__


class TableModel:
    """A model whose next scores depend on the last token alone: row t of the table follows token t."""

    def __init__(self, table: np.ndarray) -> None:
        self._table = table
        self._tokens: list[int] = []

    def forward(self, tokens: Sequence[int]) -> np.ndarray:
        self._tokens.extend(tokens)
        return self._table[self._tokens[-1]].astype(np.float32)

    def truncate(self, length: int) -> None:
        del self._tokens[length:]

    def fork(self) -> TableModel:
        other = TableModel(self._table)
        other._tokens = list(self._tokens)
        return other


Side = ReferenceSide | PackageSide
