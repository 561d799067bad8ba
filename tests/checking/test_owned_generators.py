"""Generators of random numbers that a function owns are rewound before each call, and are then as they were."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from refgrad import check_gradients
from refgrad.checking.libraries.library import owned_sources, source_of

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines

GLOBAL = np.random.default_rng(3)
DRAWS: dict[str, Callable[[], Any]] = {
    "torch": lambda: torch.Generator().manual_seed(1),
    "generator": lambda: np.random.default_rng(1),
    "legacy": lambda: np.random.RandomState(1),
    "python": lambda: random.Random(1),  # noqa: S311 (no secret)
}


def noise(generator: Any, x: Any) -> Any:
    """Return random numbers of the shape of a tensor."""
    if isinstance(generator, torch.Generator):
        return torch.rand(x.shape, generator=generator, dtype=x.dtype)
    if isinstance(generator, random.Random):
        return torch.tensor([generator.random() for _ in range(x.numel())], dtype=x.dtype).reshape(x.shape)
    return torch.from_numpy(generator.uniform(size=tuple(x.shape)))


def mask(generator: Any, x: Any) -> Any:
    return (noise(generator, x) > 0.4) * 2.0


class Dropout(torch.nn.Module):  # type: ignore[misc]
    """A module that draws a mask."""

    def __init__(self, generator: Any) -> None:
        super().__init__()
        self.generator = generator
        self.scale = torch.nn.Parameter(torch.tensor(1.5, dtype=torch.float64))

    def forward(self, x: Any) -> Any:
        return self.scale * x**2 * mask(self.generator, x)

    def method(self, x: Any) -> Any:
        return x**2 * mask(self.generator, x)


def in_closure(generator: Any) -> Any:
    return lambda x: x**2 * mask(generator, x)


def in_default(generator: Any) -> Any:
    def function(x: Any, *, generator: Any = generator) -> Any:
        return x**2 * mask(generator, x)

    return function


def in_container(generator: Any) -> Any:
    owned = {"noise": [generator]}
    return lambda x: x**2 * mask(owned["noise"][0], x)


def in_inner_function(generator: Any) -> Any:
    inner = in_closure(generator)
    return lambda x: inner(x).sum()


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a closure": in_closure,
    "a default": in_default,
    "a container": in_container,
    "a function that a function calls": in_inner_function,
    "the object of a method": lambda generator: Dropout(generator).method,
    "a module": Dropout,
    "arguments that are fixed": lambda generator: partial(lambda g, x: x**2 * mask(g, x), generator),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("holder", HOLDERS)
def test_a_function_that_draws_from_its_own_generator_is_right(holder: str, draw: str) -> None:
    generator = DRAWS[draw]()
    x = torch.linspace(0.5, 1.5, 6, dtype=torch.float64, requires_grad=True)
    assert check_gradients(HOLDERS[holder](generator), x, raise_exception=False).outcome == "right"
    source, fresh = source_of(generator), source_of(DRAWS[draw]())
    assert source is not None
    assert fresh is not None
    assert np.array_equal(repr(source.state()), repr(fresh.state()))


def drawing_globally(x: Any) -> Any:
    return x**2 * mask(GLOBAL, x)


class Own(torch.autograd.Function):  # type: ignore[misc]
    """A square that cannot be recorded, times a mask."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        chosen = mask(GLOBAL, x)
        ctx.save_for_backward(x, chosen)
        return torch.from_numpy(x.detach().numpy() ** 2) * chosen

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, chosen = ctx.saved_tensors
        return 2 * x * chosen * g


@pytest.mark.parametrize("function", [drawing_globally, Own.apply])
def test_a_global_that_a_function_names_is_found(function: Any) -> None:
    before = repr(GLOBAL.bit_generator.state)
    x = torch.linspace(0.5, 1.5, 6, dtype=torch.float64, requires_grad=True)
    assert check_gradients(function, x, raise_exception=False).outcome == "right"
    assert repr(GLOBAL.bit_generator.state) == before


def test_a_generator_among_the_inputs_is_found() -> None:
    x = torch.linspace(0.5, 1.5, 6, dtype=torch.float64, requires_grad=True)
    given = (x, np.random.default_rng(1))
    assert check_gradients(lambda x, g: x**2 * mask(g, x), given, raise_exception=False).outcome == "right"


def test_a_wrong_gradient_under_own_noise_is_wrong() -> None:
    generator = np.random.default_rng(0)

    class Wrong(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(_ctx: Any, x: Any) -> Any:
            return x.detach() * mask(generator, x)

        @staticmethod
        def backward(_ctx: Any, g: Any) -> Any:
            return g * mask(generator, g)  # another mask

    x = torch.linspace(0.5, 1.5, 12, dtype=torch.float64, requires_grad=True)
    assert check_gradients(Wrong.apply, x, raise_exception=False).outcome == "wrong"


def test_cycles_and_empty_cells_are_no_obstacle() -> None:
    def function(x: Any) -> Any:
        return later(x) if later else function

    owned: list[Any] = [function]
    owned.append(owned)
    assert owned_sources(owned) == []
    later: Any = None


def test_state_that_is_no_randomness_is_not_rewound() -> None:
    class Counter:
        number = 0

        def __call__(self, x: Any) -> Any:
            self.number += 1
            return x * self.number

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    report = check_gradients(Counter(), x, raise_exception=False)
    assert (report.outcome, report.cause) == ("inconclusive", "changes")
