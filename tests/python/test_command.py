"""The command as a process: how it ends while it loads, when it is interrupted, and when nobody reads it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sortition

pytest.importorskip("typer", reason="the command line needs the extra cli")

SCRIPT = "import sys\nfrom sortition.__main__ import main\nsys.exit(main())\n"
NO_SIGNALS = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process, nor such pipes")

# The command with a model of one piece that never ends by itself; `load` is what a case makes of it.
SCRIPTED = """
import sys
from sortition import __main__, cli
from sortition.models import PieceTokenizer, ScriptedModel

def load(name):
    {before}
    return ScriptedModel([[1.0, 0.0]], repeat_last=True, tokenizer=PieceTokenizer(["好"]))

cli.load = load
sys.exit(__main__.main())
"""
GENERATE = ["generate", "好", "--temperature", "0", "--max-tokens"]


@pytest.fixture(params=["module", "script"])
def command(request, tmp_path):
    """The two ways to start it: `python -m sortition`, and a script by the name that an installer writes."""
    if request.param == "module":
        return [sys.executable, "-m", "sortition"]
    (tmp_path / "sortition").write_text(SCRIPT, encoding="utf-8")
    return [sys.executable, str(tmp_path / "sortition")]


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def buffering(request, monkeypatch):
    """A buffer that cannot be emptied is seen again when the interpreter ends."""
    monkeypatch.setenv("PYTHONUNBUFFERED", request.param)


def scripted(*arguments, before="pass"):
    return [sys.executable, "-c", SCRIPTED.format(before=before), *GENERATE, *arguments]


def ended(command, **options):
    done = subprocess.run(command, capture_output=True, check=False, timeout=120, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


BAD_SETTINGS = [
    ("SORTITION_NUM_THREADS", "many", r"SORTITION_NUM_THREADS must be an integer in \[1, 1024\], got 'many'"),
    ("SORTITION_NUM_THREADS", "0", r"SORTITION_NUM_THREADS must be an integer in \[1, 1024\], got '0'"),
    ("SORTITION_ISA", "mmx", "SORTITION_ISA must be one of .* on this CPU, got 'mmx'"),
    *([] if os.name == "nt" else [("SORTITION_ISA", "\udcff", r"SORTITION_ISA must be .*, got '\\udcff'")]),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD_SETTINGS)
def test_a_bad_setting_in_the_environment_is_one_line_and_exit_code_2(command, name, value, message):
    """Although it is seen while the package is imported."""
    code, out, err = ended([*command, "info"], env={**os.environ, name: value})
    assert (code, out) == (2, "")
    assert re.fullmatch(f"sortition: {message}\n", err)


@pytest.mark.parametrize(("name", "value", "message"), BAD_SETTINGS)
def test_to_a_program_a_bad_setting_is_an_exception(name, value, message):
    """Even if `sortition` is an argument of it."""
    program = [sys.executable, "-c", "import sortition", "sortition", "-m", "sortition"]
    code, _, err = ended(program, env={**os.environ, name: value})
    assert code == 1
    assert re.search(f"ParameterError: {message}\n$", err)


def test_a_program_keeps_its_ctrl_c():
    """Importing the package changes no handler."""
    program = "import signal, sortition; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert ended([sys.executable, "-c", program])[1].strip() == "True"


@NO_SIGNALS
@pytest.mark.parametrize("library", ["numpy", "typer"])
def test_ctrl_c_while_it_loads_ends_it_quietly(start, command, library, tmp_path):
    """Here at the import of the first library and of the last, which wait for it."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    waiting = "import sys\nprint('waiting', flush=True)\nsys.stdin.read()\n"
    (folder / f"{library}.py").write_text(waiting, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    process = start([*command, "info"], stdout=-1, env=environment)
    assert process.stdout.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 130


@NO_SIGNALS
def test_ctrl_c_while_the_model_loads_ends_it_quietly(start):
    """What the loading had begun is cleaned up, as by any exception."""
    before = """
    try:
        print("waiting", flush=True)
        sys.stdin.read()
    finally:
        print("cleaned up", flush=True)
    """
    process = start(scripted("3", before=before), stdout=-1)
    assert process.stdout.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == (b"cleaned up\n", b"", 130)


@NO_SIGNALS
@pytest.mark.parametrize("arguments", [["--max-tokens", "40000"], ["--max-tokens", "40000", "--json"]])
@pytest.mark.usefixtures("buffering")
def test_a_reader_that_has_enough_ends_it_as_a_broken_pipe_does(start, arguments):
    """As with `head -c 10`, and nothing is said."""
    process = start(scripted("3", *arguments), stdout=-1)
    assert len(process.stdout.read(10)) == 10
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141


def test_a_broken_pipe_of_the_model_is_an_error_like_another():
    """The output is there, and shows what happened."""
    code, out, err = ended(scripted("3", before='raise BrokenPipeError("the line is dead")'))
    assert (code, out, err) == (1, "", "sortition: the line is dead\n")


@NO_SIGNALS
@pytest.mark.parametrize("arguments", [["info"], ["info", "--json"], ["--help"], ["generate", "--help"], ["--version"]])
@pytest.mark.usefixtures("buffering")
def test_a_reader_that_was_never_there_is_no_traceback(start, command, arguments):
    """Whatever was to be printed."""
    reading, writing = os.pipe()
    os.close(reading)
    process = start([*command, *arguments], stdout=writing)
    os.close(writing)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 141


@NO_SIGNALS
@pytest.mark.usefixtures("buffering")
def test_text_that_cannot_be_written_is_no_success(command):
    """A closed standard output, and a full disk."""
    code, _, err = ended(["sh", "-c", '"$@" >&-', "sh", *command, "info"])
    assert (code, err) == (1, "sortition: the standard output is closed\n")
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    code, _, err = ended(["sh", "-c", '"$@" >/dev/full', "sh", *command, "info"])
    assert code == 1
    assert re.fullmatch(r"sortition: .*No space left on device\n", err)


def test_errors_do_not_go_to_the_output_when_there_is_no_place_for_them(command):
    """Nor does the line about the text."""
    if os.name == "nt":
        pytest.skip("there is no sh")
    assert ended(["sh", "-c", '"$@" 2>&-', "sh", *command, "generate", "x", "--top-p", "2"]) == (2, "", "")
    assert ended(["sh", "-c", '"$@" 2>&-', "sh", *scripted("2")]) == (0, "好好\n", "")


def test_the_version_is_that_of_the_package(command):
    """On the standard output."""
    assert ended([*command, "--version"]) == (0, f"sortition {sortition.info()['version']}\n", "")


def test_alone_it_says_how_it_is_used(command):
    """As an error: nothing was asked for."""
    code, out, err = ended(command)
    assert (code, err) == (2, "")
    assert out.rstrip() == ended([*command, "--help"])[1].rstrip()
    assert "Usage: sortition [OPTIONS] COMMAND [ARGS]..." in out


LOCALES = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "standard streams in ISO 8859-1": {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"},
}


@pytest.mark.parametrize("prompt", ["今天😀", "-"])
@pytest.mark.parametrize("locale", LOCALES)
def test_text_is_utf_8_whatever_the_locale_says(locale, prompt):
    """That of the arguments, of the standard input, and what is printed. The program itself must be ASCII there."""
    program = SCRIPTED.format(before="pass").replace('["好"]', ascii(["今天😀"]))
    command = [sys.executable, "-c", program, "generate", prompt, "--temperature", "0", "--max-tokens", "2"]
    code, out, _ = ended(command, input="今天😀".encode(), env={**os.environ, **LOCALES[locale]})
    assert (code, out.strip()) == (0, "今天😀今天😀")
