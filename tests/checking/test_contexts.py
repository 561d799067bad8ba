"""Is a backward that is right in the plain call found where another context makes it wrong, and its twin left alone?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking.contexts import Layout, _in_layouts, tables
from refgrad.strategies import points, tails

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines

Rule = Callable[..., Any]


def function_of(forward: Rule, backward: Rule, **attributes: Any) -> Rule:
    """Return a function of PyTorch with a backward of its own."""

    def run(ctx: Any, *inputs: Any) -> Any:
        ctx.save_for_backward(*inputs)
        for name, value in attributes.items():
            getattr(ctx, name)(value)
        return forward(*inputs)

    members = {"forward": staticmethod(run), "backward": staticmethod(backward)}
    rule: Rule = type("Own", (torch.autograd.Function,), members).apply  # type: ignore[attr-defined]
    return rule


def numbers(*shape: int, seed: int = 0) -> Any:
    drawn = np.random.default_rng([seed, *shape]).uniform(0.5, 2.0, shape)
    return torch.tensor(drawn, requires_grad=True)


def as_bare_pointer(tensor: Any) -> Any:
    """Return what a kernel reads that takes memory for contiguous, if there is so much of it."""
    held = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    rows = torch.empty(tensor.shape).stride()
    return torch.as_strided(tensor, tensor.shape, rows) if held >= tensor.numel() else tensor


def from_start(tensor: Any) -> Any:
    """Return what a kernel reads that forgets the offset in the storage."""
    return torch.as_strided(tensor, tensor.shape, tensor.stride(), 0)


def product(gradient: Rule) -> Rule:
    """Return the product of two tensors, whose gradients are made from the context, the cotangent and the inputs."""
    return function_of(lambda a, b: a * b, lambda ctx, g: gradient(ctx, g, *ctx.saved_tensors))


def square(gradient: Rule) -> Rule:
    return function_of(lambda x: x * x, lambda ctx, g: gradient(ctx, g, *ctx.saved_tensors))


MATRIX = (numbers(2, 3),)
PAIR = (numbers(2, 3), numbers(2, 3, seed=1))
IMAGE = (numbers(2, 3, 2, 2),)


def concatenated(count: Rule) -> Rule:
    def backward(ctx: Any, g: Any) -> Any:
        found, at = [], 0
        for x, needed in zip(ctx.saved_tensors, ctx.needs_input_grad, strict=True):
            found.append(g[at : at + len(x)] if needed else None)
            at += count(len(x), needed)
        return tuple(found)

    return function_of(lambda *xs: torch.cat(xs), backward)


def multiples(gradient: Rule) -> Rule:
    """Return one to five times the input; with so many outputs, the plain check does not run each alone."""
    return function_of(
        lambda x: tuple(k * x for k in range(1, 6)), lambda _, *gs: gradient(gs), set_materialize_grads=False
    )


def used(cotangents: Any) -> Any:
    given = [(k, g) for k, g in enumerate(cotangents, 1) if g is not None]
    return sum(k * g for k, g in given) if given else None


def by_address(x: Any) -> Any:
    """Return the square of a tensor by a rule that knows it by its memory."""

    class Known(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.address = x.data_ptr()
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * x * (2 if x.data_ptr() == ctx.address else 1)

    return Known.apply(x)


def norm_gradient(g: Any, x: Any) -> Any:
    """Return the gradient of the sum of squares by a formula that divides by the cotangent's norm."""
    return 2 * x * g.norm() * torch.sign(g) * (g.abs() / g.norm())


BUGS: dict[str, tuple[Rule, tuple[Any, ...], str]] = {
    "a kernel takes its cotangent for contiguous": (
        square(lambda _, g, x: as_bare_pointer(g) * 2 * x),
        MATRIX,
        "the cotangent of output 0 is transposed",
    ),
    "a kernel takes its input for contiguous": (
        square(lambda _, g, x: g * 2 * as_bare_pointer(x)),
        MATRIX,
        "input 0 is transposed",
    ),
    "a kernel forgets the offset of its cotangent": (
        square(lambda _, g, x: from_start(g) * 2 * x),
        MATRIX,
        "the cotangent of output 0 is a part of a larger tensor",
    ),
    "a kernel forgets the offset of its input": (
        square(lambda _, g, x: g * 2 * from_start(x)),
        MATRIX,
        "input 0 is a part of a larger tensor",
    ),
    "a kernel takes a stride of 0 for a sum": (
        square(lambda _, g, x: g * x * (1 if 0 in g.stride() else 2)),
        MATRIX,
        "expanded from one number",
    ),
    "a kernel takes a row for all that is expanded": (
        square(lambda _, g, x: g * x * (3 if 0 in x.stride() else 2)),
        MATRIX,
        "input 0 is expanded along its first axis",
    ),
    "a kernel takes every vector for dense": (
        square(lambda _, g, x: g * 2 * x if g.stride(-1) == 1 else g * x),
        (numbers(4),),
        "every second entry",
    ),
    "channels_last is read as channels first": (
        square(lambda _, g, x: 2 * x * (g.permute(0, 2, 3, 1).reshape(g.shape) if g.stride(1) == 1 else g)),
        IMAGE,
        "the cotangent of output 0 is in channels_last",
    ),
    "a view of the cotangent is taken": (
        square(lambda _, g, x: (g.view(-1) * 2 * x.reshape(-1)).reshape(x.shape)),
        MATRIX,
        "the backward raised RuntimeError",
    ),
    "one tensor twice": (
        product(lambda _, g, a, b: (g * b, None if a.data_ptr() == b.data_ptr() else g * a)),
        PAIR,
        "one tensor is given",
    ),
    "a constant input is not counted": (
        concatenated(lambda length, needed: length if needed else 0),
        tuple(numbers(2, seed=n) for n in range(3)),
        "constant: no gradient is required",
    ),
    "only if both inputs require a gradient": (
        product(lambda ctx, g, a, b: (g * b * (1 if all(ctx.needs_input_grad) else 2), g * a)),
        PAIR,
        "input 0 is the only one that requires a gradient",
    ),
    "a cotangent of zeros": (square(lambda _, g, x: norm_gradient(g, x)), MATRIX, "the cotangent is zero"),
    "an undefined cotangent": (
        function_of(lambda x: x * x, lambda ctx, g: g.clone() * 2 * ctx.saved_tensors[0], set_materialize_grads=False),
        MATRIX,
        "no cotangent is defined: the backward raised AttributeError",
    ),
    "an output that is not used": (
        multiples(lambda gs: None if None in gs else used(gs)),
        MATRIX,
        "is not used",
    ),
    "saved tensors are told apart by their memory": (
        by_address,
        MATRIX,
        "hooks copy the saved tensors",
    ),
}

TWINS: dict[str, tuple[Rule, tuple[Any, ...]]] = {
    "square": (square(lambda _, g, x: g * 2 * x), MATRIX),
    "square of an image": (square(lambda _, g, x: g * 2 * x), IMAGE),
    "square of a vector": (square(lambda _, g, x: g * 2 * x), (numbers(4),)),
    "square by reshape": (square(lambda _, g, x: (g.reshape(-1) * 2 * x.reshape(-1)).reshape(x.shape)), MATRIX),
    "contiguous first": (square(lambda _, g, x: as_bare_pointer(g.contiguous()) * 2 * x), MATRIX),
    "both contiguous": (
        square(lambda _, g, x: as_bare_pointer(g.contiguous()) * 2 * as_bare_pointer(x.contiguous())),
        MATRIX,
    ),
    "product": (product(lambda _, g, a, b: (g * b, g * a)), PAIR),
    "product, what is needed": (
        product(lambda ctx, g, a, b: (g * b if ctx.needs_input_grad[0] else None, g * a)),
        PAIR,
    ),
    "concatenated": (concatenated(lambda length, _: length), tuple(numbers(2, seed=n) for n in range(3))),
    "five outputs": (multiples(used), MATRIX),
    "undefined": (
        function_of(
            lambda x: x * x,
            lambda ctx, g: None if g is None else g * 2 * ctx.saved_tensors[0],
            set_materialize_grads=False,
        ),
        MATRIX,
    ),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_wrong_backward_is_named_by_its_context(name: str) -> None:
    function, inputs, words = BUGS[name]
    assert check_gradients(function, inputs, contexts=()).outcome == "right"
    report = check_gradients(function, inputs, raise_exception=False)
    assert report.outcome == "wrong"
    head = str(report).splitlines()[0]
    assert head.startswith("right in the plain call, wrong when ")
    assert words in head


@pytest.mark.parametrize("name", TWINS)
def test_its_right_twin_passes(name: str) -> None:
    function, inputs = TWINS[name]
    report = check_gradients(function, inputs)
    assert report.outcome == "right"
    assert {"zero cotangents", "cotangent layouts", "accumulation"} <= set(report.contexts)


@pytest.mark.parametrize("name", BUGS)
def test_the_program_in_the_message_prints_the_wrong_number(name: str) -> None:
    function, inputs, _ = BUGS[name]
    message = str(check_gradients(function, inputs, raise_exception=False))
    head, program = message.split("\n  to see it:\n")
    printed: list[Any] = []
    scope = {"function": function, "inputs": inputs, "print": printed.append}
    code = compile(program.replace("\n    ", "\n").strip(), "<program>", "exec")
    if "the backward raised" in head:
        with pytest.raises((RuntimeError, AttributeError)):
            exec(code, scope)
    else:
        exec(code, scope)
        number, why = head.split(") is ")[-1].split(",")[:2]
        if "no gradient arrives" in why:
            assert printed == [[None]]
        else:
            assert float(printed[0]) == pytest.approx(float(number), nan_ok=True)


def test_a_message_says_where_and_what() -> None:
    function, _, _ = BUGS["a kernel takes its cotangent for contiguous"]
    matrix = torch.tensor(np.arange(1.0, 7.0).reshape(2, 3), requires_grad=True)
    head = str(check_gradients(function, matrix, raise_exception=False)).splitlines()[0]
    assert head.startswith(
        "right in the plain call, wrong when the cotangent of output 0 is transposed (its memory is not contiguous): "
        "input 0, entry ("
    )
    assert head.endswith(" in the plain call")


def test_a_hook_that_writes_to_its_tensor_is_found() -> None:
    def clamp(leaf: Any) -> None:
        leaf.data.clamp_(-0.5, 0.5)

    def clamped(x: Any) -> Any:
        if x.is_leaf and x.requires_grad:
            x.register_post_accumulate_grad_hook(clamp)
        return x**2

    report = check_gradients(clamped, numbers(3), raise_exception=False)
    assert "backward is called twice, with hooks" in str(report).splitlines()[0]
    assert "the backward writes to input 0" in str(report)


def test_an_explicit_refusal_is_not_wrong_but_reported() -> None:
    def contiguous(_: Any, g: Any, x: Any) -> Any:
        if not g.is_contiguous():
            raise RuntimeError("the cotangent must be contiguous")
        return 2 * x * g

    report = check_gradients(square(contiguous), MATRIX)
    assert report.outcome == "right"
    assert "the backward raised RuntimeError: the cotangent must be contiguous" in "".join(report.refused)
    assert "not compared" in str(report)


def test_contexts_can_be_chosen_and_switched_off() -> None:
    function, inputs, _ = BUGS["one tensor twice"]
    assert check_gradients(function, inputs, contexts=["zero cotangents"]).contexts == ("zero cotangents",)
    assert check_gradients(function, inputs, contexts="subsets").contexts == ("subsets",)
    assert check_gradients(function, inputs, contexts=()).contexts == ()
    with pytest.raises(ValueError, match="contexts has"):
        check_gradients(function, inputs, contexts=["layouts"])


def test_all_contexts_pass_for_a_right_function() -> None:
    function = lambda x, w: torch.tanh(x @ w)  # noqa: E731 (named for the message)
    report = check_gradients(function, (numbers(2, 3), numbers(3, 2)), contexts="all")
    assert set(report.contexts) >= {each.name for each in tables()["torch"].contexts} - {
        "autocast",
        "one tensor twice",
        "unused outputs",
    }
    assert report.refused == ()


def test_a_function_that_draws_numbers_is_not_tried_where_they_fall_on_other_entries() -> None:
    def noisy(x: Any) -> Any:
        return torch.nn.functional.dropout(x * x, 0.5)

    report = check_gradients(noisy, numbers(3, 4), contexts="all")
    assert report.outcome == "right"
    assert {"accumulation", "subsets"} & set(report.contexts)
    assert not {"input layouts", "threads"} & set(report.contexts)


def test_threads_show_a_buffer_that_they_share() -> None:
    buffer: dict[str, Any] = {}

    def backward(_: Any, g: Any, x: Any) -> Any:
        buffer["g"] = g
        time.sleep(0.001)
        return 2 * x * buffer["g"]

    assert check_gradients(square(backward), MATRIX, contexts=()).outcome == "right"
    report = check_gradients(square(backward), MATRIX, contexts="threads", raise_exception=False)
    assert "wrong when two threads run it at once" in str(report)


def test_contexts_that_cost_more_are_compared_by_name() -> None:
    report = check_gradients(square(lambda _, g, x: 2 * g * x), MATRIX, contexts=["compile", "checkpoint", "vmap"])
    assert {"compile", "checkpoint"} <= set(report.contexts)
    assert any("vmap" in line for line in report.refused)


def test_the_tail_of_a_block_is_drawn_and_found() -> None:
    def whole_blocks_only(_: Any, g: Any, x: Any) -> Any:
        result = 2 * x * g
        result[len(x) // 4 * 4 :] = 0
        return result

    assert tails(4) == [1, 3, 4, 5, 7, 8, 9]
    drawn = points([("n",)], block=4)
    assert check_gradients(square(whole_blocks_only), numbers(8)).outcome == "right"
    assert check_gradients(square(whole_blocks_only), drawn, raise_exception=False).outcome == "wrong"


# A reference, and a gradient that is given


def fused(gradient: Rule) -> Rule:
    """Return a sum of squares that nobody can look into."""
    return function_of(
        lambda x: torch.from_numpy(x.detach().numpy() ** 2).sum(), lambda ctx, g: gradient(g, *ctx.saved_tensors)
    )


def slow(x: Any) -> Any:
    return (x * x).sum()


def test_a_kernel_is_held_against_its_reference() -> None:
    report = check_gradients(fused(lambda g, x: 2 * g * x), MATRIX, reference=slow)
    assert (report.outcome, report.method) == ("right", "certified")
    report = check_gradients(fused(lambda g, x: 2.0001 * g * x), MATRIX, reference=slow, raise_exception=False)
    assert (report.outcome, report.method) == ("wrong", "certified")


def test_a_reference_that_cannot_be_traced_is_differentiated_by_differences() -> None:
    opaque = lambda x: slow(torch.from_numpy(x.detach().numpy()))  # noqa: E731 (a kernel of its own)
    report = check_gradients(fused(lambda g, x: 2 * g * x), MATRIX, reference=opaque)
    assert (report.outcome, report.method) == ("right", "differences")


def test_outputs_are_compared_with_those_of_the_reference() -> None:
    report = check_gradients(lambda x: 1.0001 * slow(x), MATRIX, reference=slow, raise_exception=False)
    assert report.outcome == "wrong"
    assert str(report).startswith("output 0 is ")
    assert str(report).endswith(" in the reference")
    report = check_gradients(lambda x: x * x, MATRIX, reference=slow, raise_exception=False)
    assert str(report) == "output 0 has the shape (2, 3), but that of the reference ()"


@pytest.mark.parametrize("opaque", [False, True], ids=["of NumPy", "opaque"])
def test_a_gradient_of_arrays_is_judged_without_a_library(opaque: bool) -> None:  # noqa: FBT001 (a parameter)
    x, w = np.linspace(0.5, 2.0, 6).reshape(2, 3), np.array([0.3, 0.7, 1.1])

    def function(x: Any, w: Any) -> Any:
        return np.array([[float(a) * float(b) for a, b in zip(r, w, strict=True)] for r in x]) if opaque else x * w

    report = check_gradients(function, (x, w), gradient=lambda g, x, w: (g * w, (g * x).sum(0)))
    assert (report.outcome, report.method) == ("right", "differences" if opaque else "certified")
    report = check_gradients(function, (x, w), gradient=lambda g, x, w: (g * w, (g * x)[0]), raise_exception=False)
    assert report.outcome == "wrong"
    assert "the gradient with respect to input 1" in str(report)


def test_a_given_gradient_of_tensors_takes_the_cotangents_of_all_outputs() -> None:
    def gradient(cotangents: Any, x: Any, scale: float) -> Any:
        g, h = cotangents
        assert not x.requires_grad
        return scale * (g * x.cos() - h * x.sin())

    function = lambda x, scale: (scale * x.sin(), scale * x.cos())  # noqa: E731 (named for the message)
    assert check_gradients(function, (numbers(3), 2.0), gradient=gradient).outcome == "right"


def test_a_given_gradient_must_leave_its_cotangent_alone() -> None:
    def gradient(g: Any, x: Any) -> Any:
        g *= 2 * x
        return g

    report = check_gradients(lambda x: x * x, np.array([1.0, 2.0]), gradient=gradient, raise_exception=False)
    assert "writes to the seed of output 0" in str(report)


def test_a_given_gradient_with_too_few_parts_is_wrong() -> None:
    x = np.array([1.0, 2.0])
    report = check_gradients(lambda a, b: a * b, (x, x), gradient=lambda g, _, b: g * b, raise_exception=False)
    assert (report.outcome, str(report)) == ("wrong", "the gradient has 1 parts, but there are 2 inputs")
    with pytest.raises(ValueError, match="leave out other modes"):
        check_gradients(lambda x: x * x, x, gradient=lambda g, x: 2 * g * x, order=2)


def test_a_device_that_fails_in_a_context_ends_the_check() -> None:
    """The error is that of PyTorch for GPUs: each later call in the process raises it, too."""
    calls = []

    class AcceleratorError(RuntimeError):
        pass

    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            del ctx
            calls.append(x.is_contiguous())
            if not all(calls):
                raise AcceleratorError("CUDA error: misaligned address")
            return 2 * x

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            del ctx
            return 2 * cotangent

    report = check_gradients(Double.apply, torch.randn(3, 4, requires_grad=True), raise_exception=False)
    assert report.outcome == "inconclusive"
    assert report.message.startswith("the device failed when ")
    assert report.message.endswith(
        "and input 0 is transposed (its memory is not contiguous): CUDA error: misaligned address"
    )
    assert calls.count(False) == 1


@dataclass(frozen=True, slots=True)
class Numbered:
    """A variant for some arrays, by number."""

    numbers: list[int]
    parts: tuple[Callable[[], Any], ...] = ()


@pytest.mark.parametrize(
    ("shapes", "whole", "parts"),
    [
        ([(2, 3), (4,), (3, 2), (1, 1)], [0, 2], [[0], [2]]),
        ([(2, 3), (4,)], [0], []),
        ([(2, 2)] * 6, [0, 1, 2, 3, 4, 5], [[0], [1], [2], [3]]),
    ],
)
def test_several_arrays_in_a_layout_are_tried_one_by_one_too(shapes: Any, whole: list[int], parts: list[Any]) -> None:
    matrices, vectors = Layout("transposed", "views", "{x}.T", (2,)), Layout("reversed", "views", "{x}[::-1]", (3,))
    make: Any = lambda _, numbers: Numbered([*numbers])  # noqa: E731 (a variant)
    variant: Any
    (variant,) = _in_layouts(shapes, [matrices, vectors], make)
    assert (variant.numbers, [part().numbers for part in variant.parts]) == (whole, parts)
