"""An adapter in a module of the user is imported in a process of its own, and is data to all others."""

from __future__ import annotations

import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from refgrad.cli import main
from refgrad.errors import EngineStartError
from refgrad.lifecycle import Policy
from refgrad.native.adapter import AdapterError, TapeAdapter, find_adapter
from refgrad.native.adapter.registry import adapter_data, adapter_of
from refgrad.native.engine import Isolation, launch
from refgrad.native.engine_names import registered_engines, shipped_engines
from refgrad.native.runner import LocalRunner, ProcessRunner

ENDINGS = {
    "leaves": ("import os\nos._exit(0)", "the process ended with exit status 0"),
    "segfaults": ("import ctypes\nctypes.string_at(0)", "the process was ended by signal 11 (SIGSEGV)"),
    "is_killed": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "the process was ended by signal 9 (SIGKILL)",
    ),
    "becomes_another": ("import os\nos.execv('/bin/true', ['true'])", "the process ended with exit status 0"),
    "closes_everything": ("import os\nos.closerange(0, 256)\nos._exit(3)", "the process ended with exit status 3"),
    "never_ends": ("while True:\n    pass", "gave no answer within 2 s, and was busy"),
    "sleeps": ("import time\ntime.sleep(1000)", "gave no answer within 2 s, and was waiting"),
}

RIGHT = """
from refgrad import TapeAdapter
ADAPTER = TapeAdapter(
    name="mine", setup="import {module}_engine as me", leaf="me.Leaf({{array}})", value="{{x}}.data",
    backward="{{output}}.backward({{seed}})", gradient="{{leaf}}.grad", operators={{"add": "{{x}} + {{y}}"}},{more}
)
"""

COUNTING = "with open('imports', 'a') as file:\n    file.write('x')\n"


def write(folder: Path, module: str, first: str = "", more: str = "") -> str:
    """Write a module with a right adapter after some first lines, and return the adapter's name."""
    (folder / f"{module}.py").write_text(first + RIGHT.format(module=module, more=more), encoding="utf-8")
    return f"{module}:ADAPTER"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.disturbed
@pytest.mark.parametrize("name", ENDINGS)
def test_an_import_that_ends_its_process_is_an_engine_that_cannot_be_started(folder: Path, name: str) -> None:
    source, message = ENDINGS[name]
    engine = f"import_that_{name}:ADAPTER"
    (folder / f"import_that_{name}.py").write_text(source, encoding="utf-8")
    with pytest.raises(EngineStartError) as raised:
        find_adapter(engine, 2.0)
    assert str(raised.value) == f"engine {engine!r} cannot be started: its adapter's import: {message}"


def test_a_grade_of_such_an_adapter_is_one_line_and_status_3(folder: Path) -> None:
    (folder / "slow_import.py").write_text("import time\ntime.sleep(1000)\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["grade", "slow_import:ADAPTER", "--start-limit", "2"])
    assert result.exit_code == 3
    assert result.stderr.splitlines() == [
        (
            "Error: engine 'slow_import:ADAPTER' cannot be started: its adapter's import: "
            "gave no answer within 2 s, and was waiting"
        )
    ]


@pytest.mark.parametrize("name", shipped_engines())
def test_an_adapter_is_the_same_once_it_was_data(name: str) -> None:
    adapter = find_adapter(name)
    again = adapter_of(adapter_data(adapter))
    assert type(again) is type(adapter)
    assert {each.name: getattr(again, each.name) for each in fields(again)} == {
        each.name: getattr(adapter, each.name) for each in fields(adapter)
    }
    assert again.features == adapter.features


def test_policy_and_declarations_survive(folder: Path) -> None:
    more = """
    policy=__import__("refgrad").Policy(frees="never", implicit_seed="ones"), lacks=frozenset({"error:no-graph"}),
    dtypes=("float64", "float32"), refusals=("ValueError: no gradient",), aliases={"add": ("me.add({x}, {y})",)},"""
    adapter = find_adapter(write(folder, "with_policy", more=more))
    assert isinstance(adapter, TapeAdapter)
    assert adapter.policy == Policy(frees="never", implicit_seed="ones")
    assert (adapter.lacks, adapter.dtypes) == (frozenset({"error:no-graph"}), ("float64", "float32"))
    assert adapter.aliases == {"add": ("me.add({x}, {y})",)}


@pytest.mark.disturbed
@pytest.mark.parametrize(
    "first",
    [
        "import atexit, time\natexit.register(time.sleep, 100000)\n",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(100000,)).start()\n",
        "import sys\nassert not sys.stdin.read()\n",
        "import os, subprocess\nsubprocess.Popen(['sleep', '100000'], start_new_session=True)\n",
        "print('printed at import')\n",
    ],
)
def test_what_a_module_does_when_it_is_imported_reaches_no_other_process(folder: Path, first: str) -> None:
    module = f"doing_{abs(hash(first))}"
    started = time.monotonic()
    assert find_adapter(write(folder, module, first)).name == "mine"
    assert module not in sys.modules
    assert time.monotonic() - started < 60.0


def test_a_module_is_imported_once(folder: Path) -> None:
    name = write(folder, "counted", COUNTING)
    assert find_adapter(name).name == find_adapter(name).name == "mine"
    assert (folder / "imports").read_text(encoding="utf-8") == "x"


def test_a_module_that_the_process_has_imported_is_not_imported_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write(folder, "imported_before", COUNTING)
    monkeypatch.syspath_prepend(folder)
    __import__("imported_before")
    assert find_adapter(name).name == "mine"
    assert (folder / "imports").read_text(encoding="utf-8") == "x"
    del sys.modules["imported_before"]


def test_only_the_reference_engine_runs_in_the_process_of_the_grader(folder: Path) -> None:
    more = '\n    distribution="refgrad",'
    name = write(folder, "claiming_to_be_refgrad", more=more)
    (folder / "claiming_to_be_refgrad_engine.py").write_text("", encoding="utf-8")
    claiming = launch(find_adapter(name), Isolation()).runner
    assert isinstance(claiming, ProcessRunner)
    claiming.stop()
    assert isinstance(launch(find_adapter("refgrad"), Isolation()).runner, LocalRunner)


def test_a_malformed_adapter_is_one_error(folder: Path) -> None:
    name = write(folder, "malformed", more='\n    dtype="float63",')
    with pytest.raises(AdapterError, match=r"^adapter 'mine': dtypes: 'float63' is not among "):
        find_adapter(name)
    assert "mine" not in registered_engines()
