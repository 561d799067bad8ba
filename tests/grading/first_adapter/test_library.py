"""A library is imported once, by what is given or before it, from the folder that its file is in.

It is tried with whatever it has, whichever its policy turns out to be.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refgrad.errors import UserError
from refgrad.grading.first_adapter.library import LibraryModules, StartedLibrary, _public
from refgrad.grading.trials import KINDS
from refgrad.lifecycle import Policy
from refgrad.native.engine import start
from refgrad.native.engine_names import is_importable
from refgrad.native.runner import ProcessRunner
from refgrad.operators import operator_table
from refgrad.scenario import parse
from tests.native.reference import ADAPTER


@pytest.mark.parametrize(
    ("code", "imports"),
    [
        ("", ["import me", "import me.nn"]),
        ("def leaf(x): ...", ["import me", "import me.nn"]),
        ("import me.nn", []),
        ("import me", ["import me.nn"]),
        ("import me as m\nfrom me import nn", ["import me", "import me.nn"]),
        ("import men", ["import me", "import me.nn"]),
        ("no Python", ["import me", "import me.nn"]),
    ],
)
def test_setup_code_of_the_user_follows_the_imports_that_it_lacks(code: str, imports: list[str]) -> None:
    setup = LibraryModules("me", ("me", "me.nn"), "python").setup(code)
    assert setup.splitlines() == [*imports, *code.splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with engines in it, beneath it and in a package."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner" / "package").mkdir(parents=True)
    for name in ("mine.py", "my-engine.py", "1_start.py", "inner/_tape.py", "inner/package/__init__.py"):
        (tmp_path / name).touch()
    (tmp_path / "inner" / "package" / "engine.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("source", "name", "setup"),
    [
        ("./mine.py", "mine", "import mine"),
        ("{folder}/mine.py", "mine", "import mine"),
        ("./my-engine.py", "my_engine", "my_engine = __import__('my-engine')"),
        ("1_start.py", "1_start", "_1_start = __import__('1_start')"),
        ("inner/_tape.py", "tape", "import sys\nsys.path.insert(0, '{folder}/inner')\nimport _tape"),
        ("inner/../mine.py", "mine", "import mine"),
        ("inner/package/", "package", "import sys\nsys.path.insert(0, '{folder}/inner')\nimport package"),
        (
            "inner/package/engine.py",
            "engine",
            "import sys\nsys.path.insert(0, '{folder}/inner')\nimport package.engine",
        ),
        ("package.engine", "package", "import package.engine"),
    ],
)
def test_a_file_is_imported_from_its_folder_and_names_its_engine(
    folder: Path, source: str, name: str, setup: str
) -> None:
    library = LibraryModules.of([source.format(folder=folder)], None, "python")
    assert (library.name, library.setup()) == (name, setup.format(folder=folder))


def test_a_name_of_the_users_own_names_the_engine(folder: Path) -> None:
    assert LibraryModules.of([str(folder / "mine.py")], "hers", "python").name == "hers"


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match=r"^nothing\.py: there is no such file$"):
        LibraryModules.of(["nothing.py"], None, "python")


@pytest.mark.parametrize(
    ("module", "exists"),
    [("mine", True), ("mine.part", True), ("textwrap", True), ("my-engine", False), ("no_such", False)],
)
@pytest.mark.usefixtures("folder")
def test_a_module_is_searched_in_the_current_folder_too(module: str, *, exists: bool) -> None:
    assert is_importable(module) is exists


TWICE = parse("""
x = leaf float64[] {0x1p+0} requires_grad
a = exp x
backward a retain_graph
backward a
read grad x
""")


@pytest.mark.parametrize(
    ("changes", "runnable"),
    [
        ({}, True),
        ({"policy": Policy(accumulates="replaces")}, True),
        ({"operators": {"sin": "torch.sin({x})"}, "aliases": {}, "alike": ()}, False),
        ({"lacks": frozenset({"seed"})}, True),
    ],
)
def test_what_follows_from_a_policy_is_tried_before_that_is_known(changes: Any, *, runnable: bool) -> None:
    assert StartedLibrary(replace(ADAPTER, **changes)).runnable(TWICE) is runnable


def test_what_a_library_lacks_is_not_tried() -> None:
    detached = parse("x = leaf float64[] {0x1p+0} requires_grad\na = detach x\n")
    assert StartedLibrary(ADAPTER).runnable(detached)
    assert not StartedLibrary(replace(ADAPTER, lacks=frozenset({"detach"}))).runnable(detached)


@pytest.mark.parametrize(
    ("name", "scalars_only", "there"), [("exp", True, True), ("sum", True, False), ("sum", False, True)]
)
def test_a_library_of_scalars_has_only_elementwise_operators(name: str, *, scalars_only: bool, there: bool) -> None:
    started = StartedLibrary(replace(ADAPTER, scalars_only=scalars_only))
    assert started.has(operator_table()[name]) is there


@pytest.mark.parametrize(("gradient", "kinds"), [("{leaf}.grad.numpy()", 5), ("np.full({leaf}.shape, 7.0)", 0)])
def test_a_gradient_that_is_right_only_for_empty_arrays_does_not_count(gradient: str, kinds: int) -> None:
    setup = f"{ADAPTER.setup}\nimport numpy as np\n"
    started = StartedLibrary(replace(ADAPTER, setup=setup, gradient=gradient))
    assert len(started.kinds_differentiated(KINDS)) == kinds


@pytest.mark.parametrize(
    ("text", "kept"),
    [("torch.exp({x}.detach())", False), ("cut({x})", True), ("torch.exp({x}) * 2", True)],
)
def test_a_missing_gradient_of_a_result_that_requires_grad_is_left_to_the_report(text: str, *, kept: bool) -> None:
    cut = "def cut(x):\n    y = torch.exp(x.detach())\n    y.requires_grad = x.requires_grad\n    return y\n"
    started = StartedLibrary(replace(ADAPTER, setup=f"{ADAPTER.setup}\n{cut}"))
    assert started.differentiates(operator_table()["exp"], text, list(KINDS)) is kept


def test_a_spelling_that_takes_only_numbers_is_not_one_of_arrays() -> None:
    started = StartedLibrary(ADAPTER)
    text = "torch.sum({x}, {axis}, {keepdims}) if {x}.ndim == 0 else [][1]"
    assert not started.computes(operator_table()["sum"], text, list(KINDS))
    assert started.computes(operator_table()["sum"], "torch.sum({x}, {axis}, {keepdims})", list(KINDS))


@pytest.mark.parametrize(("function", "computes"), [("stale", True), ("wrong", False)])
def test_a_spelling_that_an_earlier_program_made_wrong_is_kept(function: str, *, computes: bool) -> None:
    setup = """
calls = []
def stale(x):
    calls.append(x)
    return torch.exp(calls[max(0, len(calls) - 8)])
def wrong(x):
    return torch.exp(x) + 1
"""
    engine = start(replace(ADAPTER, setup=ADAPTER.setup + setup), sys.executable)
    assert isinstance(engine.runner, ProcessRunner)
    try:
        started = StartedLibrary(engine.adapter, engine.runner)
        assert started.computes(operator_table()["exp"], f"{function}({{x}})", list(KINDS)) is computes
    finally:
        engine.runner.stop()


def test_public_members_of_other_kinds_are_left_out() -> None:
    members: list[tuple[str, str, list[str]]] = [
        ("Leaf", "class", []),
        ("_Node", "class", []),
        ("exp", "function", []),
        ("_log", "function", []),
    ]
    assert _public(members, "class") == ["Leaf"]
    assert _public(members, "class", "function") == ["Leaf", "exp"]
