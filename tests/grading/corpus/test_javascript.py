"""The corpus needs no Python: the consumer of the guide grades the guide's engine, and sees what is broken of it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from refgrad.specification import specs_directory

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "test-without-python"
CORPUS = specs_directory() / "corpus"
MOST_LINES = 100

NODE = shutil.which("node") or ""

pytestmark = pytest.mark.skipif(not NODE, reason="needs Node")

FAULTS = {
    "tanh = ([x]) => right.sin([x], {})": {"operators/tanh"},
    "multiply = ([x, y]) => right.multiply([y, y], {})": {"operators/multiply"},
    "exp = ([x]) => ({ ...right.exp([x], {}), requiresGrad: false })": {"operators/exp"},
    "sum = ([x], attributes) => right.sum([x], { ...attributes, keepdims: true })": {"operators/sum"},
}


def grade(engine: Path) -> tuple[int, list[str], str]:
    """Return the exit status, the checks of which an entry fails, and the last line."""
    run = subprocess.run([NODE, GUIDE / "grade.js", engine, CORPUS], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    *failing, last = run.stdout.splitlines()
    return run.returncode, [line.split()[0] for line in failing], last


def test_the_consumer_is_short() -> None:
    assert len((GUIDE / "grade.js").read_text(encoding="utf-8").splitlines()) < MOST_LINES


def test_the_engine_of_the_guide_passes_what_it_is_held_to() -> None:
    status, failing, last = grade(GUIDE / "tape.js")
    output = re.fullmatch(r"(\d+) of (\d+) entries tried, 0 fail", last)
    assert output is not None
    tried, total = map(int, output.groups())
    manifest = json.loads((CORPUS / "manifest.json").read_text(encoding="utf-8"))
    assert (status, failing, total) == (0, [], sum(row["entries"] for row in manifest["files"].values()))
    assert tried > MOST_LINES


@pytest.mark.parametrize("fault", FAULTS)
def test_an_engine_with_a_fault_fails_the_entries_that_are_about_it(fault: str, tmp_path: Path) -> None:
    engine = tmp_path / "broken.js"
    lines = [
        f"const engine = require({str(GUIDE / 'tape.js')!r});",
        "const right = { ...engine.operators };",
        f"engine.operators.{fault};",
        "module.exports = engine;",
    ]
    engine.write_text("\n".join(lines), encoding="utf-8")
    status, failing, _last = grade(engine)
    assert status == 1
    assert {check for check in failing if check.startswith("operators/")} == FAULTS[fault]


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ("engine.zeroGrad = () => {}", "accumulation/"),
        ("engine.backward = (y, seed) => backward(y, seed && ones(seed))", "seeds/"),
        ("engine.backward = (y, seed) => y.requiresGrad && backward(y, seed)", "claims/error_no_graph"),
    ],
)
def test_what_an_engine_does_around_its_operators_is_held_against_it_too(
    change: str, check: str, tmp_path: Path
) -> None:
    engine = tmp_path / "broken.js"
    lines = [
        f"const engine = require({str(GUIDE / 'tape.js')!r});",
        "const { backward } = engine;",
        "const ones = (seed) => ({ ...seed, numbers: seed.numbers.map(() => 1) });",
        f"{change};",
        "module.exports = engine;",
    ]
    engine.write_text("\n".join(lines), encoding="utf-8")
    _status, failing, _last = grade(engine)
    assert any(each.startswith(check) for each in failing), failing
