"""Do the examples of the pages on checks of gradients run, and print what the pages show?"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.turns(2)

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.mark.engines
@pytest.mark.parametrize("name", ["check-your-own-function", "check-a-kernel", "check-a-solver", "check-a-custom-vjp"])
def test_the_examples_print_what_the_page_shows(name: str) -> None:
    library = "jax" if name == "check-a-custom-vjp" else "torch"
    pytest.importorskip(library, reason=f"needs refgrad[{library}]")
    page = HOW_TO / f"{name}.md"
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    printed: list[str] = []
    namespace: dict[str, Any] = {"print": lambda value: printed.append(str(value))}
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, str(page), "exec"), namespace)
    shown = [text.rstrip("\n") for kind, text in blocks if kind == "text"]
    assert [without_multiples(text) for text in printed] == [without_multiples(text) for text in shown]


def without_multiples(text: str) -> str:
    """Replace what rounding explains: it depends on the processor, and an oracle may come to know better."""
    text = re.sub(r"\S+(?= times what rounding)", "many", text)
    return re.sub(r"(?<=errors above )\S+|\S+%(?= is explained)", "some", text)


def files_and_commands(page: Path) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the files of a page, which begin with their name, and the commands with what they print."""
    text = page.read_text(encoding="utf-8")
    files = re.findall(r"```python\n# (\S+\.py)\n(.*?)```", text, re.DOTALL)
    return dict(files), re.findall(r"```console\n\$ (.*?)\n(.*?)```", text, re.DOTALL)


@pytest.mark.engines
@pytest.mark.parametrize(
    "name", ["check-your-own-function", pytest.param("grade-your-gradient-tests", marks=pytest.mark.slow)]
)
def test_the_commands_print_what_the_page_shows(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs refgrad[torch]")
    files, commands = files_and_commands(HOW_TO / f"{name}.md")
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    for command, printed in commands:
        words = shlex.split(command.replace("-- pytest", f"-- {sys.executable} -m pytest"))
        done = subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=False, capture_output=True, text=True)
        assert done.stdout == printed, done.stderr
    assert commands
