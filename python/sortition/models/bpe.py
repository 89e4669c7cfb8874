"""A byte-level BPE tokenizer from the vocabulary and the merges of a GGUF file, run by `tokenizers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sortition._checks import integer, refuse
from sortition._extras import extra
from sortition.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BpeTokenizer"]

_CONTROL, _UNKNOWN = 3, 2  # kinds of token in a GGUF file: those that stand for no text
_ENDS = ("<|endoftext|>", "<|im_end|>")  # names that end a text whatever the file calls its end token


class BpeTokenizer:
    """The tokenizer of a model with byte-level BPE (the GPT-2 family) and single digits, as SmolLM has it.

    Text that spells a special token becomes that token; leave such text out of what comes from outside.

    Args:
        metadata: the GGUF file's own, with the keys `tokenizer.ggml.*`.

    Raises:
        MissingExtra: `tokenizers` is not installed.
        ModelError: the file has another kind of tokenizer.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        kind = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre")
        if kind != ("gpt2", "smollm"):
            msg = f"the tokenizer must be byte-level BPE of kind ('gpt2', 'smollm'), got {kind}"
            raise ModelError(msg)
        self._names: list[str] = metadata["tokenizer.ggml.tokens"]
        kinds: list[int] = metadata["tokenizer.ggml.token_type"]
        self._special = {n: i for i, n in enumerate(self._names) if kinds[i] in {_CONTROL, _UNKNOWN}}
        declared = metadata.get("tokenizer.ggml.eos_token_id")
        ends = {self._special[name] for name in _ENDS if name in self._special}
        self._eos_ids = tuple(sorted(ends if declared is None else ends | {int(declared)}))
        self._chat_template: str | None = metadata.get("tokenizer.chat_template")
        self._bytes = _byte_of_character()
        self._tokenizer = _build(self._names, metadata["tokenizer.ggml.merges"], list(self._special))

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """The end of a text, and the end of a turn."""
        return self._eos_ids

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The control tokens by name."""
        return self._special

    def encode(self, text: str) -> list[int]:
        """The ids of `text`; nothing is added before or after.

        Raises:
            ParameterError: `text` is no `str`.
        """
        if not isinstance(text, str):
            refuse("text", "a str", text)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def token_bytes(self, token: int) -> bytes:
        """The bytes of the token; the name, if it is a special one.

        Raises:
            ParameterError: there is no such token.
        """
        if not 0 <= integer("token", token) < len(self._names):
            refuse("token", f"in [0, {len(self._names)})", token)
        name = self._names[token]
        if name in self._special:
            return name.encode()
        return bytes(self._bytes[character] for character in name)

    def chat_prompt(self, messages: Sequence[Mapping[str, str]]) -> str:
        """A conversation as the model was trained to see it, up to where its answer begins.

        Args:
            messages: each with `role` (`"system"`, `"user"`, `"assistant"`) and `content`.

        Raises:
            MissingExtra: `jinja2` is not installed.
            ModelError: the file has no chat template, or the template refuses the messages.
        """
        if self._chat_template is None:
            msg = "this model has no chat template"
            raise ModelError(msg)
        with extra("smollm2", "a chat template needs the package jinja2"):
            import jinja2
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        try:
            template = environment.from_string(self._chat_template)
            return template.render(messages=list(messages), add_generation_prompt=True)
        except jinja2.TemplateError as error:
            msg = f"the model's chat template failed: {error}"
            raise ModelError(msg) from error


def _build(names: Sequence[str], merges: Sequence[str], special: Sequence[str]) -> Any:
    with extra("smollm2", "this model needs the package tokenizers"):
        import tokenizers
        from tokenizers import models, pre_tokenizers
    vocabulary = {name: index for index, name in enumerate(names)}
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    tokenizer = tokenizers.Tokenizer(models.BPE(vocabulary, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def _byte_of_character() -> dict[str, int]:
    """GPT-2's table: a byte that prints stands for itself, the others for characters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    return table | {chr(0x100 + index): byte for index, byte in enumerate(others)}
