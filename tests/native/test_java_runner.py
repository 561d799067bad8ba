"""An engine in Java is graded through the same protocol: its templates are compiled in memory."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from refgrad.errors import EngineStartError
from refgrad.grading.judging.examination import examine
from refgrad.lifecycle import Policy
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter
from refgrad.native.engine import Engine, observe, reproduce
from refgrad.native.runner import ProcessRunner
from refgrad.scenario import parse
from tests.native.answering import answers

pytestmark = pytest.mark.turns(2)

if shutil.which("javac") is None:
    pytest.skip("needs a JDK", allow_module_level=True)

SETUP = """import java.util.ArrayList;
import java.util.List;
import java.util.Map;

interface Program {
    Tangent of(List<Tangent> primals);
}

interface Pullback {
    List<Tangent> of(Tangent seed);
}

record Tangent(double number, double slope) {
    static Tangent of(double number) {
        return new Tangent(number, 0);
    }

    Tangent plus(Tangent y) {
        return new Tangent(number + y.number, slope + y.slope);
    }

    Tangent times(Tangent y) {
        return new Tangent(number * y.number, slope * y.number + number * y.slope);
    }

    Tangent sin() {
        return new Tangent(Math.sin(number), Math.cos(number) * slope);
    }

    Tangent wrong() {
        return new Tangent(Math.cos(number), Math.sin(number) * slope);
    }

    Tangent root() {
        if (number > 1) throw new ArithmeticException("too large: \\"é\\"");
        return new Tangent(Math.sqrt(number), slope / (2 * Math.sqrt(number)));
    }

    Tangent deep() {
        return deep();
    }

    Tangent none() {
        throw new UnsupportedOperationException("no such slope");
    }

    static Map.Entry<Tangent, Pullback> vjp(Program program, List<Tangent> primals) {
        List<Double> slopes = new ArrayList<>();
        for (int i = 0; i < primals.size(); i++) {
            List<Tangent> x = new ArrayList<>(primals);
            x.set(i, new Tangent(x.get(i).number, 1));
            slopes.add(program.of(x).slope);
        }
        return Map.entry(program.of(primals), seed -> slopes.stream().map(each -> of(each * seed.number)).toList());
    }
}
"""
JAVA = shutil.which("java") or ""
TAPE_SETUP = """final class Value {
    final double data;
    Double gradient;
    Value parent;

    Value(double data) {
        this.data = data;
    }

    Value negative() {
        Value made = new Value(-data);
        made.parent = this;
        return made;
    }

    void backward(double seed) {
        if (parent == null) gradient = seed; else parent.backward(-seed);
    }
}
"""
OPERATORS = {
    "add": "{x}.plus({y})",
    "multiply": "{x}.times({y})",
    "sin": "{x}.sin()",
    "cos": "{x}.wrong()",
    "sqrt": "{x}.root()",
    "exp": "{x}.deep()",
    "tan": "{x}.none()",
    "log": "{x}.logarithm()",
}
ADAPTER = FunctionalAdapter(
    name="tangents",
    language="java",
    setup=SETUP,
    leaf="Tangent.of({scalar})",
    seed="Tangent.of({array})",
    value="{x}.number()",
    vjp="Tangent.vjp({function}, {primals})",
    operators=OPERATORS,
    scalars_only=True,
)
TAPE = TapeAdapter(
    name="tape",
    language="java",
    setup=TAPE_SETUP,
    leaf="new Value({scalar})",
    value="{x}.data",
    backward="{output}.backward({seed})",
    gradient="{leaf}.gradient",
    operators={"negative": "{x}.negative()"},
    scalars_only=True,
    policy=Policy(frees="never", accumulates="replaces"),
)
GRADIENT = "x = leaf float64[] {0x1p+1} requires_grad\ny = %s\nbackward y\nread value y\nread grad x\n"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    runner = ProcessRunner(ADAPTER)
    yield Engine(ADAPTER, runner)
    runner.stop()


@pytest.mark.parametrize(
    ("applied", "outcome"),
    [
        ("sin x", "passed"),
        ("add x x", "passed"),
        ("multiply x x", "passed"),
        ("cos x", "wrong"),
        ("sqrt x", "unexpected-error"),
        ("exp x", "crashed"),
        ("tan x", "unsupported"),
    ],
)
def test_what_is_right_passes_and_what_is_wrong_is_found(engine: Engine, applied: str, outcome: str) -> None:
    assert examine(parse(GRADIENT % applied), engine).outcome == outcome


def test_an_exception_of_java_is_an_observation(engine: Engine) -> None:
    assert 'ArithmeticException: too large: "é"' in examine(parse(GRADIENT % "sqrt x"), engine).message


def test_a_method_that_is_not_there_is_told_by_the_compiler(engine: Engine) -> None:
    message = examine(parse(GRADIENT % "log x"), engine).message
    assert "it does not compile: cannot find symbol symbol: method logarithm()" in message


def test_a_method_that_returns_nothing_is_run() -> None:
    runner = ProcessRunner(TAPE)
    text = (
        "x = leaf float64[] {0x1p+1} requires_grad\ny = negative x\nbackward y seed float64[] {0x1p+1}\nread grad x\n"
    )
    gradient = observe(parse(text), Engine(TAPE, runner))[-1].array
    runner.stop()
    assert gradient == -2.0


def test_gradients_of_two_backwards_add_up_in_a_variable_of_their_own(engine: Engine) -> None:
    text = "x = leaf float64[] {0x1p+1} requires_grad\ny = sin x\nbackward y retain_graph\nbackward y\nread grad x\n"
    assert examine(parse(text), engine).outcome == "passed"
    assert "var total_of_x = gradient_of_x.plus(more_of_x);" in reproduce(parse(text), engine)


def test_its_reproduction_is_java_that_prints_what_was_seen(engine: Engine, tmp_path: Path) -> None:
    scenario = parse(GRADIENT.replace("y = %s", "z = sin x\ny = multiply z x"))
    (tmp_path / "finding.java").write_text(reproduce(scenario, engine), encoding="utf-8")
    ran = subprocess.run([JAVA, str(tmp_path / "finding.java")], capture_output=True, text=True, check=True)
    shown = [each.array.item() for each in observe(scenario, engine) if each.array is not None]
    assert [float(line) for line in ran.stdout.splitlines()] == shown


def test_a_setup_that_does_not_compile_is_an_engine_that_cannot_be_started() -> None:
    broken = FunctionalAdapter(
        name="broken", language="java", setup="class Broken {", leaf="{scalar}", vjp="{function}{primals}"
    )
    with pytest.raises(EngineStartError, match="it does not compile: reached end of file"):
        ProcessRunner(broken)


def test_it_speaks_the_protocol_and_refuses_another_one() -> None:
    setup = 'class Told { static double told() { System.out.println("told"); return 1; } }'
    call = {"call": {"template": "Told.told()", "fields": {}, "targets": ["x"]}}
    show = {"show": {"call": {"template": "{x}", "fields": {"x": {"name": "x"}}}, "form": "array"}}
    early, another, hello, members, ran = answers(
        "java",
        {"id": 1, "run": []},
        {"id": 5, "hello": {"protocol": 2, "name": "told", "setup": ""}},
        {"id": 2, "hello": {"protocol": 1, "name": "told", "setup": setup}},
        {"id": 3, "members": {"modules": ["Told"], "names": ["told"]}},
        {"id": 4, "run": [{"around": None, "steps": [[call, show], [{"delete": "x"}], [show]]}]},
    )
    assert early["error"]["message"] == "the first request must be a hello"
    assert another["error"]["message"] == "the runner speaks protocol 1, not 2"
    assert hello["hello"]["language"] == "java"
    assert members["members"] == {"Told": {}}
    one = {"dtype": "float64", "shape": [], "data": "AAAAAAAA8D8="}
    assert ran["ran"][0][:2] == [{"array": one}, {}]
    assert ran["ran"][0][2]["error"]["message"] == "x is not defined"
