"""An adapter whose import ends the process, or never ends, is told before anything of refgrad depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from refgrad.cli import main
from refgrad.native.adapter import try_import

ENDINGS = {
    "leaves": ("import os\nos._exit(0)", "status 0"),
    "segfaults": ("import ctypes\nctypes.string_at(0)", "status -11"),
    "is_killed": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "status -9"),
    "becomes_another": ("import os\nos.execv('/bin/true', ['true'])", "status 0"),
    "closes_everything": ("import os\nos.closerange(0, 256)\nos._exit(3)", "status 3"),
    "never_ends": ("while True:\n    pass", "longer than"),
}
RAISES = {
    "raises": "raise ValueError('no')",
    "exits": "import sys\nsys.exit(0)",
    "is_interrupted": "raise KeyboardInterrupt",
    "is_right": "ADAPTER = None",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {**{name: text for name, (text, _) in ENDINGS.items()}, **RAISES}.items():
        (tmp_path / f"trial_{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.usefixtures("folder")
def test_what_ends_the_process_is_told(name: str) -> None:
    assert ENDINGS[name][1] in try_import(f"trial_{name}:ADAPTER", seconds=2.0)


@pytest.mark.parametrize("name", RAISES)
@pytest.mark.usefixtures("folder")
def test_what_is_raised_is_left_to_the_import_itself(name: str) -> None:
    assert not try_import(f"trial_{name}:ADAPTER")


@pytest.mark.usefixtures("folder")
def test_a_grade_of_such_an_adapter_is_one_line_and_status_3() -> None:
    result = CliRunner().invoke(main, ["grade", "trial_segfaults:ADAPTER"])
    assert result.exit_code == 3
    assert result.stderr.splitlines() == [
        "Error: engine 'trial_segfaults:ADAPTER' cannot be started: its import ended the process with status -11"
    ]


def test_only_modules_are_tried() -> None:
    assert not try_import("refgrad")
    assert not try_import("some/path:odd.toml")
