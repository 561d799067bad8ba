"""A copy of the repository into which faults are planted, so that the checkout stays as it is."""

from __future__ import annotations

import compileall
import py_compile
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.repository.sources import ROOT, kept_files, name_of

COPIED = ("refgrad/", "specs/", "tests/", "docs/", "pyproject.toml", "README.md")


def copied_to(folder: Path) -> Path:
    """Copy what tests read, compiled so that a changed source is noticed by its text, not by its time."""
    for path in kept_files():
        name = name_of(path)
        if name.startswith(COPIED):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    compile_package(folder)
    return folder


def compile_package(folder: Path) -> None:
    """Compile the package of a copy."""
    compileall.compile_dir(folder / "refgrad", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


@contextmanager
def replaced(folder: Path, module: str, source: str) -> Iterator[None]:
    """Let a module of a copy have another source inside the block."""
    target = folder / module
    target.write_text(source, encoding="utf-8")
    try:
        yield
    finally:
        shutil.copyfile(ROOT / module, target)
