"""Is one row in `specs/operators/` all that an elementwise operator needs?"""

import re
import shutil
from pathlib import Path

import pytest

from tests.repository.isolation import IMPORT_EVERY_MODULE, run_python
from tests.repository.sources import PACKAGE, ROOT, layers, name_of, python_files

OPERATOR = "expm1"
# The function that the row's formula calls: the language of formulas, and what it means to each number system.
VOCABULARY = {"refgrad/operators/vocabulary.py", "refgrad/oracles/ball_functions.py"}


def without_the_row(text: str) -> str:
    """A file of operators, less the tables of one operator."""
    tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    return "".join(table for table in tables if not re.match(rf"\[+{OPERATOR}[\].]", table))


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """A copy of the specifications from which the row has been deleted."""
    copy = tmp_path / "specs"
    shutil.copytree(ROOT / "specs", copy)
    touched = []
    for path in sorted((copy / "operators").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        if without_the_row(text) != text:
            path.write_text(without_the_row(text), encoding="utf-8")
            touched.append(path.name)
    assert len(touched) == 1
    return copy


def test_nothing_but_the_language_of_formulas_knows_the_operator_by_name() -> None:
    knowing = {name_of(path) for path in python_files(PACKAGE) if OPERATOR in path.read_text(encoding="utf-8")}
    assert knowing <= VOCABULARY


def test_without_its_row_the_operator_is_gone_and_everything_still_imports(specs: Path) -> None:
    own = tuple(f"refgrad.{layer}" for layer in layers() if layer != "adapters")
    program = f"""
{IMPORT_EVERY_MODULE}
import_every_module(*{own!r})
from refgrad.operators import operator_table
print({OPERATOR!r} in operator_table(), "exp" in operator_table())
"""
    assert run_python(program, specs=specs).split() == ["False", "True"]
