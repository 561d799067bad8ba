"""Programs of JavaScript do at once what their helpers return."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from refgrad.report.findings.tidying.javascript import with_helpers_in_place, with_short_functions

VJP = """\
function vjp(f, primals) {
  return [f(...primals), (seed) => lib.grads(f)(primals, seed)];
}
"""
USED = """\
const program_b = (a) => {
  var b = lib.exp(a);
  return b;
};
var [output_b, pullback_of_b] = vjp(program_b, [a]);
var [gradient] = pullback_of_b(lib.tensor([1, 2], [2]));
"""


def in_place(program: str) -> str:
    return "\n".join(with_helpers_in_place(program.splitlines())) + "\n"


def test_a_pullback_that_is_called_once_is_a_gradient() -> None:
    assert in_place(VJP + USED).endswith("var [gradient] = lib.grads(program_b)([a], lib.tensor([1, 2], [2]));\n")
    assert "vjp" not in in_place(VJP + USED)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("var [more] = pullback_of_b(1);\n", id="called twice"),
        pytest.param("console.log(output_b);\n", id="its output is read"),
        pytest.param("vjp(program_b, [a]);\n", id="made without a name"),
    ],
)
def test_a_pullback_of_which_more_is_used_stays(more: str) -> None:
    assert in_place(VJP + USED + more) == VJP + USED + more


@pytest.mark.parametrize(
    ("program", "after"),
    [
        ("function first(x) {  // one\n  return x[0];\n}\nf(first(of([1, 2], ')')));\n", "f(of([1, 2], ')')[0]);\n"),
        ("function same(x, a) {\n  return x;\n}\nlib.same(same(b, [1, 2]));\n", "lib.same(b);\n"),
        ("function many(x) {\n  return x ? 1 : 2;\n}\nf(many(b));\n", None),
        ("function same(x) {\n  return x;\n}\nf(same(\nb));\n", None),
        ("f(null === null ? undefined : null.map((x) => g(x, 1)));\n", "f(undefined);\n"),
        ("f(a, null === null ? undefined : null.map((x) => g(x, 1)));\n", "f(a);\n"),
        ("var a = null === null ? b : g(c, d);\n", "var a = b;\n"),
        ("f(null === null ? g(a, b) : c, d);\n", "f(g(a, b), d);\n"),
    ],
)
def test_a_helper_of_one_value_stands_where_it_is_called(program: str, after: str | None) -> None:
    assert in_place(program) == (program if after is None else after)


def test_a_function_that_returns_one_result_is_written_on_one_line() -> None:
    assert next(with_short_functions(USED.splitlines())) == "const program_b = (a) => lib.exp(a);"
    long = USED.replace("  return b;", "  var c = b;\n  return c;").splitlines()
    assert list(with_short_functions(long)) == long


def test_the_program_does_what_it_did() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    program = (
        "const lib = { tensor: (x) => x, exp: Math.exp, grads: (f) => (xs, s) => [f(...xs) * s[1]] };\n"
        "function same(x, least) {\n  return x;\n}\n"
        + VJP
        + "var a = same(0, 1);\n"
        + USED
        + "console.log(gradient);\n"
    )
    runs = [program, "\n".join(with_short_functions(with_helpers_in_place(program.splitlines())))]
    shown = [subprocess.run([node, "-e", run], check=True, capture_output=True, text=True).stdout for run in runs]
    assert shown == ["2\n", "2\n"]
