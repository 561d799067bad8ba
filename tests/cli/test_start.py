"""A command loads what it works with, and nothing before it is known that there is work to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.repository.isolation import HEAVY, run_python
from tests.repository.sources import ROOT

LIBRARIES = tuple(name for name in HEAVY if name != "click")  # which reads every command line
PARTS = ("refgrad.operators", "refgrad.scenario", "refgrad.native.adapter", "refgrad.pytest_plugin", "refgrad.report")

COMMANDS = """
import contextlib, io, json, sys
from refgrad.cli import main
for arguments in {commands!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(arguments, prog_name="refgrad")
            status = None
        except SystemExit as end:
            status = end.code
    print(json.dumps([status, sorted(sys.modules)]))
"""


def ended(*commands: list[str]) -> list[tuple[int, set[str]]]:
    """How each of these commands ended, one after the other in one interpreter, and what was loaded by then."""
    lines = run_python(COMMANDS.format(commands=commands)).splitlines()
    return [(status, set(modules)) for status, modules in map(json.loads, lines)]


def test_help_and_wrong_usage_load_nothing() -> None:
    expected = {
        ("--help",): 0,
        ("--version",): 0,
        ("grade", "--help"): 0,
        ("run", "--help"): 0,
        ("nonsense",): 2,
        ("grade",): 2,
        ("grade", "nonsense"): 2,
        ("grade", "./no_such_engine.toml"): 2,
        ("coverage", "nonsense"): 2,
        ("check", "functions:right"): 2,
        ("check", "functions:right", "--inputs", "functions:inputs", "--engine", "nonsense"): 2,
        ("mutate", "layer:gradient"): 2,
        ("run", "-", "--engine", "nonsense"): 2,
        ("run", "no_such_file", "--engine", "refgrad"): 2,
        ("confirm", "no_such_file.json"): 2,
        ("report", "no_such_folder"): 2,
        ("list", "nonsense"): 2,
    }
    found = dict(zip(expected, ended(*map(list, expected)), strict=True))
    assert {command: status for command, (status, _) in found.items()} == expected
    loaded = {command: modules.intersection(LIBRARIES + PARTS) for command, (_, modules) in found.items()}
    assert {command: modules for command, modules in loaded.items() if modules} == {}


def test_a_command_loads_no_library_that_it_does_not_need(tmp_path: Path) -> None:
    shutil.copy(ROOT / "reports" / "refgrad.json", tmp_path)
    needed = {
        ("list", "operators"): {"numpy", "jsonschema_rs"},
        ("list", "features"): {"numpy", "jsonschema_rs"},
        ("list", "engines"): {"numpy", "jsonschema_rs"},
        ("list", "checks"): {"numpy", "jsonschema_rs", "flint"},
        ("confirm", str(tmp_path / "refgrad.json")): {"numpy", "jsonschema_rs", "flint"},
        ("report", str(tmp_path)): {"numpy", "jsonschema_rs", "flint", "jinja2"},
    }
    found = dict(zip(needed, ended(*map(list, needed)), strict=True))
    assert {status for status, _ in found.values()} == {0}
    assert {command: modules.intersection(LIBRARIES) for command, (_, modules) in found.items()} == needed
