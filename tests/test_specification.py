"""Are the specifications found in a checkout, in an installed wheel and where the environment says?"""

import shutil
from pathlib import Path

import pytest

from refgrad import specification
from refgrad.specification import OVERRIDE, SpecificationNotFoundError, specs_directory


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a package `refgrad` seems to lie, with no specifications around it."""
    monkeypatch.delenv(OVERRIDE, raising=False)
    package = tmp_path / "refgrad"
    package.mkdir()
    monkeypatch.setattr(specification, "__file__", str(package / "specification.py"))
    return tmp_path


def test_a_checkout_has_them_at_its_top(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OVERRIDE, raising=False)
    assert list(specs_directory().glob("operators/*.toml"))


def test_a_checkout_is_recognized(elsewhere: Path) -> None:
    (elsewhere / "specs" / "operators").mkdir(parents=True)
    assert specs_directory() == (elsewhere / "specs").resolve()


def test_a_wheel_has_them_inside_the_package_and_these_come_first(elsewhere: Path) -> None:
    (elsewhere / "specs" / "operators").mkdir(parents=True)
    (elsewhere / "refgrad" / "specs" / "operators").mkdir(parents=True)
    assert specs_directory() == (elsewhere / "refgrad" / "specs").resolve()


def test_the_environment_overrides_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(specs_directory() / "operators", tmp_path / "operators")
    monkeypatch.setenv(OVERRIDE, str(tmp_path))
    assert specs_directory() == tmp_path.resolve()


def test_an_override_without_operators_is_an_error_that_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OVERRIDE, str(tmp_path))
    with pytest.raises(SpecificationNotFoundError, match=f"{tmp_path}: {OVERRIDE} must name"):
        specs_directory()


def test_no_specifications_at_all_is_an_error_that_names_both_places(elsewhere: Path) -> None:
    with pytest.raises(SpecificationNotFoundError) as raised:
        specs_directory()
    assert str(elsewhere / "refgrad" / "specs") in str(raised.value)
    assert f" or {elsewhere.resolve() / 'specs'}" in str(raised.value)
