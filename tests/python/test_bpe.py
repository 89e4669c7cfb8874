"""The byte-level tokenizer, on a vocabulary small enough to see through."""

from __future__ import annotations

import sys

import pytest

from sortition import MissingExtra, ModelError, ParameterError
from sortition.models.bpe import BpeTokenizer

pytest.importorskip("tokenizers", reason="this tokenizer needs the extra smollm2")

# "Ġ" stands for a space, "ä", "½", "ł" for the bytes E4, BD, A0 of 你.
TOKENS = ["<|end|>", "h", "e", "l", "o", "Ġ", "he", "hel", "ä", "½", "ł", "ä½", "1"]
METADATA = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [3] + [1] * (len(TOKENS) - 1),
    "tokenizer.ggml.merges": ["h e", "he l", "ä ½"],
    "tokenizer.ggml.eos_token_id": 0,
    "tokenizer.chat_template": "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }}\n{% endfor %}bot:",
}


def test_merges_are_made_in_their_order():
    """Pairs become longer tokens; a part of a character may be one."""
    tokenizer = BpeTokenizer(METADATA)
    assert tokenizer.encode("hello hel") == [7, 3, 4, 5, 7]
    assert tokenizer.encode("你") == [11, 10]
    assert [tokenizer.token_bytes(token) for token in (11, 10, 5)] == [b"\xe4\xbd", b"\xa0", b" "]


def test_a_special_token_is_one_token_with_a_name():
    """It ends a text if the file says so."""
    tokenizer = BpeTokenizer(METADATA)
    assert tokenizer.encode("he<|end|>") == [6, 0]
    assert (tokenizer.special_tokens, tokenizer.eos_ids) == ({"<|end|>": 0}, (0,))
    assert tokenizer.token_bytes(0) == b"<|end|>"


@pytest.mark.parametrize("token", [-1, len(TOKENS), "1", None, True, 1.0])
def test_what_is_no_token_has_no_bytes(token):
    """It is named."""
    with pytest.raises(ParameterError, match=f"token must be .*, got {token!r}"):
        BpeTokenizer(METADATA).token_bytes(token)


def test_a_conversation_is_written_by_the_template_of_the_file():
    """Up to where the answer begins."""
    pytest.importorskip("jinja2", reason="chat templates need the extra smollm2")
    assert BpeTokenizer(METADATA).chat_prompt([{"role": "you", "content": "你好"}]) == "you:你好\nbot:"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "this model has no chat template"),
        ("{% for %}", "the model's chat template failed: "),
        ("{{ messages.append(1) }}", "the model's chat template failed: .*unsafe"),
        ("{{ ''.__class__.__mro__ }}", "the model's chat template failed: .*unsafe"),
    ],
)
def test_a_template_that_cannot_be_is_refused(template, message):
    """One from a file is not trusted: it runs in a sandbox."""
    pytest.importorskip("jinja2", reason="chat templates need the extra smollm2")
    tokenizer = BpeTokenizer(METADATA | {"tokenizer.chat_template": template})
    with pytest.raises(ModelError, match=message):
        tokenizer.chat_prompt([{"role": "user", "content": "Hi"}])


@pytest.mark.parametrize("text", [3, None, b"Hi", ["Hi"]])
def test_what_is_no_text_is_refused(text):
    """By name, not in the words of the library behind."""
    with pytest.raises(ParameterError, match="text must be a str, got "):
        BpeTokenizer(METADATA).encode(text)


@pytest.mark.parametrize("change", [{"tokenizer.ggml.model": "llama"}, {"tokenizer.ggml.pre": "llama-bpe"}])
def test_another_kind_of_tokenizer_is_refused(change):
    """It would split text in other places."""
    with pytest.raises(ModelError, match=r"the tokenizer must be byte-level BPE of kind \('gpt2', 'smollm'\), got"):
        BpeTokenizer(METADATA | change)


@pytest.mark.parametrize("library", ["tokenizers", "jinja2"])
def test_without_a_library_the_message_says_what_to_install(library, monkeypatch):
    """The extra of this model."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf'{library}: pip install "sortition\[smollm2\]"'):
        BpeTokenizer(METADATA).chat_prompt([{"role": "user", "content": "Hi"}])
