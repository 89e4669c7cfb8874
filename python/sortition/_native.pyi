"""The compiled core. Private: `sortition` wraps every name, with conversions and defaults.

Arrays of scores are float32, float16 or bfloat16, aligned, contiguous along the last axis, and are read in place with
the GIL released: no other thread may write to them during a call. What is written is float32. A sampler serves one call
at a time; a second one raises ``SamplerInUseError``.

Errors are those of `sortition.errors`: ``ParameterError`` for values outside their range, ``LogitsError`` for NaN, +inf
and wrong lengths, ``NoCandidateError`` when no token is possible.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "DLPack",
    "Params",
    "Sampler",
    "__version__",
    "argmax",
    "available",
    "draw_tokens",
    "entropy",
    "log_softmax",
    "logsumexp",
    "num_threads",
    "profile",
    "sample_batch",
    "sample_rows",
    "select_isa",
    "set_num_threads",
    "softmax",
    "top_k",
    "top_p",
    "used",
]

__version__: str

#: float32, float16, or bfloat16, which has no type in NumPy.
_Scores: TypeAlias = npt.NDArray[Any]
_Numbers: TypeAlias = npt.NDArray[np.float32]

#: Stage, candidates before and after, mass removed, limit.
_Step: TypeAlias = tuple[str, int, int, float, float | None]

#: The steps, and the fate of each token.
_Trace: TypeAlias = tuple[list[_Step], npt.NDArray[np.uint8]]

#: Token, logprob, raw logprob, rank, the best with their raw logprobs, candidates left, trace.
_Draw: TypeAlias = tuple[int, float, float, int, list[tuple[int, float]], int, _Trace | None]

#: Of each row: logprob, raw logprob, rank, ids and logprobs of the best, candidates left.
_Details: TypeAlias = tuple[
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
    npt.NDArray[np.int64],
    npt.NDArray[np.int64],
    npt.NDArray[np.float64],
    npt.NDArray[np.int64],
]

@final
class DLPack:
    """The memory behind a capsule ``dltensor`` or ``dltensor_versioned``, for ``numpy.asarray``, without a copy.

    Read-only. The capsule is used up. bfloat16 is shown as its bits, ``uint16``. ``BufferError`` for a capsule that was
    used before, memory that is not the host's, a type that NumPy has not, and a description that cannot be right.
    """

    def __new__(cls, capsule: Any) -> DLPack: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def is_bfloat16(self) -> bool: ...

@final
class Params:
    """Checked parameters, without the seed: of a mapping with all fields of ``SamplingParams``.

    A penalty's scope, window and excluded ids are one entry, a tuple; so are base, allowed length, window and breakers
    of DRY; biases are a list of pairs. A processor is called as ``SamplingParams`` says, with the GIL held.
    """

    def __new__(cls, values: dict[str, Any]) -> Params: ...
    @property
    def readings(self) -> list[str]:
        """The names of the readings that are on, in their order."""

@final
class Sampler:
    """The state of one sequence: history, stream, buffers."""

    def __new__(
        cls,
        params: Params,
        seed: int,
        prompt: Sequence[int],
        vocab_size: int | None,
        stop_tokens: Sequence[int],
        stream: int,
    ) -> Sampler: ...
    def sample(self, logits: Any, mask: Any = None) -> int:
        """The token for one row; it joins the history. What is no row of scores or no packed mask is converted."""

    def draw(self, logits: Any, mask: Any, top: int, trace: bool) -> _Draw:
        """Like ``sample``, with the ``top`` best, and what each stage did if there shall be a trace."""

    def process(self, logits: Any, mask: Any, out: _Numbers) -> None:
        """Writes the scores after all stages into ``out``, as long as the row, -inf where a token was removed."""

    def verify(self, rows: Any, draft: Sequence[int], draft_logits: Any = None, mask: Any = None) -> list[int]:
        """The tokens of the draft that stand, and the one after; they join the history."""

    def plan(self) -> list[tuple[str, str]]:
        """The stages that run, in order, and what each needs."""

    def accept(self, token: int) -> None:
        """Records a token that was chosen elsewhere."""

    def rollback(self, n: int) -> None:
        """Takes back the last ``n`` tokens; ``ParameterError`` if there are fewer."""

    def fork(self, n: int) -> list[Sampler]:
        """``n`` samplers in this one's state, on the streams 0 to n - 1."""

    def copy(self) -> Sampler:
        """A sampler in this one's state, on its stream."""

    def reset(self) -> None:
        """Back to the beginning of the output."""

    def to_bytes(self) -> bytes:
        """Everything that decides which tokens come next; ``ParameterError`` if there are processors."""

    @staticmethod
    def from_bytes(state: bytes) -> Sampler:
        """The sampler that ``to_bytes`` was called on; ``ParameterError`` for bytes that it cannot have made."""

    def values(self) -> dict[str, Any]:
        """The mapping that makes ``Params`` of these parameters, without processors."""

    @property
    def seed(self) -> int:
        """The seed of its coins."""

    @property
    def prompt(self) -> npt.NDArray[np.int64]:
        """The ids before the output, a new array."""

    @property
    def output(self) -> npt.NDArray[np.int64]:
        """The tokens so far, a new array."""

    @property
    def position(self) -> int:
        """How many tokens so far."""

    @property
    def stream(self) -> int:
        """The stream of its coins."""

def argmax(x: Any) -> Any:
    """The best id of a row, ties to the lower id: an ``int``, or an array for scores in more dimensions."""

def logsumexp(x: Any) -> Any:
    """The logarithm of the sum of ``exp(x)`` of a row, or of each."""

def entropy(x: Any) -> Any:
    """The entropy of a row, or of each, in nats."""

def top_k(logits: _Scores, k: int) -> tuple[_Numbers, npt.NDArray[np.int64]]:
    """The ``k`` best scores and ids of every row, best first, one row after another."""

def top_p(logits: _Scores, p: float) -> list[list[int]]:
    """The nucleus of every row, best first."""

def softmax(logits: _Scores, temperature: float, out: _Numbers) -> None:
    """Writes the probabilities of every row into ``out``, contiguous and of the same shape."""

def log_softmax(logits: _Scores, out: _Numbers) -> None:
    """Writes their logarithms."""

def sample_rows(logits: _Scores, params: Params, seed: int, out: npt.NDArray[np.int64]) -> None:
    """Writes a token for every row into ``out``; row ``r`` draws from stream ``r`` at position 0."""

def sample_batch(
    samplers: list[Any],
    logits: Any,
    mask: Any,
    rows: Sequence[int] | None,
    top: int | None,
    marks: bool,
    out: npt.NDArray[np.int64] | None,
) -> tuple[npt.NDArray[np.int64], dict[int, Exception], _Details | None]:
    """A token for every sampler, found by its ``_native``, from its row; with details if there shall be a ``top``.

    An error is raised before any sampler has changed, or, if it ``marks``, is in the dictionary.
    """

def draw_tokens(samplers: list[Any], logits: Any, rows: Sequence[int] | None = None) -> list[int]:
    """The tokens of ``sample_batch`` alone; the first error is raised."""

def profile(name: str) -> dict[str, Any]:
    """A profile: its name, order and readings, and the scope and window of each penalty."""

def num_threads() -> int:
    """How many threads rows are spread over."""

def set_num_threads(threads: int) -> None:
    """Bounds the threads, in [1, 1024]."""

def available() -> list[str]:
    """The instruction sets that this CPU can run, best first."""

def used() -> str:
    """The instruction set in use."""

def select_isa(name: str) -> bool:
    """Chooses the instruction set before the first use; whether it is in use now."""
