"""No kept file tells of the machine that it was written on."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository.sources import kept_files, name_of

MACHINE_PATH = re.compile(r"/(?<![\w./-]/)(?:home|root|Users|work|tmp)/\w|:(?<=\b[A-Z]:)\\\\?Users\b")
REGISTRY = re.compile(r"(?:pypi|pythonhosted|npmjs|anaconda)\.(?:org|com)\b|pytorch\.org/whl|--(?:extra-)?index-url")
"""Patterns that begin with a character that every match has, because these are searched faster."""


def test_no_file_names_a_machine_path_or_a_package_registry() -> None:
    assert [told for path in kept_files() for told in traces(path)] == []


def traces(path: Path) -> Iterator[str]:
    """What a file tells of a machine, as `README.md: ...`."""
    text = path.read_bytes().decode("utf-8", errors="replace")
    yield from (
        f"{name_of(path)}: {match.group()}" for pattern in (MACHINE_PATH, REGISTRY) for match in pattern.finditer(text)
    )


@pytest.mark.parametrize("parts", [("", "home", "ada", "refgrad"), ("", "tmp", "x"), ("see ", "Users", "ada")])
def test_this_very_check_sees_a_machine_path(parts: tuple[str, ...]) -> None:
    assert MACHINE_PATH.search("/".join(parts))


@pytest.mark.parametrize("parts", [("https://", "pypi", ".org/simple"), ("pip install --", "index", "-url x")])
def test_this_very_check_sees_a_registry(parts: tuple[str, ...]) -> None:
    assert REGISTRY.search("".join(parts))
