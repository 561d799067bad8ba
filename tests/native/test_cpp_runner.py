"""An engine in C++ is graded through the same protocol: its templates are compiled."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from refgrad.cli import main
from refgrad.grading.judging.examination import examine
from refgrad.native.adapter import FunctionalAdapter
from refgrad.native.engine import Engine, reproduce
from refgrad.native.runner import ProcessRunner
from refgrad.native.runners.compiled_cache import LIMIT, hold, remove
from refgrad.native.runners.cpp_runner import Compiled
from refgrad.scenario import parse

if shutil.which("g++") is None:
    pytest.skip("needs g++", allow_module_level=True)

SETUP = """// g++
#include <cmath>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <utility>
#include <vector>

struct Tensor { double number, slope; };
using Pullback = std::function<std::vector<double>(double)>;
inline double value(const Tensor& x) { return x.number; }
inline double value(double x) { return x; }
inline Tensor plus(Tensor x, Tensor y) { return {x.number + y.number, x.slope + y.slope}; }
inline Tensor sine(Tensor x) { return {std::sin(x.number), std::cos(x.number) * x.slope}; }
inline Tensor wrong(Tensor x) { return {std::cos(x.number), std::sin(x.number) * x.slope}; }
inline Tensor root(Tensor x) {
  if (x.number > 1) throw std::domain_error("too large");
  return {std::sqrt(x.number), x.slope / (2 * std::sqrt(x.number))};
}

struct Factor {
  double number;
  explicit Factor(double number) : number(number) {}
  ~Factor() { number = NAN; }
};
struct Scaled {  // an expression that refers to what it is made of, as libraries of templates give it
  const Factor& factor;
  const Tensor& x;
  operator Tensor() const { return {factor.number * x.number, factor.number * x.slope}; }
};
inline Scaled operator*(const Factor& factor, const Tensor& x) { return {factor, x}; }

inline int touched = 0;
inline void touch() { ++touched; }

template <class Function> std::pair<Tensor, Pullback> vjp(Function function, std::vector<Tensor> x) {
  std::vector<double> slopes;
  for (auto& one : x) {
    one.slope = 1;
    slopes.push_back(function(x).slope);
    one.slope = 0;
  }
  return {function(x), [slopes](double seed) {
    std::vector<double> found;
    for (double slope : slopes) found.push_back(seed * slope);
    return found;
  }};
}
"""
ADAPTER = FunctionalAdapter(
    name="tangents",
    language="cpp",
    setup=SETUP,
    leaf="Tensor{{{scalar}, 0.0}}",
    value="value({x})",
    vjp="vjp({function}, {primals})",
    operators={
        "add": "plus({x}, {y})",
        "sin": "sine({x})",
        "cos": "wrong({x})",
        "sqrt": "root({x})",
        "negative": "Factor(-1.0) * {x}",
    },
    scalars_only=True,
)
GRADIENT = "x = leaf float64[] {0x1p+1} requires_grad\ny = %s\nbackward y\nread value y\nread grad x\n"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    runner = ProcessRunner(ADAPTER)
    yield Engine(ADAPTER, runner)
    runner.stop()


@pytest.mark.parametrize(
    ("applied", "outcome"), [("sin x", "passed"), ("add x x", "passed"), ("cos x", "wrong"), ("negative x", "passed")]
)
def test_what_is_right_passes_and_what_is_wrong_is_found(engine: Engine, applied: str, outcome: str) -> None:
    assert examine(parse(GRADIENT % applied), engine).outcome == outcome


def test_gradients_of_two_backwards_add_up(engine: Engine) -> None:
    scenario = parse("x = leaf float64[] {0x1p+1} requires_grad\ny = sin x\nbackward y\nbackward y\nread grad x\n")
    assert examine(scenario, engine).outcome == "passed"


def test_an_exception_of_cpp_is_an_observation(engine: Engine) -> None:
    finding = examine(parse(GRADIENT % "sqrt x"), engine)
    assert finding.outcome == "unexpected-error"
    assert "std::domain_error: too large" in finding.message


def test_an_expression_may_give_nothing_a_number_or_a_truth_value() -> None:
    session = Compiled(SETUP)
    assert session.evaluate("touch()", {}) is None
    assert session.evaluate("touched", {}) == 1.0
    assert session.evaluate("touched > 0", {}) is True


def test_its_reproduction_is_cpp(engine: Engine) -> None:
    assert "  Tensor y = sine(x);\n  auto program_y = [&]" in reproduce(parse(GRADIENT % "sin x"), engine)


def test_what_another_user_compiled_is_not_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with pytest.raises(RuntimeError, match="belongs to another user"):
        Compiled(SETUP)


def test_only_the_folders_that_a_running_engine_uses_outlast_the_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    paths = {}
    for age, name in enumerate(("new", "used", "old")):
        path, held = hold(name)
        Path(path, "compiled.so").write_bytes(bytes(100))
        os.utime(path, (1000 - age, 1000 - age))
        paths[name] = path
        if name != "used":
            os.close(held)
    assert not remove(300)
    assert remove(299) == {paths["old"]: 100}
    assert remove(100) == {paths["new"]: 100}
    assert not remove()
    assert list(tmp_path.iterdir()) == [Path(paths["used"])]


def test_a_start_removes_folders_beyond_the_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path, held = hold("old")
    with Path(path, "sparse.so").open("wb") as file:
        file.truncate(LIMIT + 1)
    os.close(held)
    Compiled(SETUP)
    assert not Path(path).exists()


def test_clean_removes_folders_and_prints_their_sizes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path, held = hold("unused")
    Path(path, "compiled.so").write_bytes(bytes(2000))
    os.close(held)
    assert CliRunner().invoke(main, ["clean"]).output == f"removed {path}: 2,000 bytes\n2,000 bytes removed\n"
    assert not Path(path).exists()


def test_the_help_names_the_folders_and_their_limit() -> None:
    text = CliRunner().invoke(main, ["grade", "--help"]).output
    assert f"refgrad-cpp-* of the temporary directory, {LIMIT >> 20} MiB" in " ".join(text.split())
