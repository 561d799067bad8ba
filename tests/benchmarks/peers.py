"""How is each checker asked about a function, with an error put into one entry of its gradient if wanted?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from refgrad import check_gradients
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, start
from refgrad.oracles import CertifiedOracle, judge
from refgrad.oracles.screening import ROUNDING, Expanded, Sweep
from tests.benchmarks.checked_graphs import Array, Graph
from tests.oracles.cross_checks.finite_differences import finite_differences

ROUNDINGS: Final = 64.0
UNIT: Final = 2.0**-53


@dataclass(frozen=True, slots=True)
class Fault:
    """A relative error put into the gradient of one entry of one leaf."""

    leaf: int
    entry: tuple[int, ...]
    error: float


class Checker:
    """Says of a function whether its gradient is right."""

    name: str
    graphs: int
    """How many graphs it is tried on for false alarms; fewer for slow ones."""
    largest: int = 10_000
    """The largest number of inputs at which it is timed."""

    def passes(self, graph: Graph, fault: Fault | None = None) -> bool:
        """Whether the checker finds nothing wrong."""
        raise NotImplementedError

    def prepare(self, graph: Graph) -> Callable[[], bool]:
        """Return the check of a graph without what is not part of it, for timing."""
        return lambda: self.passes(graph)


class TorchChecker(Checker):
    """A checker of PyTorch functions."""

    @cached_property
    def engine(self) -> Engine:
        """PyTorch."""
        return start(find_adapter("torch"))

    @cached_property
    def torch(self) -> Any:
        """The library."""
        return self.engine.namespace["torch"]

    @cached_property
    def faulty_identity(self) -> Any:
        """An identity whose backward is off in one entry."""
        torch = self.torch

        class FaultyIdentity(torch.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any, entry: tuple[int, ...], error: float) -> Any:
                ctx.entry, ctx.error = entry, error
                return x.clone()

            @staticmethod
            def backward(ctx: Any, *cotangents: Any) -> Any:
                faulty = cotangents[0].clone()
                faulty[ctx.entry] *= 1 + ctx.error
                return faulty, None, None

        return FaultyIdentity.apply

    def tensors(self, graph: Graph) -> list[Any]:
        """The leaves."""
        return [self.torch.tensor(array, requires_grad=True) for array in graph.arrays]

    def function(self, graph: Graph, fault: Fault | None) -> Callable[..., Any]:
        """The function, with the fault in it."""
        inner = graph.function(self.engine)
        if fault is None:
            return inner

        def faulty(*tensors: Any) -> Any:
            changed = list(tensors)
            changed[fault.leaf] = self.faulty_identity(changed[fault.leaf], fault.entry, fault.error)
            return inner(*changed)

        return faulty

    def gradients(self, graph: Graph, fault: Fault | None) -> list[Array]:
        """The gradients under the graph's cotangent."""
        tensors = self.tensors(graph)
        output = self.function(graph, fault)(*tensors)
        output.backward(self.torch.tensor(graph.cotangent.to_numpy().reshape(tuple(output.shape))))
        return [np.zeros(t.shape) if t.grad is None else t.grad.numpy() for t in tensors]


class Balls(TorchChecker):
    """The certified oracle, asked for every entry."""

    name = "refgrad: certified oracle"
    graphs = 10_000

    def passes(self, graph: Graph, fault: Fault | None = None) -> bool:
        """Hold every entry against its interval and its rounding budget."""
        return self.judged(graph, self.gradients(graph, fault))

    def judged(self, graph: Graph, gradients: list[Array]) -> bool:
        """Whether no entry is wrong or inaccurate."""
        oracle = CertifiedOracle(graph.scenario)
        contributions = ((graph.output, graph.cotangent),)
        for leaf, gradient in zip(graph.leaves, gradients, strict=True):
            if judge(gradient, oracle.gradient(leaf.name, contributions)).outcome == "passed":
                continue
            if judge(gradient, oracle.narrowest_gradient(leaf.name, contributions)).outcome in {"wrong", "inaccurate"}:
                return False
        return True


class ScreenedBalls(Balls):
    """The certified oracle behind the screen in one random direction, as `check_gradients` asks it."""

    name = "refgrad: certified oracle, screened"

    def __init__(self) -> None:
        self.choices = np.random.default_rng(0)

    def judged(self, graph: Graph, gradients: list[Array]) -> bool:
        """Screen first."""
        named = {leaf.name: gradient for leaf, gradient in zip(graph.leaves, gradients, strict=True)}
        seed = graph.cotangent.to_numpy()
        screened = Sweep(Expanded(graph.scenario), named, self.choices).passes(((graph.output, seed),), ROUNDING)
        return screened or super().judged(graph, gradients)


class Traced(TorchChecker):
    """`refgrad.check_gradients` on functions that it can trace."""

    name = "refgrad.check_gradients, traced"
    graphs = 2_000
    method: Literal["auto", "differences"] = "auto"

    def passes(self, graph: Graph, fault: Fault | None = None) -> bool:
        """Ask it."""
        return bool(
            check_gradients(
                self.function(graph, fault),
                self.tensors(graph),
                method=self.method,
                raise_exception=False,
            )
        )

    def prepare(self, graph: Graph) -> Callable[[], bool]:
        """Leave out the making of the function."""
        function, tensors = self.function(graph, None), self.tensors(graph)
        return lambda: bool(check_gradients(function, tensors, method=self.method, raise_exception=False))


class Opaque(Traced):
    """`refgrad.check_gradients` on functions of which it knows nothing."""

    name = "refgrad.check_gradients, opaque"
    graphs = 500
    method = "differences"


class FiniteDifferences(TorchChecker):
    """The batched finite differences of refgrad's oracles, which need the scenario."""

    name = "refgrad: finite-differences oracle"
    graphs = 2_000
    largest = 1_000

    def passes(self, graph: Graph, fault: Fault | None = None) -> bool:
        """Accept what lies within the error estimate."""
        differences = finite_differences(graph.scenario, ((graph.output, graph.cotangent),))
        for leaf, gradient in zip(graph.leaves, self.gradients(graph, fault), strict=True):
            difference = differences[leaf.name]
            allowed = difference.error + ROUNDINGS * UNIT * np.abs(difference.value)
            if np.any(np.abs(gradient - difference.value) > allowed):
                return False
        return True


class GradCheck(TorchChecker):
    """`torch.autograd.gradcheck` as it comes."""

    name = "torch.autograd.gradcheck"
    graphs = 1_000
    fast = False

    def passes(self, graph: Graph, fault: Fault | None = None) -> bool:
        """Ask it."""
        return self.asked(self.function(graph, fault), self.tensors(graph))

    def prepare(self, graph: Graph) -> Callable[[], bool]:
        """Leave out the making of the function."""
        function, tensors = self.function(graph, None), self.tensors(graph)
        return lambda: self.asked(function, tensors)

    def asked(self, function: Callable[..., Any], tensors: list[Any]) -> bool:
        """Run it."""
        with warnings.catch_warnings(action="ignore"):
            return bool(
                self.torch.autograd.gradcheck(function, tuple(tensors), raise_exception=False, fast_mode=self.fast)
            )


class FastGradCheck(GradCheck):
    """`torch.autograd.gradcheck` in its fast mode."""

    name = "torch.autograd.gradcheck, fast_mode"
    fast = True


class HipsAutograd(Checker):
    """`autograd.test_util.check_grads`, reverse mode, first order."""

    name = "autograd.test_util.check_grads"
    graphs = 1_000

    @cached_property
    def engine(self) -> Engine:
        """HIPS autograd."""
        return start(find_adapter("autograd"))

    @cached_property
    def faulty_identity(self) -> Any:
        """An identity whose backward is off in one entry."""
        from autograd.extend import defvjp, primitive  # noqa: PLC0415 (only where it is installed)

        @primitive  # type: ignore[untyped-decorator]
        def identity(x: Any, entry: tuple[int, ...], error: float) -> Any:
            del entry, error
            return np.array(x)

        def rule(_answer: Any, x: Any, entry: tuple[int, ...], error: float) -> Callable[[Any], Any]:
            factor = np.ones(np.shape(x))
            factor[entry] += error
            return lambda cotangent: cotangent * factor

        defvjp(identity, rule, argnums=(0,))
        return identity

    def passes(self, graph: Graph, fault: Fault | None = None) -> bool:
        """Ask it."""
        return self.prepare(graph, fault)()

    def prepare(self, graph: Graph, fault: Fault | None = None) -> Callable[[], bool]:
        """Leave out the making of the function."""
        from autograd.test_util import check_grads  # noqa: PLC0415 (only where it is installed)

        inner = graph.function(self.engine)

        def faulty(*arrays: Any) -> Any:
            changed = list(arrays)
            if fault is not None:
                changed[fault.leaf] = self.faulty_identity(changed[fault.leaf], fault.entry, fault.error)
            return inner(*changed)

        def check() -> bool:
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                    np.random.seed(0)  # noqa: NPY002 (it draws its directions from numpy's global generator)
                    check_grads(faulty, modes=["rev"], order=1)(*graph.arrays)
            except AssertionError:
                return False
            return True

        return check


CHECKERS: Final[tuple[type[Checker], ...]] = (
    Balls,
    ScreenedBalls,
    Traced,
    Opaque,
    FiniteDifferences,
    GradCheck,
    FastGradCheck,
    HipsAutograd,
)
