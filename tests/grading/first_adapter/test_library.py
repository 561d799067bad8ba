"""A library is imported once, by what is given or before it, from the folder that its file is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from refgrad.errors import UserError
from refgrad.grading.first_adapter.library import LibraryModules
from refgrad.native.engine_names import is_importable


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
