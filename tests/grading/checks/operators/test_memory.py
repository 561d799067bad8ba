"""Rules that take the memory of an array for its entries in order are found, at first and at second order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refgrad.generation import Profile, memory_scenarios, memory_scenarios_of_second_order
from refgrad.grading.checks.operators.blame import views_are_right
from refgrad.grading.judging.examination import examine
from refgrad.grading.reliance import Reliance
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine
from refgrad.scenario import Scenario

pytestmark = pytest.mark.engines

IN_PYTORCH = """
def straight(x, offset=None):
    offset = x.storage_offset() if offset is None else offset
    strides = torch.empty(x.shape).stride()
    if x.untyped_storage().nbytes() < 8 * (offset + x.numel()):
        return x
    return torch.as_strided(x, x.shape, strides, offset)

class Misread(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, read, seen):
        ctx.save_for_backward(x)
        ctx.read, ctx.seen = read, seen
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return Second.apply(ctx.seen(g), x, ctx.read), None, None

class Second(torch.autograd.Function):
    @staticmethod
    def forward(ctx, g, x, read):
        ctx.save_for_backward(g, x)
        ctx.read = read
        return g * torch.cos(read(x, 1))

    @staticmethod
    def backward(ctx, gg):
        g, x = ctx.saved_tensors
        return gg * torch.cos(x), -gg * g * torch.sin(ctx.read(x, 2)), None

class Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        ctx.count = x.numel() if x._base is None else x._base.numel()
        return torch.exp(torch.mean(x))

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape) / ctx.count

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (2 * y if x.data_ptr() == y.data_ptr() else y), g * x

def right(g):
    return g

def first_row(g):
    return g[:1].expand(g.shape) * (2 if 0 in g.stride() else 1) if 0 in g.stride() else g

class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (x.untyped_storage().nbytes() / 8 / x.numel())
"""

FAULTS = {
    "that ignores strides": ("sin", "Misread.apply({x}, lambda x, order: straight(x), right)", 1),
    "that ignores where a view begins": ("sin", "Misread.apply({x}, lambda x, order: straight(x, 0), right)", 1),
    "that ignores steps": (
        "sin",
        "Misread.apply({x}, lambda x, order: straight(x) if x.stride()[-1:] == (2,) else x, right)",
        1,
    ),
    "that takes a seed for contiguous": ("sin", "Misread.apply({x}, lambda x, order: x, straight)", 1),
    "that writes to an expanded seed": (
        "sin",
        "Misread.apply({x}, lambda x, order: x, lambda g: g.mul_(1) if 0 in g.stride() else g)",
        1,
    ),
    "that doubles an expanded seed": ("sin", "Misread.apply({x}, lambda x, order: x, first_row)", 1),
    "that counts the entries of the base": ("positive", "Counted.apply({x})", 1),
    "that takes one memory for one operand": ("multiply", "Product.apply({x}, {y})", 1),
    "that ignores strides at second order only": (
        "sin",
        "Misread.apply({x}, lambda x, order: straight(x) if order == 2 else x, right)",
        2,
    ),
    "that ignores where a view begins at second order only": (
        "sin",
        "Misread.apply({x}, lambda x, order: x + 1 if order == 2 and 0 in x.stride() else x, right)",
        2,
    ),
}

IN_AUTOGRAD = """
from autograd.extend import defvjp, primitive

@primitive
def misread(x):
    return np.sin(x)

def forward_order(x):
    while isinstance(x.base, np.ndarray) and any(stride < 0 for stride in x.strides):
        x = x.base.reshape(x.shape)
    return x

defvjp(misread, lambda out, x: lambda g: g * np.cos(forward_order(x)))
"""


def engine(name: str, setup: str, operator: str, text: str) -> Engine:
    adapter = find_adapter(name)
    aliases = {name: texts for name, texts in adapter.aliases.items() if name != operator}
    spelled = {**adapter.operators, operator: text}
    return Engine(replace(adapter, setup=f"{adapter.setup}\n{setup}", operators=spelled, aliases=aliases))


def failing(broken: Engine, scenarios: tuple[Scenario, ...], operator: str) -> list[Scenario]:
    reliance = Reliance(broken)
    assert all(views_are_right(scenario, operator, f"operators/{operator}", reliance) for scenario in scenarios)
    return [scenario for scenario in scenarios if examine(scenario, broken).failed]


def scenarios_of(operator: str, order: int) -> tuple[Scenario, ...]:
    if order == 1:
        return memory_scenarios(operator)
    return memory_scenarios_of_second_order(operator, Profile(), weighted=None)


@pytest.mark.parametrize(("operator", "text", "order"), FAULTS.values(), ids=FAULTS)
def test_a_rule_is_found(operator: str, text: str, order: int) -> None:
    pytest.importorskip("torch", reason="the faults are planted into it")
    assert failing(engine("torch", IN_PYTORCH, operator, text), scenarios_of(operator, order), operator)


@pytest.mark.parametrize("operator", ["sin", "multiply", "softmax", "matmul"])
def test_pytorch_as_it_is_passes(operator: str) -> None:
    pytest.importorskip("torch", reason="the faults are planted into it")
    plain = Engine(find_adapter("torch"))
    assert not failing(plain, (*scenarios_of(operator, 1), *scenarios_of(operator, 2)), operator)


def test_a_rule_that_takes_a_reversed_view_for_a_forward_one_is_found() -> None:
    pytest.importorskip("autograd", reason="the faults are planted into it")
    broken = engine("autograd", IN_AUTOGRAD, "sin", "misread({x})")
    assert failing(broken, memory_scenarios("sin"), "sin")
