"""An engine in R is graded through the same protocol."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from refgrad.errors import EngineStartError
from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.engine import Engine, observe, reproduce
from refgrad.native.runner import ProcessRunner
from refgrad.scenario import parse
from tests.native.answering import answers

RSCRIPT = shutil.which("Rscript") or ""
if not RSCRIPT:
    pytest.skip("needs R", allow_module_level=True)
if subprocess.run([RSCRIPT, "-e", "library(jsonlite)"], capture_output=True, check=False).returncode:
    pytest.skip("needs the package jsonlite of R", allow_module_level=True)

SETUP = """tangent <- function(number, slope) list(number = number, slope = slope)

plus <- function(x, y) tangent(x$number + y$number, x$slope + y$slope)

sine <- function(x) tangent(sin(x$number), cos(x$number) * x$slope)

wrong <- function(x) tangent(cos(x$number), sin(x$number) * x$slope)

root <- function(x) {
  if (x$number > 1) stop("too large: \\"é\\"")
  tangent(sqrt(x$number), x$slope / (2 * sqrt(x$number)))
}

deep <- function(x) deep(x)

none <- function(x) refused("no such slope")

vjp <- function(program, primals) {
  slopes <- lapply(seq_along(primals), function(place) {
    primals[[place]]$slope <- 1
    program(primals)$slope
  })
  list(program(primals), function(seed) lapply(slopes, function(slope) tangent(slope * seed, 0)))
}
"""
OPERATORS = {
    "add": "plus({x}, {y})",
    "sin": "sine({x})",
    "cos": "wrong({x})",
    "sqrt": "root({x})",
    "exp": "deep({x})",
    "tan": "none({x})",
    "log": "logarithm({x})",
    "negative": "{{ tangent(-{x}$number, -{x}$slope) }}",
}
ADAPTER = FunctionalAdapter(
    name="tangents",
    language="r",
    setup=SETUP,
    leaf="tangent({scalar}, 0)",
    value="{x}$number",
    vjp="vjp({function}, {primals})",
    operators=OPERATORS,
    scalars_only=True,
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
        ("negative x", "passed"),
        ("cos x", "wrong"),
        ("sqrt x", "unexpected-error"),
        ("exp x", "crashed"),
        ("tan x", "unsupported"),
    ],
)
def test_what_is_right_passes_and_what_is_wrong_is_found(engine: Engine, applied: str, outcome: str) -> None:
    assert examine(parse(GRADIENT % applied), engine).outcome == outcome


def test_an_error_of_r_is_an_observation(engine: Engine) -> None:
    assert 'simpleError: too large: "é"' in examine(parse(GRADIENT % "sqrt x"), engine).message


def test_a_function_that_is_not_there_is_told(engine: Engine) -> None:
    assert 'could not find function "logarithm"' in examine(parse(GRADIENT % "log x"), engine).message


def test_gradients_of_two_backwards_add_up_in_a_variable_of_their_own(engine: Engine) -> None:
    text = "x = leaf float64[] {0x1p+1} requires_grad\ny = sin x\nbackward y retain_graph\nbackward y\nread grad x\n"
    assert examine(parse(text), engine).outcome == "passed"
    assert "total_of_x <- plus(gradient_of_x, more_of_x)" in reproduce(parse(text), engine)


@pytest.mark.parametrize("applied", ["sin x", "negative x"])
def test_its_reproduction_is_r_that_prints_what_was_seen(engine: Engine, applied: str, tmp_path: Path) -> None:
    scenario = parse(GRADIENT % applied)
    (tmp_path / "finding.R").write_text(reproduce(scenario, engine), encoding="utf-8")
    ran = subprocess.run([RSCRIPT, str(tmp_path / "finding.R")], capture_output=True, text=True, check=True)
    shown = [each.array.item() for each in observe(scenario, engine) if each.array is not None]
    assert [float(line) for line in ran.stdout.splitlines()] == shown


def test_a_setup_that_does_not_run_is_an_engine_that_cannot_be_started() -> None:
    broken = FunctionalAdapter(name="broken", language="r", setup="library(nothing.at.all)", leaf="1", vjp="1")
    with pytest.raises(EngineStartError, match=r"there is no package called .nothing\.at\.all"):
        ProcessRunner(broken)


def test_it_speaks_the_protocol_and_refuses_another_one() -> None:
    call = {"call": {"template": "told()", "fields": {}, "targets": ["x"]}}
    show = {"show": {"call": {"template": "{x}", "fields": {"x": {"name": "x"}}}, "form": "array"}}
    early, another, hello, members, ran = answers(
        "r",
        {"id": 1, "run": []},
        {"id": 5, "hello": {"protocol": 2, "name": "told", "setup": ""}},
        {"id": 2, "hello": {"protocol": 1, "name": "told", "setup": 'told <- function() { print("told"); 1 }'}},
        {"id": 3, "members": {"modules": ["base"], "names": ["sin"]}},
        {"id": 4, "run": [{"around": None, "steps": [[call, show], [{"delete": "x"}], [show]]}]},
    )
    assert early["error"]["message"] == "the first request must be a hello"
    assert another["error"]["message"] == "the runner speaks protocol 1, not 2"
    assert hello["hello"]["language"] == "r"
    assert members["members"] == {"base": {}}
    one = {"dtype": "float64", "shape": [], "data": "AAAAAAAA8D8="}
    assert ran["ran"][0][:2] == [{"array": one}, {}]
    assert ran["ran"][0][2]["error"]["message"] == "x is not defined"
