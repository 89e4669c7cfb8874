"""The command line: what it prints where, how it ends, and that no parameter is without a flag."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys

import pytest

from sortition import ModelError, Profile, SamplingParams, info
from sortition.models import PieceTokenizer, ScriptedModel

typer = pytest.importorskip("typer", reason="the command line needs the extra cli")
pytest.importorskip("rich", reason="the command line needs the extra cli")
testing = pytest.importorskip("typer.testing")

from sortition import __main__, cli  # noqa: E402 - they need what was just looked for
from sortition.cli_flags import sampling_params  # noqa: E402

PIECES = ["今天", "天气", "很", "好", "👍"]


class ChatTokenizer(PieceTokenizer):
    """Shows in the prompt that a template was applied."""

    def chat_prompt(self, messages):
        (message,) = messages
        return message["content"] + "好" if message["role"] == "user" else ""


class Failing(ScriptedModel):
    """Says two pieces, and then the connection breaks."""

    def forward(self, tokens, **options):
        if len(self.calls) == 2:
            msg = "the line\nis dead"
            raise ConnectionError(msg)
        return super().forward(tokens, **options)


def models():
    chat = ScriptedModel.from_pieces(PIECES)
    chat._tokenizer = ChatTokenizer(PIECES)
    return {"scripted": ScriptedModel.from_pieces(PIECES), "chat": chat, "failing": Failing.from_pieces(PIECES)}


@pytest.fixture
def run(monkeypatch, capfd):
    """Run the command line with scripted models; return exit code, stdout and stderr."""
    known = models()

    def load(name):
        if name not in known:
            msg = f"no {name} here"
            raise ModelError(msg)
        return known[name]

    monkeypatch.setattr(cli, "load", load)

    def call(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    call.models = known
    return call


def generate(run, *arguments, prompt="今天", model="scripted"):
    return run("generate", prompt, "--model", model, "--temperature", "0", *arguments)


def strict_json(text):
    """One object, and no NaN or Infinity in it."""

    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def test_the_text_goes_to_stdout_and_one_line_about_it_to_stderr(run):
    """Tokens, speed, time in the model and in the sampler, seed, and why it ended."""
    code, out, err = generate(run, "--seed", 7)
    assert code == 0
    assert out == "今天天气很好👍\n"
    number = r"\d+\.\d+"
    expected = (
        rf"6 tokens · {number} tokens/s · model {number} s · sampler {number} s \({number}%\) · seed 7 · stop \(5\)\n"
    )
    assert re.fullmatch(expected, err)


def test_the_same_seed_prints_the_same_text(run):
    """And each of several seeds is obeyed."""
    tokenizer = PieceTokenizer([*"abcdefgh"])
    run.models["flat"] = ScriptedModel([[0.0] * 8 + [-50.0]], repeat_last=True, tokenizer=tokenizer)
    texts = [run("generate", "a", "--model", "flat", "--max-tokens", 20, "--seed", seed)[1] for seed in (1, 1, 2, 3)]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_json_is_one_strict_object(run):
    """What `generate` returns, and nothing beside it."""
    code, out, err = generate(run, "--json", "--seed", 7, "--stop", "好")
    assert (code, err) == (0, "")
    value = strict_json(out)
    assert value["text"] == "今天天气很"
    assert (value["finish_reason"], value["matched"], value["tokens"]) == ("stop", "好", [0, 1, 2, 3])
    assert (value["model"], value["seed"], value["prompt_tokens"], value["text_tokens"]) == ("scripted", 7, 1, 3)
    assert set(value["timings"]) == {"prefill", "model", "sampler", "total"}


def test_several_completions_are_printed_one_by_one_or_as_one_object(run):
    """With headings, or in a list."""
    code, out, err = generate(run, "-n", 2, "--max-tokens", 2)
    assert (code, out) == (0, "=== 1 of 2 ===\n今天天气\n=== 2 of 2 ===\n今天天气\n")
    assert err.count("· length\n") == 2
    value = strict_json(generate(run, "-n", 2, "--max-tokens", 2, "--json")[1])
    assert [done["stream"] for done in value["completions"]] == [0, 1]


def test_what_ends_a_text_can_be_given(run):
    """A length, several stop strings, a deadline."""
    assert generate(run, "--max-tokens", 2)[1] == "今天天气\n"
    assert generate(run, "--stop", "x", "--stop", "很")[1] == "今天天气\n"
    code, out, err = generate(run, "--deadline", 0)
    assert (code, out) == (0, "\n")
    assert "cancelled ('deadline')" in err


def test_chat_applies_the_template_of_the_model(run):
    """And a model without one says so."""
    generate(run, "--chat", model="chat")
    assert run.models["chat"].calls[0] == (0, 3)
    code, out, err = generate(run, "--chat")
    assert (code, out, err) == (1, "", "sortition: this model has no chat template\n")


def test_a_prompt_may_come_from_the_standard_input(run, monkeypatch):
    """Where a dash stands for it."""
    monkeypatch.setattr("sys.stdin", io.StringIO("天气很"))
    generate(run, prompt="-")
    assert run.models["scripted"].calls[0] == (1, 2)


ALL_BUT_TEMPERATURE = [name for name in Profile.named("sortition").order if name != "temperature"]

FLAGS = {  # a value for every field of SamplingParams, as typed and as it should arrive
    "temperature": (["0.5"], 0.5),
    "dynatemp_range": (["0.5"], 0.5),
    "dynatemp_exponent": (["2"], 2.0),
    "smoothing_factor": (["0.3"], 0.3),
    "smoothing_curve": (["1.5"], 1.5),
    "top_n_sigma": (["1.5"], 1.5),
    "min_k": (["0"], 0.0),
    "top_k": (["7"], 7),
    "typical_p": (["0.9"], 0.9),
    "top_p": (["0.9"], 0.9),
    "min_p": (["0.05"], 0.05),
    "p_less": (["2"], 2.0),
    "epsilon": (["0.001"], 0.001),
    "eta": (["0.001"], 0.001),
    "top_a": (["0.2"], 0.2),
    "tfs": (["0.95"], 0.95),
    "top_h": (["0.5"], 0.5),
    "xtc_probability": (["0.5"], 0.5),
    "xtc_threshold": (["0.2"], 0.2),
    "xtc_protect": (["2,3"], (2, 3)),
    "mirostat": (["2"], 2),
    "mirostat_tau": (["4"], 4.0),
    "mirostat_eta": (["0.2"], 0.2),
    "adaptive_target": (["0.3"], 0.3),
    "adaptive_decay": (["0.5"], 0.5),
    "repetition_penalty": (["1.1"], 1.1),
    "repetition_scope": (["output"], "output"),
    "repetition_window": (["64"], 64),
    "repetition_exclude": (["1,2", "3"], (1, 2, 3)),
    "frequency_penalty": (["0.2"], 0.2),
    "frequency_scope": (["all"], "all"),
    "frequency_window": (["64"], 64),
    "frequency_exclude": (["4"], (4,)),
    "presence_penalty": (["-0.3"], -0.3),
    "presence_scope": (["all"], "all"),
    "presence_window": (["64"], 64),
    "presence_exclude": (["5"], (5,)),
    "logit_bias": (["1=2.5", "3=-inf"], {1: 2.5, 3: float("-inf")}),
    "no_repeat_ngram": (["3"], 3),
    "dry_multiplier": (["0.8"], 0.8),
    "dry_base": (["2"], 2.0),
    "dry_allowed_length": (["3"], 3),
    "dry_window": (["64"], 64),
    "dry_breakers": (["[[2], [0, 1]]"], ((2,), (0, 1))),
    "bad_words": (["[[2], [0, 1]]"], ((2,), (0, 1))),
    "suppress": (["1", "2"], (1, 2)),
    "allowed_ids": (["0,1"], (0, 1)),
    "min_tokens": (["3"], 3),
    "min_keep": (["2"], 2),
    "order": (["temperature", ",".join(ALL_BUT_TEMPERATURE)], ("temperature", *ALL_BUT_TEMPERATURE)),
    "readings": (["top_k_ties,typical_ties"], ("top_k_ties", "typical_ties")),
    "seed": (["0"], 0),
}


@pytest.mark.parametrize("name", sorted(SamplingParams().to_dict()))
def test_every_parameter_has_a_flag_that_reaches_it(run, monkeypatch, name):
    """With a help text, and alone: the other fields keep their defaults."""
    typed, value = FLAGS[name]
    seen = []
    monkeypatch.setattr(cli, "stream", lambda _model, _prompt, params, **_: seen.append(params) or iter(()))
    flag = "--" + name.replace("_", "-")
    arguments = [part for item in typed for part in (flag, item)]
    run("generate", "今天", "--model", "scripted", *arguments)
    assert seen == [SamplingParams(**{name: value})]
    shown = testing.CliRunner(env={"COLUMNS": "200"}).invoke(cli.app, ["generate", "--help"]).output
    assert re.search(rf"{flag}\s+\S+\s+\S+ \S+", shown)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--top-p", "2"], r"--top-p must be in \(0, 1\] \(unset switches it off\), got 2.*"),
        (["--seed", "-1"], r"--seed must be .*, got -1"),
        (["--max-tokens", "0"], "--max-tokens must be an integer of at least 1, got 0"),
        (["-n", "0"], r"-n must be an integer in \[1, 65536\], got 0"),
        (["--stop", ""], r"--stop must be a string that is not empty, .*, got ''"),
        (["--deadline", "-1"], r"--deadline must be a number of seconds, 0 or more, got -1\.0"),
        (["--logit-bias", "3"], "--logit-bias must be ID=VALUE, got '3'"),
        (["--suppress", "1,x"], "--suppress must be token ids, got '1,x'"),
        (["--order", "top_p"], "--order must be every soft stage once, got missing: logit_bias.*"),
        (["--top-k", "5", "--mirostat", "2"], "--top-k must be unset beside --mirostat, .*, got 5"),
        (["--repetition-window", "0"], r"--repetition-window must be at least 1 \(unset for no limit\), got 0"),
        (["--top-k", "many"], ".*--top-k.*"),
        (["--top-q", "1"], ".*--top-q.*"),
    ],
)
def test_a_bad_parameter_is_one_line_and_exit_code_2(run, arguments, message):
    """On stderr, and nothing on stdout but the end of a line."""
    code, out, err = run("generate", "今天", "--model", "scripted", *arguments)
    assert (code, out.strip()) == (2, "")
    assert re.fullmatch(f"sortition: {message}\n", err)


@pytest.mark.parametrize(
    "arguments", [["--max-tokens", "0"], ["--stop", ""], ["--deadline", "-1"], ["-n", "0"], ["-n", "1000000000"]]
)
def test_a_bad_parameter_is_found_before_the_model_is_opened(run, arguments):
    """Which takes seconds, and here fails."""
    code, _, err = generate(run, *arguments, model="gone")
    assert (code, err.split()[:2]) == (2, ["sortition:", arguments[0]])


def test_every_flag_has_a_help_of_whole_sentences():
    """In the words of the command: flags, not fields of Python."""
    shown = testing.CliRunner(env={"COLUMNS": "400"}).invoke(cli.app, ["generate", "--help"]).output
    rows = [re.split(r" {2,}", line.strip("│ ")) for line in shown.splitlines() if line.startswith("│ --")]
    helps = {flag: re.sub(r" \[default: .*\]$", "", text) for flag, *_, text in rows if flag != "--help"}
    assert set(helps) >= {"--" + name.replace("_", "-") for name in SamplingParams().to_dict()}
    for flag, text in helps.items():
        assert re.fullmatch(r'["A-Z].*\.', text), (flag, text)
        assert not re.search(r"None|``|[a-z]_[a-z]", text), (flag, text)


def test_another_error_is_one_line_and_exit_code_1(run):
    """Here a model that is not there."""
    assert generate(run, model="gone") == (1, "", "sortition: no gone here\n")


def test_an_error_in_the_middle_comes_after_the_text_so_far(run):
    """On a line of its own, whatever the message has."""
    assert generate(run, model="failing") == (1, "今天天气\n", "sortition: the line is dead\n")


def test_an_unknown_model_lists_those_that_there_are(capfd):
    """It is a bad parameter."""
    assert cli.main(["generate", "x", "--model", "gpt-17"]) == 2
    assert capfd.readouterr().err == "sortition: --model must be one of 'smollm2', got 'gpt-17'\n"


def test_the_exit_codes_are_those_of_the_runner_too(monkeypatch):
    """Also when typer itself runs the app."""
    monkeypatch.setattr(cli, "load", models().__getitem__)
    runner = testing.CliRunner()
    good = runner.invoke(cli.app, ["generate", "今天", "--model", "scripted", "--temperature", "0"])
    bad = runner.invoke(cli.app, ["generate", "今天", "--model", "scripted", "--top-p", "2"])
    assert (good.exit_code, bad.exit_code) == (0, 2)
    assert "今天天气很好👍" in good.output


def test_info_says_what_runs_here(run):
    """As a table, and as JSON."""
    code, out, _ = run("info")
    assert code == 0
    for name, value in info().items():
        assert re.search(
            rf"^{name} +{re.escape(', '.join(value) if isinstance(value, list) else str(value))}", out, re.MULTILINE
        )
    assert strict_json(run("info", "--json")[1]) == info()


def test_a_table_is_refused_where_it_is_not_one():
    """The message names the flag and shows what was typed."""
    with pytest.raises(ValueError, match="--logit-bias must be ID=VALUE, got '1=2 3=x'"):
        sampling_params({"logit_bias": ["1=2", "3=x"]})


WAITING = """
import os, sys, threading
from sortition import __main__, cli
from sortition.models import PieceTokenizer, ScriptedModel

class Waiting(ScriptedModel):
    def forward(self, tokens, **options):
        if len(self.calls) == 2:
            print("waiting", file=sys.stderr, flush=True)
            sys.stdin.readline()
        return super().forward(tokens, **options)

def load(name):
    return Waiting([[1.0, 0.0]], repeat_last=True, tokenizer=PieceTokenizer(["好"]))

giving_up = threading.Timer(60, os._exit, [3])
giving_up.daemon = True
giving_up.start()
cli.load = load
sys.exit(__main__.main())
"""


@pytest.fixture
def waiting(start):
    """Start the command line in a process of its own, with a model that waits for a line after two tokens."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", WAITING, "generate", "好", "--temperature", "0"]
    return lambda *arguments: start([*command, *arguments], stdout=-1, env=environment)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
def test_ctrl_c_ends_with_what_there_is(waiting):
    """Text is out while the model still works; after the signal the status line says cancelled, and the code is 130."""
    process = waiting()
    assert process.stdout.read(6).decode() == "好好"
    assert process.stderr.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(b"\n", timeout=60)
    assert process.returncode == 130
    assert out.decode() == "好\n"  # the step that was under way
    assert re.fullmatch(r"3 tokens · .* · cancelled\n", err.decode())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
def test_ctrl_c_ends_json_with_a_whole_object(waiting):
    """Which says that it was cancelled."""
    process = waiting("--json")
    assert process.stderr.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(b"\n", timeout=60)
    assert process.returncode == 130
    value = strict_json(out.decode())
    assert (value["text"], value["finish_reason"]) == ("好好好", "cancelled")


@pytest.mark.skipif(os.name == "nt", reason="pipes break otherwise there")
def test_a_reader_that_goes_away_is_no_traceback(waiting):
    """As with `head`."""
    process = waiting()
    assert process.stderr.readline() == b"waiting\n"
    process.stdout.close()
    process.stdin.write(b"\n")
    process.stdin.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141


@pytest.mark.parametrize("missing", ["typer", "rich.console"])
def test_without_its_libraries_the_message_says_what_to_install(missing):
    """And the exit code is not zero."""
    code = f"import sys; sys.modules[{missing!r}] = None; from sortition.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == 'sortition: the command line needs typer and rich: pip install "sortition[cli]"\n'


def test_the_module_and_the_command_are_the_same():
    """`python -m sortition` prints what `sortition` prints."""
    assert callable(__main__.main)
    done = subprocess.run([sys.executable, "-m", "sortition", "info", "--json"], capture_output=True, check=True)
    assert strict_json(done.stdout) == info()
