"""A helper that gives a pullback goes where its pullback is called once, and the program does what it did."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any, Self

import pytest
import sympy
from hypothesis import given, reject
from hypothesis import strategies as st

from refgrad.report.findings.tidying import pieces, tidied
from refgrad.report.findings.tidying.pullbacks import without_pullbacks

TAPE = """\
def vjp(function, primals):
    with lib.Tape() as tape:
        tape.watch(primals)
        output = function(*primals)
    def pullback(seed):
        found = tape.gradient(output, primals, seed)
        return [lib.number(each) for each in found]
    return output, pullback

"""
TWICE = """\
def vjp(function, primals):
    output = function(*primals)
    def pullback(seed):
        found = lib.gradient(output, primals, seed)
        return [each * seed / seed for each in found]
    return output, pullback

"""
LEAVES = """\
def vjp(function, primals):
    fresh = [lib.number(x) for x in primals]
    for x in fresh:
        lib.attach(x)
    output = function(*fresh)
    return output, lambda seed: lib.gradient(output, fresh, seed)

"""


class Tape:
    """Records nothing: what is differentiated are expressions of sympy."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def watch(self, primals: list[Any]) -> None:
        assert isinstance(primals, list)

    def gradient(self, output: Any, primals: list[Any], seed: Any) -> list[Any]:
        return [seed * sympy.diff(output, primal) for primal in primals]


def shown(program: str) -> list[str]:
    """Return what a program shows."""
    found: list[str] = []
    lib = SimpleNamespace(
        Tape=Tape,
        number=lambda x: x,
        attach=str,
        gradient=Tape().gradient,
        symbol=sympy.Symbol,
        show=lambda x: found.append(str(sympy.expand(x))),
    )
    exec(program, {"lib": lib})
    return found


def written(program: str) -> str:
    """Return a program without pullbacks."""
    return ast.unparse(ast.Module(without_pullbacks(ast.parse(program).body), []))


@pytest.mark.parametrize(
    ("helper", "after"),
    [
        pytest.param(
            TAPE,
            "with lib.Tape() as tape:\n    tape.watch([a])\n    output = a * a\n"
            "found = tape.gradient(output, [a], 3)\n[gradient] = [lib.number(each) for each in found]\n",
            id="a region that records",
        ),
        pytest.param(
            LEAVES,
            "fresh = lib.number(a)\nlib.attach(fresh)\noutput = fresh * fresh\n"
            "[gradient] = lib.gradient(output, [fresh], 3)\n",
            id="leaves of its own",
        ),
    ],
)
def test_what_a_helper_does_stands_where_it_was_called(helper: str, after: str) -> None:
    leaf = "a = lib.symbol('a')\n"
    program = helper + leaf + "def f(a):\n    return a * a\n_, pullback = vjp(f, [a])\n[gradient] = pullback(3)\n"
    end = "lib.show(gradient)"
    assert written(program + end) == leaf + after + end
    assert shown(leaf + after + end) == shown(program + end) == ["6*a"]


def test_gradients_of_gradients_are_regions_within_regions() -> None:
    program = (
        "def f(a):\n    return a * a * a\n"
        "def g(a):\n    _, pullback = vjp(f, [a])\n    return pullback(1)[0]\n"
        "a = lib.symbol('a')\n_, pullback = vjp(g, [a])\nlib.show(pullback(1)[0])\n"
    )
    assert written(TAPE + program) == (
        "a = lib.symbol('a')\n"
        "with lib.Tape() as tape_2:\n    tape_2.watch([a])\n"
        "    with lib.Tape() as tape:\n        tape.watch([a])\n        output = a * a * a\n"
        "    found = tape.gradient(output, [a], 1)\n    output_2 = lib.number(found[0])\n"
        "found_2 = tape_2.gradient(output_2, [a], 1)\nlib.show(lib.number(found_2[0]))"
    )
    assert shown(written(TAPE + program)) == shown(TAPE + program) == ["6*a"]


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param("[g] = pullback(1)\n[more] = pullback(2)\nlib.show(g + more)\n", id="called twice"),
        pytest.param("again = pullback\n[g] = pullback(1)\nlib.show(g)\n", id="named elsewhere"),
        pytest.param("found = [pullback(n) for n in (1, 2)]\nlib.show(found[1][0])\n", id="called for each of some"),
        pytest.param("a = lib.symbol('b')\n[g] = pullback(a)\nlib.show(g)\n", id="an operand has another meaning"),
        pytest.param("for n in (1, 2):\n    [g] = pullback(n)\nlib.show(g)\n", id="called in a loop"),
    ],
)
def test_a_pullback_that_is_not_called_once_stays(rest: str) -> None:
    program = TAPE + "a = lib.symbol('a')\ndef f(a):\n    return a * a\n_, pullback = vjp(f, [a])\n" + rest
    assert written(program) == ast.unparse(ast.parse(program))


def test_a_seed_that_is_used_twice_is_computed_once_where_the_pullback_was_called() -> None:
    program = "a = lib.symbol('a')\n_, pullback = vjp(lib.number, [a])\nb = 2 * a\n[g] = pullback(b + 1)\nlib.show(g)\n"
    new = written(TWICE + program)
    assert "b = 2 * a\nseed = b + 1\n" in new
    assert shown(new) == shown(TWICE + program)


def test_a_function_that_is_named_twice_stays() -> None:
    program = "def f(a):\n    return a * a\na = lib.symbol('a')\n_, pullback = vjp(f, [a])\n[g] = pullback(1)\n"
    new = written(TAPE + program + "lib.show(g + f(a))\n")
    assert "output = f(a)" in new
    assert shown(new) == ["a**2 + 2*a"]


NAMES = st.sampled_from(["a", "b", "c", "each", "found", "fresh", "output", "tape", "x"])


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Programs whose functions hide names of one another and of the helper."""
    leaves = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    lines = [f"{name} = lib.symbol({name!r})" for name in leaves]
    last = draw(st.integers(1, 3))
    for number in range(1, last + 1):
        parameter, local = draw(NAMES), draw(NAMES)
        known = st.sampled_from(sorted({*leaves, parameter} - {local}) or [parameter])
        lines += [f"def program_{number}({parameter}):"]
        if number == 1 or local == parameter:
            lines += [f"    {local} = {parameter} * {parameter if local == parameter else draw(known)}"]
        else:
            lines += [
                f"    _, pullback_{number} = vjp(program_{number - 1}, [{parameter}])",
                f"    {local} = pullback_{number}({draw(known)})[0]",
            ]
        lines += [f"    return {local} * {parameter} * {local if local in leaves else draw(known)}"]
    result = draw(NAMES)
    lines += [
        f"{draw(st.just('_') | NAMES)}, pullback = vjp(program_{last}, [{leaves[0]}])",
        f"[{result}] = pullback({leaves[-1]})",
        f"lib.show({result} * {leaves[0]})",
    ]
    return draw(st.sampled_from([TAPE, LEAVES, TWICE])) + "\n".join(lines) + "\n"


@given(programs())
def test_a_program_shows_what_it_showed_whatever_its_names(program: str) -> None:
    try:
        before = shown(program)
    except (NameError, TypeError, ValueError):  # it reads a name that is not bound, or computes with a function
        reject()
    assert shown(written(program)) == before


def test_the_whole_text_is_without_the_helper() -> None:
    program = (
        "a = lib.symbol('a')\n\ndef program_b(a):\n    b = a * a\n    return b\n\n"
        "output_b, pullback_of_b = vjp(program_b, [a])\n[gradient_of_a] = pullback_of_b(3)\n"
        "got = str(gradient_of_a)\nassert got == '7', got\n"
    )
    assert tidied(pieces(TAPE + program)).startswith(
        "a = lib.symbol('a')\nwith lib.Tape() as tape:\n    tape.watch([a])\n    output = a * a\n"
    )
