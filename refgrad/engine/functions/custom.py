"""Functions with a derivative rule of the user's own, and functions that are computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refgrad.engine import errors
from refgrad.engine.autograd import grad
from refgrad.engine.graph.node import Contributions, GraphNode, Node, next_number
from refgrad.engine.graph.sweep import enable_grad, is_grad_enabled, no_grad
from refgrad.engine.graph.tensor import Tensor


class FunctionContext:
    """What ``forward`` passes to ``backward``: saved tensors, and any attributes that it sets."""

    saved_tensors: tuple[Tensor, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Save inputs or the output. A write to one of them before the backward pass is detected."""
        self.saved_tensors = tensors


class Function:
    """A function with a rule of its own: subclasses define the static methods ``forward`` and ``backward``.

    ``forward(ctx, *inputs)`` returns a tensor. ``backward(ctx, cotangent)`` returns the gradient of each input, or None
    for an input without one. It is recorded if the gradient is to be differentiated, so its operators must then be
    those of this engine.
    """

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        """Return the result."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        """Return the gradient of each input."""
        raise NotImplementedError

    @classmethod
    def apply(cls, *inputs: Any) -> Tensor:
        """Call the function, and record it as one node if an input requires grad."""
        ctx = FunctionContext()
        nodes = [x.node if isinstance(x, Tensor) else None for x in inputs]
        ctx.needs_input_grad = tuple(node is not None for node in nodes)
        with no_grad():
            output = cls.forward(ctx, *inputs)
        result = Tensor(output.array, None, output.writes)
        if is_grad_enabled() and any(ctx.needs_input_grad):
            result.node = CustomNode(cls, ctx, tuple(node for node in nodes if node is not None), output)
        return result


class CustomNode(Node):
    """A call of a :class:`Function`. ``origins`` are the nodes of the saved tensors, or "output" for the result."""

    __slots__ = ("context", "function", "needs", "origins", "saves")

    def __init__(
        self, function: type[Function], context: FunctionContext, parents: tuple[GraphNode, ...], output: Tensor
    ) -> None:
        self.function, self.context, self.parents = function, context, parents
        self.needs = context.needs_input_grad  # type: ignore[misc]
        saved, context.saved_tensors = context.saved_tensors, ()
        self.saves = tuple(f"saved_tensors[{n}]" for n in range(len(saved)))  # type: ignore[misc]
        self.values, self.guards = tuple(each.array for each in saved), tuple(each.writes for each in saved)
        self.origins: tuple[Any, ...] = tuple("output" if each is output else each.node for each in saved)
        self.number, self.watch = next_number(), None
        self.shape, self.dtype = output.shape, output.dtype

    def name(self) -> str:
        """Return the name of the function, with PyTorch's ending."""
        return f"{self.function.__name__}Backward"

    def vjp(self, cotangent: Any) -> Contributions:
        """Return the gradients of the rule."""
        return [(parent, gradient.array) for parent, gradient in self.pulled(Tensor(cotangent), recorded=False)]

    def vjp_recorded(self, cotangent: Any) -> Contributions:
        """Return the gradients of the rule, recorded."""
        return self.pulled(cotangent, recorded=True)

    def pulled(self, cotangent: Tensor, *, recorded: bool) -> list[tuple[GraphNode, Tensor]]:
        """Return the gradient of each parent that has one. Raise RuntimeError for gradients that do not fit."""
        nodes = [self if origin == "output" else origin for origin in self.origins]
        triples = zip(self.values or (), nodes, self.guards, strict=True)
        self.context.saved_tensors = tuple(Tensor(v, node if recorded else None, w) for v, node, w in triples)
        try:
            returned = self.function.backward(self.context, cotangent)
        finally:
            self.context.saved_tensors = ()
        gradients = returned if isinstance(returned, tuple | list) else (returned,)
        if len(gradients) != len(self.needs):
            message = f"{self.name()} returned {len(gradients)} gradients, but there are {len(self.needs)} inputs"
            raise RuntimeError(message)
        needed = [gradient for gradient, need in zip(gradients, self.needs, strict=True) if need]
        pairs = [(parent, g) for parent, g in zip(self.parents, needed, strict=True) if g is not None]
        for parent, gradient in pairs:
            if gradient.shape != parent.shape:
                raise RuntimeError(errors.grad_mismatch(f"a gradient of {self.name()}", gradient.shape, parent.shape))
        return pairs


def checkpoint(function: Callable[..., Tensor], *inputs: Any) -> Tensor:
    """Return ``function(*inputs)``, which keeps only the inputs and is computed again in the backward pass.

    Tensors that the function takes from elsewhere than its inputs get no gradient.
    """
    return _Checkpoint.apply(function, *inputs)


class _Checkpoint(Function):
    """The function that :func:`checkpoint` records."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        ctx.function, *tensors = inputs
        ctx.save_for_backward(*tensors)
        return ctx.function(*tensors)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> Any:
        recorded = is_grad_enabled()
        with enable_grad():
            # a tensor that is given twice has a gradient for each position
            tensors = [x.clone() if recorded and x.node is not None else x.detach() for x in ctx.saved_tensors]
            needed = [x for x, need in zip(tensors, ctx.needs_input_grad[1:], strict=True) if need]
            for x in needed:
                if x.node is None:
                    x.requires_grad_()
            output = ctx.function(*tensors)
        if output.node is None:
            return (None,) * len(ctx.needs_input_grad)
        gradients = iter(grad(output, needed, cotangent, create_graph=recorded, allow_unused=True))
        return (None, *(next(gradients) if need else None for need in ctx.needs_input_grad[1:]))
