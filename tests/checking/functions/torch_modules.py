"""Modules of PyTorch and what goes with them: layers, dropout, statistics, checkpoints, containers, odd inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.checking.functions.case import Case, Function
from tests.checking.functions.torch_inputs import constant, normal, own, positive

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")
checkpoint: Any = pytest.importorskip("torch.utils.checkpoint", reason="needs refgrad[torch]")

nn = torch.nn


def seeded(module: Function) -> Any:
    """Return a module of float64, made from a seed."""
    with torch.random.fork_rng():
        torch.manual_seed(4)
        return module().double()


MLP = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))
NORM = seeded(lambda: nn.BatchNorm1d(3))
NORM_IN_EVAL = seeded(lambda: nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)).eval())
RECURRENT = seeded(lambda: nn.GRU(3, 2, batch_first=True))
TRANSFORMER = seeded(lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True))
EMBEDDING = seeded(lambda: nn.Embedding(5, 3))


class Affine(nn.Module):  # type: ignore[misc, name-defined]
    """A layer whose own rule forgets a factor where ``wrong``."""

    def __init__(self, *, wrong: bool) -> None:
        super().__init__()
        self.scale = nn.Parameter(constant(3))
        self.rule = own(lambda x, s: x * s, lambda g, x, s: (g * s, g.sum(0) if wrong else (g * x).sum(0)))

    def forward(self, x: Any) -> Any:
        """Scale."""
        return self.rule(x, self.scale)


def dropped(x: Any) -> Any:
    """Dropout under a seed that is set."""
    torch.manual_seed(0)
    return nn.functional.dropout(x * x, 0.5)


def noisy(x: Any) -> Any:
    """Noise from a generator that is made anew."""
    generator = torch.Generator().manual_seed(3)
    return (x + torch.randn(x.shape, generator=generator, dtype=x.dtype)).tanh()


def reparametrized(mean: Any, scale: Any) -> Any:
    """A sample by the reparametrization trick, under whatever seed there is."""
    return mean + nn.functional.softplus(scale) * torch.randn_like(mean)


def checkpointed(x: Any, *, reentrant: bool) -> Any:
    """A checkpoint."""
    return checkpoint.checkpoint(lambda y: (y.sin() * y).exp(), x, use_reentrant=reentrant)


@dataclass
class Pair:
    """Two tensors."""

    first: Any
    second: Any


def of_dict(parts: Any) -> Any:
    """A function of a dictionary."""
    return {"loss": (parts["x"] @ parts["w"]).sum(), "norm": parts["w"].norm()}


def of_nested(parts: Any) -> Any:
    """A function of nested lists."""
    (x, y), [z] = parts
    return x * y + z


def wrong_inside(parts: Any) -> Any:
    """A function of a dictionary with a wrong rule inside."""
    return half_product(parts["x"], parts["w"])


half_product = own(lambda x, w: x * w, lambda g, x, w: (g * w, g * x * 0.5))
conjugate_rule = own(lambda z: z * z, lambda g, z: g * 2 * z.conj())
complex_rule_without_conjugate = own(lambda z: z * z, lambda g, z: g * 2 * z)


def complex_inputs() -> tuple[Any, ...]:
    """Return a leaf of complex numbers."""
    return (torch.complex(constant(3), constant(3, seed=2)).requires_grad_(),)


def non_contiguous() -> tuple[Any, ...]:
    """Return leaves that are transposed and strided."""
    first = constant(4, 3).t().requires_grad_()
    second = constant(6, 8)[::2, ::2].requires_grad_()
    return first, second


def two_outputs(x: Any) -> Any:
    """Two outputs, one of which does not depend on x."""
    return x * x, torch.ones(2).double()


def of_none(x: Any, weight: Any = None, flag: Any = "sum") -> Any:
    """A function of what is no tensor."""
    y = x if weight is None else x * weight
    return y.sum() if flag == "sum" else y


TWO = own(lambda x, y: (x * y, x + y), lambda g, h, x, y: (g * y + h, g * x + h))
TWO_WRONG = own(lambda x, y: (x * y, x + y), lambda g, h, x, y: (g * y + h, g * x))

CASES = (
    Case("module", MLP, normal((2, 3))),
    Case("module in a closure", lambda x: MLP(x).exp(), normal((2, 3))),
    Case("module with a right rule", Affine(wrong=False), normal((2, 3))),
    Case("module with a wrong rule", Affine(wrong=True), normal((2, 3)), "the parameter's gradient"),
    Case(
        "functional_call",
        lambda x, w, b: torch.func.functional_call(MLP[0], {"weight": w, "bias": b}, (x,)),
        normal((2, 3), (4, 3), (4,)),
    ),
    Case("batch norm in training", NORM, normal((4, 3))),
    Case("batch norm in evaluation", NORM_IN_EVAL, normal((4, 3))),
    Case("recurrent", lambda x: RECURRENT(x)[0], normal((1, 2, 3))),
    Case("transformer", lambda x: TRANSFORMER(x), normal((1, 2, 4))),  # noqa: PLW0108 (not its parameters)
    Case("embedding", lambda w: nn.functional.embedding(torch.tensor([0, 3, 0]), w), normal((5, 3))),
    Case("integers passed through", lambda i, w: w[i] ** 2, lambda: (torch.tensor([1, 0, 1]), *normal((2, 3))())),
    Case("embedding module", EMBEDDING, lambda: (torch.tensor([0, 3, 0]),)),
    Case("dropout, seed set", dropped, normal((4,))),
    Case("dropout, no seed", lambda x: nn.functional.dropout(x, 0.5), normal((4,))),
    Case("noise of a generator", noisy, normal((4,))),
    Case("reparametrization", reparametrized, normal((3,), (3,))),
    Case("checkpoint", lambda x: checkpointed(x, reentrant=False), normal((3,))),
    Case("checkpoint, reentrant", lambda x: checkpointed(x, reentrant=True), normal((3,))),
    Case("dictionary", of_dict, lambda: (dict(zip("xw", normal((2, 3), (3,))(), strict=True)),)),
    Case("nested", of_nested, lambda: (nested(),)),
    Case("dataclass", lambda pair: pair.first * pair.second.exp(), lambda: (Pair(*normal((3,), (3,))()),)),
    Case(
        "dictionary, wrong rule",
        wrong_inside,
        lambda: (dict(zip("xw", normal((3,), (3,))(), strict=True)),),
        "the second input's is half",
    ),
    Case("complex", lambda z: (z * z.conj()).real + z.exp().abs(), complex_inputs),
    Case("complex rule", conjugate_rule, complex_inputs),
    Case("complex rule, no conjugate", complex_rule_without_conjugate, complex_inputs, "the conjugate is missing"),
    Case("real to complex", lambda x: torch.fft.fft(x), normal((4,))),  # noqa: PLW0108 (gradcheck wants a function)
    Case("non-contiguous", lambda x, y: x * y.sum() + y, non_contiguous),
    Case("two outputs", TWO, normal((3,), (3,))),
    Case("two outputs, one forgotten", TWO_WRONG, normal((3,), (3,)), "the second output's cotangent is forgotten"),
    Case("an output without gradient", two_outputs, normal((3,))),
    Case("None and words", of_none, lambda: (*normal((3,))(), None, "sum")),
    Case("a float argument", nn.functional.leaky_relu, lambda: (*normal((3,))(), 0.1)),
    Case("a fixed tensor", lambda x, y: x * y, lambda: (*normal((3,))(), constant(3))),
    Case("sparse product", lambda x: torch.sparse.mm(constant(3, 3).to_sparse(), x), normal((3, 2))),
    Case("compiled by TorchScript", torch.nn.functional.silu, normal((3,))),
    Case("softplus", nn.functional.softplus, positive((3,))),
)


def nested() -> Any:
    """Return nested lists of leaves."""
    x, y, z = normal((3,), (3,), (3,))()
    return ((x, y), [z])
