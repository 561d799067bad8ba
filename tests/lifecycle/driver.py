"""Scenarios run on a library that is spelled like PyTorch, and held against the lifecycle model step by step."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from refgrad.lifecycle import (
    ExpectedFlag,
    ExpectedValue,
    Fails,
    Gradient,
    NoGradient,
    Open,
    Policy,
    Prediction,
    Seen,
    lower,
)
from refgrad.oracles import CertifiedOracle, judge
from refgrad.scenario import (
    Apply,
    Backward,
    Constant,
    DeleteName,
    Detach,
    EnterMode,
    Grad,
    Hook,
    Leaf,
    LeaveMode,
    Read,
    RequireGrad,
    RetainGrad,
    Scenario,
    Slice,
    Step,
    StopRequiringGrad,
    Unhook,
    Write,
    ZeroGrad,
)

PHRASES = {
    "freed-graph": "backward through the graph a second time",
    "implicit-seed": "grad can be implicitly created only for scalar outputs",
    "seed-shape": "Mismatch in shape",
    "no-graph": "does not require grad",
    "modified-in-place": "modified by an inplace operation",
    "leaf-in-place": "leaf Variable that requires grad",
    "write-shape": "shape|size",
    "hook-on-constant": "cannot register a hook",
    "retain-grad-on-constant": "can't retain_grad",
    "requires-grad-of-non-leaf": "you can only change requires_grad flags of leaf variables",
}
ACTIONS = {"add": "add_", "multiply": "mul_", "copy": "copy_"}
KEYWORDS = {"axis": "dim", "keepdims": "keepdim"}


class Driver:
    """The tensors and hooks of one run; ``apart`` computes what may be a view anew, so that nothing is shared."""

    def __init__(self, torch: Any, *, apart: bool) -> None:
        self.torch = torch
        self.apart = apart
        self.tensors: dict[str, Any] = {}
        self.handles: dict[str, Any] = {}
        self.seen: dict[str, list[Any]] = {}
        self.regions: list[Any] = []

    def take(self, step: Step) -> Any:  # noqa: C901, PLR0912 (one case for each kind of step)
        """Take a step; return what it shows."""
        torch, tensors = self.torch, self.tensors
        match step:
            case Leaf():
                tensors[step.name] = self.constant(step.value).requires_grad_(step.requires_grad)
            case Apply():
                tensors[step.name] = self.apply(step)
            case Detach():
                tensors[step.name] = tensors[step.source].detach()
            case Grad():
                output, leaf, seed = tensors[step.output], tensors[step.leaf], self.seed(step.seed)
                (tensors[step.name],) = torch.autograd.grad(output, leaf, seed, create_graph=True)
            case Backward():
                tensors[step.output].backward(self.seed(step.seed), retain_graph=step.retain_graph)
            case Write():
                self.write(step)
            case EnterMode():
                region = torch.no_grad() if step.mode == "no_grad" else torch.enable_grad()
                region.__enter__()
                self.regions.append(region)
            case LeaveMode():
                error = ValueError("left by an error") if step.by_error else None
                self.regions.pop().__exit__(error and type(error), error, None)
            case RequireGrad():
                tensors[step.name].requires_grad_(requires_grad=True)
            case StopRequiringGrad():
                tensors[step.name].requires_grad_(requires_grad=False)
            case RetainGrad():
                tensors[step.name].retain_grad()
            case Hook():
                self.hook(step)
            case Unhook():
                self.handles[step.name].remove()
            case ZeroGrad():
                self.zero(tensors[step.name], to_zeros=step.to_zeros)
            case DeleteName():
                del tensors[step.name]
            case Read():
                return self.read(step)
            case _:
                raise AssertionError(step)
        return None

    def constant(self, value: Constant) -> Any:
        """Return a new tensor."""
        return self.torch.tensor(value.to_numpy(), dtype=getattr(self.torch, value.dtype))

    def seed(self, value: Constant | None) -> Any:
        """Return a seed, if there is one."""
        return None if value is None else self.constant(value)

    def apply(self, step: Apply) -> Any:
        """Call the library's function of the operator's name."""
        attributes = {KEYWORDS.get(name, name): value for name, value in step.attributes if value is not None}
        result = getattr(self.torch, step.operator)(*(self.tensors[name] for name in step.arguments), **attributes)
        return self.torch.neg(self.torch.neg(result)) if self.apart and step.operator in {"reshape", "sum"} else result

    def write(self, step: Write) -> None:
        """Overwrite all of a tensor, or a part."""
        target, operand = self.tensors[step.name], self.tensors[step.operand]
        if step.index is None:
            getattr(target, ACTIONS[step.action])(operand)
            return
        index = tuple(item.to_native() if isinstance(item, Slice) else item for item in step.index)
        combined = {
            "add": lambda: target[index] + operand,
            "multiply": lambda: target[index] * operand,
            "copy": lambda: operand,
        }
        target[index] = combined[step.action]()

    def hook(self, step: Hook) -> None:
        """Hook into a tensor."""
        seen = self.seen[step.name] = []

        def called(gradient: Any) -> Any:
            seen.append(np.array(gradient.detach().numpy()))
            return None if step.factor is None else gradient * step.factor

        self.handles[step.name] = self.tensors[step.tensor].register_hook(called)

    @staticmethod
    def zero(leaf: Any, *, to_zeros: bool) -> None:
        """Forget a gradient, or make it zeros."""
        if not to_zeros:
            leaf.grad = None
        elif leaf.grad is not None:
            leaf.grad.zero_()

    def read(self, step: Read) -> Any:
        """Look at something."""
        if step.what == "hook":
            return list(self.seen[step.name])
        x = self.tensors[step.name]
        reads: dict[str, Callable[[], Any]] = {
            "value": lambda: np.array(x.detach().numpy()),
            "grad": lambda: None if x.grad is None else np.array(x.grad.detach().numpy()),
            "requires_grad": lambda: x.requires_grad,
            "is_leaf": lambda: x.is_leaf,
            "recorded": lambda: x.grad_fn is not None,
        }
        return reads[step.what]()


def disagreement(scenario: Scenario, torch: Any, policy: Policy, *, apart: bool = False) -> str | None:
    """Return what the first step does that the model did not predict; None if all is as predicted."""
    lowered = lower(scenario, policy)
    oracle = CertifiedOracle(lowered.scenario)
    driver = Driver(torch, apart=apart)
    try:
        for number, (step, expected) in enumerate(zip(scenario.steps, lowered.predictions, strict=True), 1):
            actual: Any = None
            error: Exception | None = None
            try:
                actual = driver.take(step)
            except Exception as raised:  # noqa: BLE001 (whatever a library raises is what it shows)
                error = raised
            wrong = _compared(expected, actual, error, oracle)
            if wrong:
                return f"step {number}, {step.to_text()}: {wrong}"
    finally:
        while driver.regions:
            driver.regions.pop().__exit__(None, None, None)
    return None


def _compared(expected: Prediction, actual: Any, error: Exception | None, oracle: CertifiedOracle) -> str | None:  # noqa: C901, PLR0911 (one case for each prediction)
    if isinstance(expected, Open):
        return None
    if isinstance(expected, Fails):
        phrases = [PHRASES[kind] for kind in (expected.kind, *expected.others)]
        return None if error is not None and re.search("|".join(phrases), str(error)) else f"{expected}, but {error!r}"
    if error is not None:
        return f"{expected}, but {error!r}"
    match expected:
        case ExpectedFlag(holds=holds):
            return None if actual is holds else f"{expected}, but {actual}"
        case NoGradient():
            return None if actual is None else f"{expected}, but {actual}"
        case ExpectedValue():
            return _judged(actual, oracle.value(expected.lowered))
        case Gradient() if actual is None:
            return f"{expected}, but None" if expected.certain else None
        case Gradient():
            return _judged(actual, oracle.gradient(expected.leaf, expected.contributions))
        case Seen():
            if len(actual) != len(expected.calls):
                return f"{expected}, but {len(actual)} calls"
            pairs = zip(actual, expected.calls, strict=True)
            problems = [_judged(array, oracle.gradient(expected.tensor, (call,))) for array, call in pairs]
            return next(filter(None, problems), None)
    return None


def _judged(array: Any, certified: Any) -> str | None:
    judgement = judge(array, certified)
    return None if judgement.outcome == "passed" else str(judgement)
