"""The steps of the GitHub action do what its description says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from textwrap import dedent

import pytest

from tests.pytest_plugin.toy_engine import write_toy_engine
from tests.repository.sources import ROOT

pytestmark = pytest.mark.turns(2)

ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "how-to" / "grade-in-ci.md").read_text(encoding="utf-8")


def step(name: str) -> str:
    """The script of a step: the block below its ``run``."""
    match = re.search(rf"- name: {name}\n.*?run: \|\n(?P<script>(?: {{8}}[^\n]*\n)+)", ACTION, re.DOTALL)
    assert match is not None
    return dedent(match["script"])


def inputs() -> set[str]:
    return set(re.findall(r"^  (\w+):$", ACTION.partition("inputs:")[2].partition("runs:")[0], re.MULTILINE))


def run_step(name: str, folder: Path, path: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Run a step as the action does, with programs of a folder before all others."""
    environment = os.environ | given | {"PATH": f"{path}:{os.environ['PATH']}"}
    return subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)],
        cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


@pytest.mark.slow
def test_what_the_action_installs_grades_an_engine(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    given = {"REQUIREMENTS": "packaging\n", "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(tmp_path)}
    installed = run_step("Install refgrad", tmp_path, programs, **given)
    if "No matching distribution" in installed.stderr:
        pytest.skip("needs an index of packages")
    assert installed.returncode == 0, installed.stderr
    write_toy_engine(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.refgrad]\nselect = ["operators/multiply"]\n')
    given = {"ENGINE": "toy:WRONG", "PROFILE": "smoke", "EXPECT": "", "OUTPUT": "out", "GITHUB_ACTIONS": "true"}
    graded = run_step("Grade", tmp_path, programs, **given, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))
    assert graded.returncode == 1, graded.stderr
    assert "\n::error title=wrong" in graded.stdout
    assert "operators/multiply" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize(("expect", "status"), [("", 1), ("known.toml", 0)])
def test_the_step_that_grades_tells_what_is_wrong_and_accepts_what_is_known(
    tmp_path: Path, expect: str, status: int
) -> None:
    write_toy_engine(tmp_path)
    (tmp_path / "known.toml").write_text('[[known_failure]]\nid = "operators/multiply"\nreason = "lopsided"\n')
    (tmp_path / "pyproject.toml").write_text('[tool.refgrad]\nselect = ["operators/multiply"]\n')
    (tmp_path / "refgrad").write_text(f'#!/bin/bash\nexec "{sys.executable}" -m refgrad "$@"\n')
    (tmp_path / "refgrad").chmod(0o755)
    given = {"ENGINE": "toy:WRONG", "PROFILE": "smoke", "EXPECT": expect, "OUTPUT": "a folder"}
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = run_step("Grade", tmp_path, tmp_path, **given, **github)
    assert done.returncode == status, done.stderr
    assert ("\n::error title=wrong" in done.stdout) is bool(status)
    assert (tmp_path / "a folder" / "wrong.json").exists()
    assert ("Known failures: 1." in (tmp_path / "summary.md").read_text()) is not bool(status)


def test_no_input_becomes_a_part_of_a_script() -> None:
    scripts = re.findall(r"run: \|\n((?: {8}.*\n)+)", ACTION)
    assert len(scripts) == 2
    assert [script for script in scripts if "${{" in script] == []
    assert inputs() == {"engine", "requirements", "profile", "expect", "output"}
    assert {name for name in inputs() if f"${{{{ inputs.{name} }}}}" not in ACTION} == set()


def test_the_workflow_of_the_guide_has_ten_lines_and_gives_inputs_that_there_are() -> None:
    [workflow] = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    assert len(workflow.splitlines()) <= 10
    given = re.search(r"with: \{(.*)\}", workflow)
    assert given is not None
    assert set(re.findall(r"(\w+): ", given[1])) <= inputs()
