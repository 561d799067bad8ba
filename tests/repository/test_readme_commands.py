"""CI runs the very commands that README.md gives."""

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from refgrad.cli import main
from tests.repository.sources import ROOT


@pytest.fixture(scope="module")
def readme_command() -> ModuleType:
    specification = importlib.util.spec_from_file_location("readme_command", ROOT / ".ci" / "readme_command.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_readme_marks_the_command_that_grades_and_the_one_that_tests(readme_command: ModuleType) -> None:
    marked = readme_command.commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "refgrad grade" in marked["grade"]
    assert "pytest" in marked["tests"]


def test_ci_takes_the_test_command_from_readme() -> None:
    assert "readme_command tests" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_a_command_is_the_fenced_block_below_its_marker(readme_command: ModuleType) -> None:
    text = "words\n\n<!-- command: a -->\n```bash\none\ntwo\n```\nwords\n```bash\nthree\n```\n"
    assert readme_command.commands(text) == {"a": "one\ntwo\n"}


def test_a_command_that_is_marked_twice_is_an_error(readme_command: ModuleType) -> None:
    block = "<!-- command: a -->\n```bash\none\n```\n"
    with pytest.raises(SystemExit, match="twice"):
        readme_command.commands(block + block)


@pytest.mark.engines
def test_the_report_that_readme_explains_is_what_grade_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("autograd", reason="needs refgrad[autograd]")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"what `(refgrad grade autograd .*)` prints", text)
    (report,) = re.findall(r"```\n(wrong: .*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    assert report in CliRunner().invoke(main, [*shlex.split(command)[1:], "--workers", "1"]).stdout
