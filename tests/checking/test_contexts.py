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
from refgrad.checking.contexts.variants import Mismatch, PlainCall, Refused, Variant
from refgrad.strategies import points, tails

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = [pytest.mark.engines, pytest.mark.turns(2)]

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


def with_strides_of(tensor: Any, other: Any) -> Any:
    """Return what a kernel reads that takes the strides of one tensor for those of another, if there is so much."""
    held = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    reach = 1 + sum((n - 1) * stride for n, stride in zip(tensor.shape, other.stride(), strict=True))
    return torch.as_strided(tensor, tensor.shape, other.stride()) if held >= reach else tensor


def linear(gradient: Rule) -> Rule:
    """Return a layer with a bias, by a rule that takes the context, the cotangent, the input and the weight."""
    return function_of(lambda x, w, b: x @ w + b, lambda ctx, g: gradient(ctx, g, *ctx.saved_tensors[:2]))


def quantized(g: Any) -> Any:
    """Return a cotangent that is scaled by its largest entry before it is multiplied, as for 8 bits."""
    scale = g.abs().max()
    return (g / scale) * scale


def rows_of(g: Any) -> Any:
    """Return the sum over rows of a kernel that steps from row to row by the number of columns."""
    flat = torch.as_strided(g, (g.numel(),), (1,)) if g.stride(-1) == 1 else g.reshape(-1)
    return flat.view(g.shape).sum(0)


LAYER = (numbers(4, 3), numbers(3, 2, seed=1), numbers(2, seed=2))
VOLUME = (numbers(2, 2, 3, 2, 2),)

BUGS: dict[str, tuple[Rule, tuple[Any, ...], str]] = {
    "a kernel takes its cotangent for contiguous": (
        square(lambda _, g, x: as_bare_pointer(g) * 2 * x),
        MATRIX,
        "the cotangent of output 0 is transposed",
    ),
    "a kernel takes its input for contiguous": (
        square(lambda _, g, x: g * 2 * as_bare_pointer(x)),
        MATRIX,
        "input 0 is every second entry",
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
    "a cotangent is read with the strides of the input": (
        square(lambda _, g, x: with_strides_of(g, x) * 2 * x),
        MATRIX,
        "the cotangent of output 0 is every second entry",
    ),
    "rows of a cotangent are taken for dense": (
        linear(lambda _, g, x, w: (g @ w.T, x.T @ g, rows_of(as_bare_pointer(g)))),
        LAYER,
        "the cotangent of output 0 is",
    ),
    "channels_last is read as channels first in the input": (
        square(lambda _, g, x: 2 * g * (x.permute(0, 2, 3, 1).reshape(x.shape) if x.stride(1) == 1 else x)),
        IMAGE,
        "input 0 is in channels_last",
    ),
    "a volume is taken for contiguous": (
        square(lambda _, g, x: 2 * x * as_bare_pointer(g)),
        VOLUME,
        "the cotangent of output 0 is",
    ),
    "the last stride of the input is taken for 1": (
        square(lambda _, g, x: 2 * g * (x if x.stride(-1) == 1 else x.roll(1))),
        (numbers(5),),
        "every second entry",
    ),
    "a view of the input is taken": (
        square(lambda _, g, x: (g.reshape(-1) * 2 * x.view(-1)).reshape(x.shape)),
        MATRIX,
        "the backward raised RuntimeError",
    ),
    "a packed tensor is read from its start": (
        product(lambda _, g, a, b: (g * b, g * from_start(a))),
        PAIR,
        "input 0 is a part of a larger tensor",
    ),
    "no gradient for the weight if the bias is frozen": (
        linear(lambda ctx, g, x, w: (g @ w.T, x.T @ g if ctx.needs_input_grad[2] else None, g.sum(0))),
        LAYER,
        "input 2 is constant: no gradient is required",
    ),
    "the flag of another input is read": (
        linear(lambda ctx, g, x, w: (g @ w.T if ctx.needs_input_grad[1] else None, x.T @ g, g.sum(0))),
        LAYER,
        "input 1 is constant: no gradient is required",
    ),
    "gradients of constants are left out": (
        function_of(
            lambda a, b: a * b,
            lambda ctx, g: (
                (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0])
                if ctx.needs_input_grad[0]
                else (g * ctx.saved_tensors[0], g * ctx.saved_tensors[1])
            ),
        ),
        PAIR,
        "input 1 is the only one that requires a gradient",
    ),
    "one tensor twice, found by its storage": (
        product(
            lambda _, g, a, b: (
                (g * b, g * a)
                if a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr()
                else (2 * g * b, g * a)
            )
        ),
        PAIR,
        "one tensor is given",
    ),
    "a cotangent is scaled to 8 bits": (square(lambda _, g, x: 2 * x * quantized(g)), MATRIX, "the cotangent is zero"),
    "the first entry of a cotangent that is not 0": (
        square(lambda _, g, x: 2 * x * g * (g.flatten()[g.flatten().nonzero()[0]] * 0 + 1)),
        MATRIX,
        "the cotangent is zero: the backward raised IndexError",
    ),
    "a cotangent that is undefined is added": (
        multiples(lambda gs: sum(k * g for k, g in enumerate(gs, 1))),
        MATRIX,
        "no cotangent is defined: the backward raised TypeError",
    ),
    "the strides of the input are taken for those of its cotangent": (
        square(lambda _, g, x: g * 2 * with_strides_of(x, g)),
        MATRIX,
        "transposed",
    ),
}

BY_NAME: dict[str, tuple[Rule, tuple[Any, ...], str, str]] = {}


def by_name(context: str, words: str, inputs: tuple[Any, ...] = MATRIX) -> Callable[[Rule], Rule]:
    """Enter a function that is wrong in a context that is only tried by name."""

    def enter(function: Rule) -> Rule:
        BY_NAME[function.__name__] = function, inputs, context, words
        return function

    return enter


@by_name("checkpoint", "use_reentrant=False")
def saves_something_else_when_it_runs_again(x: Any) -> Any:
    """Return the square by a rule that saves something else when its forward runs inside of a backward."""

    class Counted(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x * (4 if torch._C._current_graph_task_id() >= 0 else 2))  # noqa: SLF001
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    return Counted.apply(x)


@by_name("reentrant checkpoint", "use_reentrant=True")
def saves_what_it_has_without_gradients(x: Any) -> Any:
    """Return the square by a rule that remembers whether the first forward had gradients."""
    scale = 2 if torch.is_grad_enabled() and not getattr(saves_what_it_has_without_gradients, "dry", False) else 4
    saves_what_it_has_without_gradients.dry = not torch.is_grad_enabled()  # type: ignore[attr-defined]
    return square(lambda _, g, x: scale * x * g)(x)


class SquareRule(torch.autograd.Function):  # type: ignore[misc]
    """The square with its right derivative, to which a context's rule may be added."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        del output
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * g


@by_name("vmap", "vmap")
def has_a_wrong_rule_for_batches(x: Any) -> Any:
    """Return the square with a rule for batches that computes another gradient."""

    class Batched(SquareRule):
        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            del info
            return x * x.detach(), in_dims[0]

    return Batched.apply(x)


@by_name("jvp", "forward mode is wrong")
def has_a_wrong_tangent(x: Any) -> Any:
    """Return the square with a tangent that lacks the factor of 2."""

    class Forward(SquareRule):
        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return ctx.saved_tensors[0] * tangent

    return Forward.apply(x)


@by_name("autocast", "autocast is on")
def casts_in_the_forward_only(x: Any) -> Any:
    """Return the square by a rule whose backward scales again where autocast is on in the forward."""
    scale = 4 if torch.is_autocast_enabled("cpu") else 2
    return square(lambda _, g, x: scale * x * g)(x)


@by_name("compile", "it is compiled")
def knows_when_it_is_compiled(x: Any) -> Any:
    """Return the square by a path for compilers that lacks a factor."""
    if torch.compiler.is_compiling():
        return x * x.detach()
    return x * x


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


@pytest.mark.parametrize("name", BY_NAME)
def test_a_wrong_backward_is_named_by_its_context_if_that_is_tried(name: str) -> None:
    function, inputs, context, words = BY_NAME[name]
    assert check_gradients(function, inputs).outcome == "right"
    report = check_gradients(function, inputs, contexts=context, raise_exception=False)
    assert report.outcome == "wrong"
    assert words in str(report).splitlines()[0]


def test_there_are_thirty_bugs() -> None:
    assert len(BUGS) + len(BY_NAME) >= 30


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
        with pytest.raises((RuntimeError, AttributeError, IndexError, TypeError)):
            exec(code, scope)
    else:
        exec(code, scope)
        number, why = head.split(") is ")[-1].split(",")[:2]
        if "no gradient arrives" in why:
            assert None in printed[0]
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


def test_contexts_of_the_backward_share_one_forward() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(x)
        return square(lambda _, g, x: 2 * x * g)(x)

    counts = []
    for contexts in ((), ["cotangent layouts", "zero cotangents"]):
        calls.clear()
        assert check_gradients(counted, MATRIX, contexts=contexts).contexts == tuple(contexts)
        counts.append(len(calls))
    assert counts[0] == counts[1]


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
    layout = "input 0 is every second entry of a larger tensor (its memory is not contiguous)"
    assert report.message.endswith(f"and {layout}: CUDA error: misaligned address")
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
    make: Any = lambda _, numbers, parts: Numbered([*numbers], tuple(parts))  # noqa: E731 (a variant)
    variant: Any
    (variant,) = _in_layouts(shapes, [matrices, vectors], make)
    assert (variant.numbers, [part().numbers for part in variant.parts]) == (whole, parts)


class Failing(PlainCall):
    """Calls that fail in the contexts of some names."""

    def __init__(self, **failures: Exception) -> None:
        self.failures = failures

    def compare(self, variant: Variant) -> None:
        if variant.where in self.failures:
            raise self.failures[variant.where]


WRONG, REFUSED = Mismatch("wrong"), Refused("refused")


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ({}, []),
        ({"first": WRONG}, []),
        ({"whole": WRONG}, ["whole"]),
        ({"whole": REFUSED}, ["whole"]),
        ({"whole": WRONG, "first": WRONG}, ["first"]),
        ({"whole": WRONG, "first": REFUSED}, ["whole", "first"]),
        ({"whole": REFUSED, "first": REFUSED}, ["first"]),
        ({"whole": REFUSED, "first": REFUSED, "second": WRONG}, ["second", "first"]),
    ],
)
def test_a_failure_is_that_of_the_parts_that_explain_it(failures: dict[str, Exception], expected: list[str]) -> None:
    whole = Variant(where="whole", parts=[lambda: Variant(where="first"), lambda: Variant(where="second")])
    assert [variant.where for variant, _ in Failing(**failures).unlike(whole)] == expected
