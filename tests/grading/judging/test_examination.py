"""Does an examination find what an engine does wrong, and name it rightly?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from refgrad.grading.judging.examination import examine, refuses
from refgrad.grading.judging.verdict import Finding
from refgrad.native.engine import start
from refgrad.scenario import parse
from tests.native.reference import ADAPTER
from tests.native.tiny_engine import tiny_adapter

SQUARE = """
x = leaf float64[2] {0x1.8p+0 -0x1p+0} requires_grad
y = multiply x x
backward y seed float64[2] {0x1p+0 0x1p+1}
read grad x
read value y
"""


def finding(text: str = SQUARE, **changes: Any) -> Finding:
    return examine(parse(text), start(tiny_adapter(**changes)))


def shown(text: str = SQUARE, **changes: Any) -> tuple[str, str, int]:
    """What is found, what is said of it, and at which step."""
    found = finding(text, **changes)
    return found.outcome, found.message, found.step


def test_a_right_engine_passes() -> None:
    assert finding().outcome == "passed"


def test_a_wrong_gradient_is_shown_with_the_truth() -> None:
    assert shown(gradient="{leaf}.grad * np.array([1.0, 1.5])") == (
        "wrong",
        (
            "the gradient of x is entry (1,): -6.0, but the truth is -4.0000000000000000 "
            "(relative error 5.0e-01, 1.5e+15 times what rounding explains)"
        ),
        4,
    )


@pytest.mark.parametrize(("number", "outcome"), [("0.1", "passed"), ("1e30", "passed"), ("1e300", "unsupported")])
def test_an_engine_of_float32_alone_is_judged_on_numbers_that_it_can_hold(number: str, outcome: str) -> None:
    array = "torch.tensor(np.asarray({array}, np.float32)"
    narrow = replace(ADAPTER, dtype="float32", dtypes=("float32",), leaf=f"{array}, requires_grad={{requires_grad}})")
    doubled = parse(f"x = leaf float64[] {{{number}}} requires_grad\nz = add x x\nread value z\n")
    assert examine(doubled, start(narrow)).outcome == outcome
    squared = replace(narrow, operators={**ADAPTER.operators, "add": "{x} * {y}"})
    assert examine(doubled, start(squared)).outcome == ("wrong" if outcome == "passed" else outcome)


def test_a_gradient_right_in_its_leading_digits_is_inaccurate() -> None:
    assert finding(gradient="{leaf}.grad * (1 + 1e-9)").outcome == "inaccurate"
    rounded = "{leaf}.grad.astype(np.float32).astype(np.float64)"
    assert finding(gradient=rounded, operators={"multiply": "{x} * {y}"}).outcome == "passed"


def test_a_gradient_in_another_dtype_than_its_leaf_is_wrong_however_right_its_number() -> None:
    found = finding(gradient="{leaf}.grad.astype(np.float32)", operators={"multiply": "{x} * {y}"})
    assert found.outcome == "wrong"
    assert found.message.endswith("has the dtype float32, but it should be float64")
    assert finding(value="{x}.data + 1e-9").outcome == "inaccurate"


def test_a_wrong_shape_is_wrong() -> None:
    found = finding(gradient="{leaf}.grad[None]")
    assert (found.outcome, found.message) == ("wrong", "the gradient of x has the shape (1, 2), but it should be (2,)")


def test_an_absent_gradient_is_missing() -> None:
    assert shown(gradient="None") == ("missing", "the gradient of x is missing", 4)


def test_an_exception_is_an_unexpected_error_and_ends_the_examination() -> None:
    assert shown(backward="1 / 0") == ("unexpected-error", "raised ZeroDivisionError: division by zero", 3)


def test_what_is_not_implemented_is_unsupported() -> None:
    setup = "from tests.native.tiny_tape import Tiny\ndef refuse():\n    raise NotImplementedError('no VJP')"
    assert shown(setup=setup, backward="refuse()") == ("unsupported", "raised NotImplementedError: no VJP", 3)


@pytest.mark.parametrize("error", ["RecursionError", "MemoryError"])
def test_memory_or_a_stack_that_is_used_up_is_a_crash_even_where_an_error_is_due(error: str) -> None:
    setup = f"from tests.native.tiny_tape import Tiny\ndef fall():\n    raise {error}('no more')"
    assert shown(setup=setup, backward="fall()") == ("crashed", f"raised {error}: no more", 3)
    due = "x = leaf float64[2] {0x1p+0 0x1p+0} requires_grad\ny = multiply x x\nbackward y"
    assert finding(due, setup=setup, backward="fall()").outcome == "crashed"


def test_a_gradient_out_of_nowhere_is_wrong() -> None:
    text = (
        "x = leaf float64[] {0x1p+0} requires_grad\ny = leaf float64[] {0x1p+0} requires_grad\nbackward x\nread grad y"
    )
    assert finding(text).outcome == "passed"
    assert shown(text, gradient="np.array(3.0)") == ("wrong", "y got the gradient 3.0, but nothing was sent to it", 4)


def test_an_error_that_does_not_come_is_wrong() -> None:
    text = "x = leaf float64[] {0x1p+0} requires_grad\ny = multiply x x\nbackward y\nbackward y"
    assert shown(text) == ("wrong", "carried on silently where an error is due (freed-graph)", 4)


def test_an_error_of_another_kind_is_unexpected() -> None:
    text = "x = leaf float64[2] {0x1p+0 0x1p+0} requires_grad\ny = multiply x x\nbackward y"
    changes = {"backward": "{output}.missing", "errors": {"implicit-seed": "RuntimeError: grad can be"}}
    assert shown(text, **changes) == (
        "unexpected-error",
        (
            "raised \"AttributeError: 'Tiny' object has no attribute 'missing'\", "
            "which does not match 'RuntimeError: grad can be', as it should (implicit-seed)"
        ),
        3,
    )


def test_a_choice_at_a_kink_is_a_convention_and_an_illegal_one_is_wrong() -> None:
    text = "x = leaf float64[] {0x0p+0} requires_grad\ny = relu x\nbackward y\nread grad x"
    for slope, outcome in (
        (0.0, "convention"),
        (0.5, "convention"),
        (1.0, "convention"),
        (1.5, "wrong"),
        (-0.1, "wrong"),
    ):
        adapter = tiny_adapter(operators={"relu": f"Tiny(0.0, (({{x}}, lambda g: {slope} * g),))"})
        assert examine(parse(text), start(adapter)).outcome == outcome, slope


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none_is_wrong_where_the_truth_is_finite(number: float) -> None:
    assert finding(gradient=f"{{leaf}}.grad + np.float64('{number}')").outcome == "wrong"


def test_a_missing_gradient_is_explained_by_a_step_that_may_fail_and_did() -> None:
    refusing = replace(
        ADAPTER, setup=f"{ADAPTER.setup}\ndef refuse():\n    raise SystemError('no')\n", backward="refuse()"
    )
    text = "x = leaf float64[] {0x1p+0} requires_grad\ny = leaf float64[] {0x1p+0} requires_grad\na = sin x\n"
    text += "b = multiply a y\nc = grad b x\nd = grad c y\nbackward d\nread grad x\n"
    found = examine(parse(text), start(refusing))
    assert (found.outcome, found.step) == ("missing", 8)
    assert found.message == "the gradient of x is missing: step 7 raised SystemError: no"


@pytest.mark.parametrize(("noise", "outcome"), [("3e-16", "inconclusive"), ("1e-12", "wrong")])
def test_terms_of_third_order_may_leave_rounding_behind_where_they_cancel(noise: str, outcome: str) -> None:
    text = (
        "x = leaf float64[] {-0x0p+0} requires_grad\na = tanh x\nb = grad a x\nc = grad b x\nbackward c\nread value c\n"
    )
    noisy = replace(ADAPTER, value=f"{{x}}.detach().numpy() + {noise}")
    assert examine(parse(text), start(noisy)).outcome == outcome
    first = "x = leaf float64[] {-0x0p+0} requires_grad\na = tanh x\nread value a\n"
    assert examine(parse(first), start(noisy)).outcome == "wrong"


def test_a_matrix_that_is_singular_may_be_refused() -> None:
    refusing = replace(ADAPTER, setup=f"{ADAPTER.setup}\ndef refuse(x, y):\n    raise ArithmeticError('singular')\n")
    engine = start(replace(refusing, operators={**ADAPTER.operators, "solve": "refuse({x}, {y})"}))
    text = "x = leaf float64[2, 2] {{1 0 1 {entry}}} requires_grad\ny = leaf float64[2, 1] {{1 1}}\na = solve x y\n"
    assert examine(parse(text.format(entry=0)), engine).outcome == "inconclusive"
    assert examine(parse(text.format(entry=1)), engine).outcome == "unexpected-error"


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("x = leaf float64[2] {0x0p+0 0x0p+0} requires_grad\na = l2_norm x\n", "convention"),
        ("x = leaf float64[2] {0x0p+0 0x1p+0} requires_grad\na = l2_norm x\n", "wrong"),
        ("x = leaf float64[2] {0x1p+0 0x1p+0} requires_grad\na = std x\n", "convention"),
        ("x = leaf float64[] {0x0p+0}\nx2 = leaf float64[] {0x0p+0} requires_grad\na = xlogy x x2\n", "convention"),
        ("x = leaf float64[] {0x0p+0} requires_grad\na = hypot x x\n", "convention"),
        ("x = leaf float64[] {0x0p+0} requires_grad\na = abs x\n", "missing"),
        ("x = leaf float64[] {0x0p+0} requires_grad\na = sinc x\n", "missing"),
    ],
    ids=[
        "norm at 0",
        "norm elsewhere",
        "std of equal entries",
        "xlogy at 0 and 0",
        "hypot at 0",
        "abs at 0",
        "sinc at 0",
    ],
)
def test_nan_is_a_convention_only_where_the_row_says_so(program: str, outcome: str) -> None:
    leaf = "x2" if "x2" in program else "x"
    adapter = replace(ADAPTER, gradient="np.full({leaf}.shape, np.nan)", setup=f"{ADAPTER.setup}\nimport numpy as np")
    found = examine(parse(f"{program}backward a\nread grad {leaf}\n"), start(adapter))
    assert found.outcome == outcome
    assert ("on purpose" in found.message or "as intended" in found.message) == (outcome == "convention")


def test_nan_is_no_convention_where_an_engine_documents_subgradients() -> None:
    program = parse("x = leaf float64[] {0x0p+0} requires_grad\na = hypot x x\nbackward a\nread grad x\n")
    setup = f"{ADAPTER.setup}\nimport numpy as np"
    adapter = replace(ADAPTER, gradient="np.full({leaf}.shape, np.nan)", setup=setup, subgradients=True)
    assert examine(program, start(adapter)).outcome == "missing"


@pytest.mark.parametrize(("digits", "outcome"), [(7, "convention"), (3, "wrong")])
def test_what_an_engine_computes_in_a_coarser_dtype_by_design_is_a_convention(digits: int, outcome: str) -> None:
    program = parse("x = leaf float64[2] {0x1p-2 0x1.8p+0} requires_grad\na = exp x\nread value a\n")
    rounding = replace(
        ADAPTER,
        setup=f"{ADAPTER.setup}\nimport numpy as np\n",
        operators={**ADAPTER.operators, "exp": f"torch.tensor(np.round(np.exp({{x}}.detach().numpy()), {digits}))"},
    )
    judged = examine(program, start(rounding)).outcome
    assert judged in {"inaccurate", "wrong"}
    found = examine(program, start(replace(rounding, coarser={"exp": "float32"})))
    assert found.outcome == outcome
    assert ("computes exp in float32 by design" in found.message) == (outcome == "convention")
    elsewhere = replace(rounding, coarser={"sin": "float32"})
    assert examine(program, start(elsewhere)).outcome == judged


def test_what_has_no_value_need_not_be_differentiated() -> None:
    refusing = "def refuse(output, leaf, seed):\n    raise ArithmeticError('singular')\n"
    adapter = replace(ADAPTER, setup=f"{ADAPTER.setup}\n{refusing}", grad="refuse({output}, {leaf}, {seed})")
    text = "x = leaf float64[1, 1] {{{entry}}} requires_grad\na = logdet x\nb = grad a x\n"
    assert examine(parse(text.format(entry="0x0p+0")), start(adapter)).outcome == "inconclusive"
    assert examine(parse(text.format(entry="0x1p+0")), start(adapter)).outcome == "unexpected-error"


@pytest.mark.parametrize(
    ("target", "outcome"), [("0x1p+1", "inconclusive"), ("0x1p+0", "unexpected-error"), ("0x1p-1", "unexpected-error")]
)
def test_an_operand_outside_of_its_range_may_be_refused(target: str, outcome: str) -> None:
    """The ends are part of the range."""
    refusing = "def refuse(x, y):\n    raise ValueError('targets must be between 0.6 and 0.7')\n"
    operators = {**ADAPTER.operators, "binary_cross_entropy": "refuse({x}, {y})"}
    engine = start(replace(ADAPTER, setup=f"{ADAPTER.setup}\n{refusing}", operators=operators))
    leaves = f"x = leaf float64[] {{0x1p-1}} requires_grad\ny = leaf float64[] {{{target}}}\n"
    assert examine(parse(f"{leaves}a = binary_cross_entropy x y\n"), engine).outcome == outcome


def test_a_gradient_need_not_be_recorded_where_nothing_leads_to_the_leaf() -> None:
    """All of x is overwritten; a product with y does lead to x, though its slope is zero where y is."""
    constant = replace(ADAPTER, grad="{output}.detach() * 0")
    leaves = "x = leaf float64[1] {0x1p+0} requires_grad\ny = leaf float64[1] {0x0p+0} requires_grad\n"
    backward = "d = grad c x seed float64[1] {0x1p+0}\nbackward d seed float64[1] {0x1p+0}\n"
    overwritten = f"{leaves}b = set_at x y index=(:,)\nc = multiply b y\n{backward}"
    assert examine(parse(overwritten), start(constant)).outcome == "inconclusive"
    used = f"{leaves}c = multiply x y\n{backward}"
    assert examine(parse(used), start(ADAPTER)).outcome == "passed"
    assert examine(parse(used), start(constant)).outcome == "unexpected-error"


def test_a_gradient_of_a_gradient_need_not_be_recorded_where_it_is_zero() -> None:
    """All of x is overwritten: its gradient is zero, whatever y is."""
    forgetful = """
def grad_or_error(output, leaf, seed):
    recorded = torch.grad(output, leaf, seed, create_graph=True)[0]
    return recorded if recorded.detach().numpy().any() else recorded.detach()
"""
    adapter = replace(ADAPTER, setup=ADAPTER.setup + forgetful, grad="grad_or_error({output}, {leaf}, {seed})")
    leaves = "x = leaf float64[1] {0x1p+0} requires_grad\ny = leaf float64[] {0x1p+0} requires_grad\n"
    twice = "d = grad c x seed float64[1] {0x1p+0}\ne = grad d y seed float64[1] {0x1p+0}\n"
    overwritten = leaves + "b = set_at x y index=(:,)\nc = multiply b y\n" + twice
    assert examine(parse(overwritten), start(ADAPTER)).outcome == "passed"
    assert examine(parse(overwritten), start(adapter)).outcome == "inconclusive"
    assert examine(parse(f"{overwritten}backward e"), start(adapter)).outcome == "inconclusive"
    through = leaves + "b = set_at x y index=(:,)\nc = multiply b x\nd = grad c x seed float64[1] {0x1p+0}\n"
    through += "e = multiply d y\nf = grad e x seed float64[1] {0x1p+0}\nbackward f seed float64[1] {0x1p+0}\n"
    assert examine(parse(through), start(adapter)).outcome == "inconclusive"
    silent = replace(ADAPTER, setup=ADAPTER.setup + forgetful.replace("any()", "all() < 0"), grad=adapter.grad)
    used = leaves + "b = multiply x y\nc = multiply b y\n" + twice
    assert examine(parse(used), start(adapter)).outcome == "passed"
    assert examine(parse(used), start(silent)).outcome == "unexpected-error"


def test_a_kink_that_takes_more_bits_to_tell_is_not_taken_for_a_choice() -> None:
    """At the first precision (x + y) - x may be on either side of zero; it is 3, and the slope is one there."""
    text = (
        "x = leaf float64[] {0x1p+200}\ny = leaf float64[] {0x1.8p+1} requires_grad\n"
        "a = add x y\nb = subtract a x\nc = relu b\nbackward c\nread grad y\n"
    )
    half = replace(ADAPTER, gradient="np.array(0.5)", setup=f"{ADAPTER.setup}\nimport numpy as np\n")
    assert examine(parse(text), start(half)).outcome == "inconclusive"
    near = text.replace("0x1p+200", "0x1p+2")
    assert examine(parse(near), start(half)).outcome == "wrong"


@pytest.mark.parametrize(
    ("multiply", "refused"),
    [
        ("{x} * {y}", False),
        ("{x} + {y}", False),
        ("exec('raise NotImplementedError') or {x}", True),
        ("exec('raise TypeError') or {x}", True),
        ("exec('raise MemoryError') or {x}", False),
    ],
)
def test_an_operator_is_refused_by_an_error_and_not_by_a_wrong_number_or_exhaustion(
    multiply: str, *, refused: bool
) -> None:
    engine = start(tiny_adapter(operators={"multiply": multiply}))
    assert refuses(parse(SQUARE), engine) is refused
    assert (examine(parse(SQUARE), engine).outcome in {"unexpected-error", "unsupported"}) is refused


@pytest.mark.parametrize(
    ("operator", "template"),
    [("arctan2", "torch.arctan2({x}, {y})"), ("divide", "{y} / {x}"), ("subtract", "{y} - {x}")],
)
def test_operands_that_change_places_in_a_template_are_named(operator: str, template: str) -> None:
    text = f"a = leaf float64[] {{0x1p-1}}\nb = leaf float64[] {{0x1p+1}}\nc = {operator} a b\nread value c\n"
    turned = replace(ADAPTER, operators={**ADAPTER.operators, operator: template})
    assert examine(parse(text), start(ADAPTER)).outcome == "passed"
    found = examine(parse(text), start(turned))
    assert found.outcome == "wrong"
    assert found.message.endswith(f", and that is the value of `{operator} b a`: the operands change places")


def test_another_wrong_value_is_no_matter_of_places() -> None:
    text = "a = leaf float64[] {0x1p-1}\nb = leaf float64[] {0x1p+1}\nc = divide a b\nread value c\n"
    adapter = replace(ADAPTER, operators={**ADAPTER.operators, "divide": "{y} * {x}"})
    found = examine(parse(text), start(adapter))
    assert found.outcome == "wrong"
    assert "places" not in found.message
