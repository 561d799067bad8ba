"""Programs of functional engines ask for gradients as users of the engine do, and do what they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from refgrad.report.document import read_report
from refgrad.report.findings import scripts
from refgrad.report.findings.tidying import pieces, tidied
from refgrad.report.findings.tidying.functions import natural

REPORTS = Path(__file__).parents[4] / "reports"
HEAD = "import jax\nimport jax.numpy as jnp\n\n"
ASSERTION = 'got = float({0})\nassert got == 1.0, f"it is {{got}}"\n'

SECOND = """\
import jax
import jax.numpy as jnp

a = jnp.array(2.0)

def program_b(a):
    b = jnp.exp(a)
    return b

output_b, pullback_of_b = jax.vjp(program_b, a)
c = pullback_of_b(jnp.array(1.0))[0]

def program_c(a):
    b = jnp.exp(a)

    def program_b_2(a):
        b = jnp.exp(a)
        return b

    output_b_2, pullback_of_b_2 = jax.vjp(program_b_2, a)
    c = pullback_of_b_2(jnp.array(1.0))[0]
    return c

output_c, pullback_of_c = jax.vjp(program_c, a)
[gradient_of_a] = pullback_of_c(jnp.array(1.0))
"""


def test_gradients_of_gradients_are_nested() -> None:
    assert tidied(pieces(SECOND + ASSERTION.format("gradient_of_a"))) == (
        "import jax\nimport jax.numpy as jnp\n\na = jnp.array(2.0)\n"
        "gradient_of_a = jax.grad(jax.grad(jnp.exp))(a)\n" + ASSERTION.format("gradient_of_a")
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "def program_c(a, b):\n    return jnp.dot(a, 2 * b)\n\n"
            "_, pullback_of_c = jax.vjp(program_c, a, b)\n"
            "_, gradient_of_b = pullback_of_c(jnp.array(1.0))\n" + ASSERTION.format("gradient_of_b"),
            "def f(a, b):\n    return jnp.dot(a, 2 * b)\n\n\n"
            "gradient_of_b = jax.grad(f, 1)(a, b)\n" + ASSERTION.format("gradient_of_b"),
            id="one of several arguments",
        ),
        pytest.param(
            "def program_c(a, b):\n    return jnp.dot(a, b)\n\n"
            "_, pullback_of_c = jax.vjp(program_c, a, b)\n"
            "gradient_of_a, gradient_of_b = pullback_of_c(jnp.array(1.0))\n"
            + ASSERTION.format("gradient_of_a + gradient_of_b"),
            "gradient_of_a, gradient_of_b = jax.grad(jnp.dot, (0, 1))(a, b)\n"
            + ASSERTION.format("gradient_of_a + gradient_of_b"),
            id="all arguments",
        ),
        pytest.param(
            "def program_b(a):\n    return jnp.exp(a)\n\n"
            "_, pullback_of_b = jax.vjp(program_b, a)\n"
            "[gradient_of_a] = pullback_of_b(jnp.array([1.0]))\n" + ASSERTION.format("gradient_of_a[0]"),
            "_, pullback = jax.vjp(jnp.exp, a)\n"
            "[gradient_of_a] = pullback(jnp.array([1.0]))\n" + ASSERTION.format("gradient_of_a[0]"),
            id="a result with an axis",
        ),
        pytest.param(
            "c = jnp.exp(a)\n\ndef program_c(a):\n    return jnp.exp(a)\n\n"
            "_, pullback_of_c = jax.vjp(program_c, a)\n"
            "[gradient_of_a] = pullback_of_c(jnp.array(1.0))\n" + ASSERTION.format("c"),
            "c = jnp.exp(a)\n" + ASSERTION.format("c"),
            id="a value",
        ),
        pytest.param(
            "def program_b(a):\n    return jnp.exp(a)\n\n"
            "_, pullback_of_b = jax.vjp(program_b, a)\npullback_of_b(jnp.array(1.0))\n",
            "jax.grad(jnp.exp)(a)\n",
            id="an error",
        ),
    ],
)
def test_a_program_asks_for_the_gradient(before: str, after: str) -> None:
    given = "a = jnp.array(2.0)\n" + ("b = jnp.array(3.0)\n" if "jnp.dot" in before else "")
    blank = "\n\n" if after.startswith("def") else ""
    head = HEAD if "jax." in after else "import jax.numpy as jnp\n\n"
    assert tidied(pieces(HEAD + given + before)) == head + given + blank + after


def test_what_a_function_reads_when_it_is_called_stays() -> None:
    program = HEAD + (
        "def show():\n    print(steps)\n\n\na = jnp.array(2.0)\n_, pullback_of_b = jax.vjp(jnp.exp, a)\n"
        "steps = [pullback_of_b(jnp.array([1.0]))]\nshow()\n"
    )
    assert "steps = [pullback(jnp.array([1.0]))]\n" in tidied(pieces(program))


MLX = """\
import mlx.core as mx

a = mx.array(2.0)


def program_c(a{more}):
    b = mx.exp(a)

    def program_b_2(a):
        return mx.exp(a{times})

    return mx.vjp(program_b_2, [a], [mx.array(1.0)])[1][0]


[gradient_of_a{unread}] = mx.vjp(program_c, [a{more}], [mx.array(1.0)])[1]
"""


def test_what_mlx_computes_for_nothing_goes_where_functions_stand_alone() -> None:
    program = MLX.format(more="", times="", unread="") + ASSERTION.format("gradient_of_a")
    head = "import mlx.core as mx\n\na = mx.array(2.0)\n"
    gradient = "gradient_of_a = mx.grad(mx.grad(mx.exp))(a)\n"
    assert tidied(pieces(program)) == head + gradient + ASSERTION.format("gradient_of_a")


def test_what_mlx_computes_for_nothing_beside_a_function_that_uses_it_stays() -> None:
    program = MLX.format(more=", c", times=" * c", unread=", _") + ASSERTION.format("gradient_of_a")
    text = tidied(pieces(program))
    assert "    b = mx.exp(a)\n" in text
    assert "    return mx.grad(g)(a)\n" in text
    assert "gradient_of_a = mx.grad(f)(a, c)\n" in text


@pytest.mark.parametrize(
    "program",
    [
        "def program_b(a):\n    return np.exp(a)\n\n\n[gradient] = engine.vjp(program_b, [a], [1.0])[1]\n",
        "_, pullback_of_b = jax.vjp(f, a)\n[b] = pullback_of_b(s(1.0))\n[c] = pullback_of_b(s(1.0))\nprint(c)\n",
        "def attempt():\n    _, pullback = jax.vjp(f, a)\n    unread = pullback(s(1.0))\n\n\nattempt()\n",
        "seed = s(1.0)\n_, pullback_of_b = jax.vjp(f, a)\n[first] = pullback_of_b(seed)\nprint(seed)\n",
    ],
    ids=["of another engine", "that calls a pullback again", "that measures", "that looks at a seed"],
)
def test_a_program_stays(program: str) -> None:
    given = pieces(program)
    assert natural(given) == given


def test_programs_of_reports_stay_natural() -> None:
    documents = [read_report(REPORTS / f"{engine}.json") for engine in ("autograd", "jax")]
    programs = [script.program for document in documents for script in scripts(document)]
    asking = [text for text in programs if "jax.grad(" in text or "autograd.grad(" in text]
    assert asking
    for text in asking:
        given = pieces(text)
        assert [piece.text for piece in natural(given)] == [piece.text for piece in given]
