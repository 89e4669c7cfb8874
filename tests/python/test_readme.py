"""The code of the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, str(README), "exec"), names)  # noqa: S102 - that it runs is the promise
    return names


def test_there_is_code_to_run() -> None:
    assert len(BLOCKS) == 3


def test_the_first_lines_draw_tokens() -> None:
    names = run(BLOCKS[0])
    assert f"# {names['token']}, which is 特别" in BLOCKS[0]
    assert len(names["draw"].top) == 3
    assert names["tokens"].shape == (64,)


def test_the_batch_serves_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    names = run(BLOCKS[1])
    assert names["draws"].tokens.tolist() == [names["logits"][5].argmax(), -1]
    assert names["draws"].top_ids.shape == (2, 3)
    assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)", BLOCKS[1], re.MULTILINE)


def test_the_loop_prints_what_the_comment_says(capsys: pytest.CaptureFixture[str]) -> None:
    run(BLOCKS[2])
    assert capsys.readouterr().out in re.findall(r"# (.*)", BLOCKS[2])
