"""One row in `specs/operators/` is all that an elementwise operator needs."""

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from refgrad.native.engine_names import shipped_engines
from tests.repository.isolation import IMPORT_EVERY_MODULE, run_python
from tests.repository.sources import PACKAGE, ROOT, layers, name_of, python_files
from tests.repository.what_a_row_gives import POINTS

pytestmark = pytest.mark.turns(2)

OPERATOR = "deg2rad"
NEW_ROW = """
[cube_plus_exp]
summary = "x cubed plus e to the x: an operator that no library has"
formula = "x * x * x + exp(x)"
partials = { x = "3 * x * x + exp(x)" }
samples = { x = [-3, 3] }
source = "made up for a test"
"""
ROUNDING = 1e-15


def without_the_row(text: str) -> str:
    """A file of operators, less the tables of one operator."""
    tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    return "".join(table for table in tables if not re.match(rf"\[+{OPERATOR}[\].]", table))


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """A copy of the specifications from which the row has been deleted, and how engines spell it."""
    copy = tmp_path / "specs"
    shutil.copytree(ROOT / "specs", copy)
    touched = []
    for path in sorted((copy / "operators").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        if without_the_row(text) != text:
            path.write_text(without_the_row(text), encoding="utf-8")
            touched.append(path.name)
    assert len(touched) == 1
    for path in (copy / "engines").glob("*.toml"):
        spelled = re.sub(rf"^{OPERATOR} = .*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        path.write_text(spelled, encoding="utf-8")
    return copy


def test_nothing_in_the_package_knows_the_operator_by_name() -> None:
    assert [name_of(path) for path in python_files(PACKAGE) if OPERATOR in path.read_text(encoding="utf-8")] == []


def test_without_its_row_the_operator_is_gone_and_everything_still_imports(specs: Path) -> None:
    own = tuple(f"refgrad.{layer}" for layer in layers() if layer != "adapters")
    program = f"""
{IMPORT_EVERY_MODULE}
import_every_module(*{own!r})
from refgrad.operators import operator_table
print({OPERATOR!r} in operator_table(), "exp" in operator_table())
"""
    assert run_python(program, specs=specs).split() == ["False", "True"]


def test_without_its_row_every_engine_is_still_found(specs: Path) -> None:
    program = f"""
from refgrad.native.adapter import find_adapter
print(*[find_adapter(name).name for name in {tuple(shipped_engines())!r}])
"""
    assert run_python(program, specs=specs).split() == list(shipped_engines())


def seen_of(operator: str, specs: Path) -> dict[str, Any]:
    """What a fresh interpreter makes of an operator of these specifications."""
    program = f"""
import json
from tests.repository.what_a_row_gives import what_a_row_gives
print(json.dumps(what_a_row_gives({operator!r})))
"""
    seen: dict[str, Any] = json.loads(run_python(program, specs=specs))
    return seen


def assert_the_operator_works(seen: dict[str, Any], values: list[float], slopes: list[float]) -> None:
    assert seen["listed"]
    assert seen["value"] == pytest.approx(values, rel=ROUNDING)
    assert seen["gradient"] == pytest.approx(slopes, rel=ROUNDING)
    assert seen["certified"] == pytest.approx(slopes, rel=ROUNDING)
    assert seen["interval"] < ROUNDING
    assert seen["spelled"]
    assert seen["drawn"]
    assert seen["verdict"] == "passed"
    assert seen["verdicts"] == ["passed"]


def test_with_its_row_back_the_operator_is_everywhere(specs: Path) -> None:
    shutil.rmtree(specs)
    shutil.copytree(ROOT / "specs", specs)
    values, slopes = [math.radians(x) for x in POINTS], [math.pi / 180 for _ in POINTS]
    assert_the_operator_works(seen_of(OPERATOR, specs), values, slopes)


def test_a_row_that_nobody_has_written_before_is_everywhere_too(specs: Path) -> None:
    with (specs / "operators" / "elementwise.toml").open("a", encoding="utf-8") as file:
        file.write(NEW_ROW)
    values, slopes = [x**3 + math.exp(x) for x in POINTS], [3 * x**2 + math.exp(x) for x in POINTS]
    assert_the_operator_works(seen_of("cube_plus_exp", specs), values, slopes)
