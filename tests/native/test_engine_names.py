"""Why an engine's name is unknown, and what a name on the command line stands for, without loading an adapter."""

from pathlib import Path

import pytest

from refgrad.native.engine_names import is_file, is_importable, unknown_engine


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.toml").touch()
    (tmp_path / "own_module.py").touch()
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["torch", "refgrad", "mine.toml", "./mine.toml", "any:thing", f"{'x' * 300}.toml"])
def test_a_name_that_may_be_an_engine(name: str) -> None:
    assert unknown_engine(name) == ""


def test_a_file_that_does_not_exist(here: Path) -> None:
    assert unknown_engine("other.toml") == f"{here / 'other.toml'}: there is no such file"


def test_a_name_without_an_engine_is_compared_with_those_that_exist() -> None:
    message = unknown_engine("torhc")
    assert message.startswith("there is no engine 'torhc', did you mean 'torch'? there are: adolc, ")
    assert message.endswith(
        "; your own is named as module:object, or as the path of an engine file .toml (see `refgrad new`)"
    )
    assert unknown_engine("zzz").startswith("there is no engine 'zzz'; there are: adolc, ")


@pytest.mark.parametrize(
    ("text", "file"),
    [("own_module.py", True), ("any/where.py", True), ("./folder", True), ("folder", False), ("./none", False)],
)
def test_a_file_or_the_folder_of_a_package_is_told_from_a_module(text: str, *, file: bool) -> None:
    assert is_file(text) is file


@pytest.mark.parametrize(
    ("module", "importable"),
    [("own_module", True), ("json", True), ("json.decoder", True), ("no_such_module", False), ("no-module", False)],
)
def test_a_module_is_importable_here(module: str, *, importable: bool) -> None:
    assert is_importable(module) is importable
