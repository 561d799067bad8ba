"""An engine in JavaScript is graded through the same protocol: the runner is Node's."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.settings import EFFORTS, Settings
from refgrad.lifecycle import Policy
from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import Engine, observe, reproduce, start
from refgrad.native.runner import ProcessRunner
from refgrad.scenario import parse

pytestmark = pytest.mark.turns(2)

NODE = shutil.which("node")
if NODE is None:
    pytest.skip("needs Node", allow_module_level=True)

TAPE = Path(__file__).parent / "javascript" / "tape.js"
ADAPTER = TapeAdapter(
    name="javascript-tape",
    language="javascript",
    setup=f'var tape = require("{TAPE}");',
    leaf="tape.leaf({scalar}, {requires_grad})",
    value="{x}.data",
    backward="{output}.backward({seed})",
    gradient="{leaf}.grad",
    zero_grad="({leaf}.grad = null)",
    operators={name: f"tape.{name}({{x}})" for name in ("negative", "exp", "sin", "tanh")}
    | {name: f"tape.{name}({{x}}, {{y}})" for name in ("add", "multiply")}
    | {"cos": "tape.wrong({x})"},
    scalars_only=True,
    policy=Policy(frees="never", implicit_seed="ones"),
    lacks=frozenset({"error:seed-shape", "error:no-graph"}),
)
OFFERED = {"negative", "exp", "sin", "tanh", "add", "multiply", "cos"}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    runner = ProcessRunner(ADAPTER)
    yield Engine(ADAPTER, runner)
    runner.stop()


def test_what_is_right_passes_and_what_is_wrong_is_found(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EFFORTS["smoke"], "small_graphs", 2)
    bench = Bench(engine, settings=Settings("smoke"))
    chosen = [c for c in all_checks() if c.id.split("/")[0] in {"operators", "accumulation", "sharing", "graphs"}]
    verdicts = {check.id: bench.grade(check).verdict for check in chosen}
    assert {name for name, outcome in verdicts.items() if outcome == "wrong"} == {"operators/cos"}
    assert {verdicts[f"operators/{name}"] for name in OFFERED - {"cos"}} == {"passed"}
    assert verdicts["graphs/several_backwards"] == "passed"
    assert not {"crashed", "hung", "unexpected-error"} & set(verdicts.values())


def test_an_engine_in_javascript_is_started_in_a_process_of_its_own() -> None:
    assert isinstance(start(ADAPTER).runner, ProcessRunner)


def test_hooks_of_javascript_record_gradients_and_replace_them_and_seeds_are_read_again() -> None:
    adapter = replace(ADAPTER, hook="{x}.hook({function})", unhook="{handle}.remove()")
    runner = ProcessRunner(adapter)
    engine = Engine(adapter, runner)
    scenario = parse(
        "x = leaf float64[] {0x1p-1} requires_grad\n"
        "y = multiply x x\n"
        "hook h on y scale 0x1p+1\n"
        "hook g on x observe\n"
        "backward y seed float64[] {0x1.8p+1}\n"
        "read hook h\n"
        "read hook g\n"
        "read grad x\n"
    )
    try:
        seen = observe(scenario, engine, seeds=True)
    finally:
        runner.stop()
    assert [each.error for each in seen] == [None] * 8
    assert [seed.tolist() for seed in seen[4].arrays] == [3.0]
    assert [each.array.tolist() for each in seen[5:] if each.array is not None] == [[3.0], [6.0], 6.0]
    assert "var h = y.hook((gradient) => (seen_by_h.push(structuredClone(gradient.data)), " in reproduce(
        scenario, engine
    )


def test_its_reproduction_is_javascript(engine: Engine) -> None:
    scenario = parse(
        "x = leaf float64[] {0x1p-1} requires_grad\ny = exp x\nbackward y seed float64[] {-0x1p+0}\nread grad x\n"
    )
    text = reproduce(scenario, engine)
    assert text.endswith(
        "var x = tape.leaf(0.5, true);\n"
        "var y = tape.exp(x);\n"
        "y.backward(-1.0);\n"
        "console.log(x.grad); // gradient of x\n"
    )


def test_a_library_of_es_modules_can_be_required(tmp_path: Path) -> None:
    asked = [str(NODE), "--print", "process.features.require_module === true"]
    if subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip() != "true":
        pytest.skip("this Node has no `require` of ES modules")
    module = tmp_path / "tape.mjs"
    module.write_text(f'import tape from "{TAPE}";\nexport const {{ leaf, exp }} = tape;\n')
    modern = replace(ADAPTER, setup=f'var tape = require("{module}");', operators={"exp": "tape.exp({x})"})
    scenario = parse("x = leaf float64[] {0x0p+0} requires_grad\ny = exp x\nbackward y\nread grad x\n")
    shown = observe(scenario, start(modern))[-1].array
    assert shown is not None
    assert shown == 1


def test_an_exception_of_javascript_is_an_observation(engine: Engine) -> None:
    scenario = parse("x = leaf float64[] {0x1p-1} requires_grad\ny = exp x\nbackward y\nread grad x\n")
    program = engine.program(scenario)
    broken = type(engine)(ADAPTER, engine.runner)
    seen = broken.run(type(program)(program.groups[1:]))
    assert seen[0].error is not None
    assert seen[0].error.type == "ReferenceError"
    assert observe(scenario, engine)[-1].array is not None


def test_what_the_setup_makes_is_of_the_kind_that_modules_know(tmp_path: Path) -> None:
    module = tmp_path / "kinds.js"
    module.write_text("exports.isKnown = (o) => o instanceof Object && o.constructor === Object;\n")
    setup = f'var kinds = require("{module}");\nif (!kinds.isKnown({{}})) throw new Error("of another kind");\n'
    runner = ProcessRunner(replace(ADAPTER, setup=setup + ADAPTER.setup))
    runner.stop()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("new Float64Array([{x}.data, 2])", [0.5, 2.0]),
        ("[{x}.data > 0, 2n]", [1.0, 2.0]),
        ("new Map()", "a number was expected, not Map"),
        ("'0.5'", "a number was expected, not String"),
        ("[null]", "a number was expected, not null"),
    ],
)
def test_only_numbers_are_values(value: str, shown: list[float] | str) -> None:
    adapter = replace(ADAPTER, value=value)
    runner = ProcessRunner(adapter)
    try:
        seen = observe(parse("x = leaf float64[] {0x1p-1} requires_grad\nread value x\n"), Engine(adapter, runner))[-1]
    finally:
        runner.stop()
    told = seen.error.message if seen.error is not None else None if seen.array is None else seen.array.tolist()
    assert told == shown
