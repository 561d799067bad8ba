"""The public functions of PyTorch whose results are differentiable, as far as simple calls show."""

from __future__ import annotations

import inspect
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import torch
from torch.overrides import (
    TorchFunctionMode,
    get_overridable_functions,
    get_testing_overrides,
    resolve_name,
)

from refgrad.adapters.inventories.pytorch.graph import node_names, tensors_of
from refgrad.adapters.inventories.trials import RANDOM, Answer, Function, Trial, Trials, combinations, required, try_out
from refgrad.native.adapter import Inventory

MODULES: Final = (torch, torch.functional, torch.nn.functional, torch.linalg, torch.special)

CALLS: Final = 1000
"""Largest number of combinations of arguments that a function is called with."""

COPIES: Final = "views that are copied (PyTorch tags them so)"


def functions() -> Inventory:
    """Return the public functions of torch, torch.nn.functional, torch.linalg and torch.special.

    PyTorch does not list which of them are differentiable, so each is called with a few kinds of arguments (see
    ``arguments``) until real results are recorded. Functions with the same nodes and numbers are one under several
    names.
    """
    found = dict(_public())
    copies = frozenset(name for name in found if _is_copy(name))
    with torch.random.fork_rng(devices=()), warnings.catch_warnings(action="ignore"):
        trials = Trials({name: _trial(function) for name, function in found.items() if name not in copies})
    return Inventory(
        title="public functions",
        source="torch, torch.nn.functional, torch.linalg and torch.special, called to see what they record",
        entries=trials.entries,
        apart={COPIES: copies, RANDOM: trials.random},
        undecided=trials.undecided,
        synonyms=trials.synonyms,
        reached=_called,
    )


def _public() -> Iterator[tuple[str, Function]]:
    """Yield the functions that PyTorch lists as overridable, except private ones and classes."""
    listed = get_overridable_functions()
    for function in itertools.chain.from_iterable(listed[module] for module in MODULES):
        name = _name(function)
        if name is not None and not name.rpartition(".")[2].startswith("_") and not inspect.isclass(function):
            yield name, function


def _name(function: Function) -> str | None:
    """Return the public name of a function; a method has that of the function."""
    name = resolve_name(function)
    return None if name is None else re.sub(r"^torch\.(functional|Tensor)\.", "torch.", name)


def _is_copy(name: str) -> bool:
    """Return True if PyTorch tags an overload of the function as a view that is copied."""
    packet = getattr(torch.ops.aten, name.rpartition(".")[2], None)
    overloads = () if packet is None else packet.overloads()
    return any(torch.Tag.view_copy in getattr(packet, overload).tags for overload in overloads)


def arguments() -> tuple[Any, ...]:
    """Return the arguments that functions are called with.

    Real arrays of one to five axes, of either sign or between 0 and 1, square or not, two in a list; indices, a mask,
    numbers, a shape, and a reduction.
    """
    generator = torch.Generator().manual_seed(1)

    def real(*shape: int, scale: float = 0.8, least: float = 0.1) -> torch.Tensor:
        return (torch.rand(shape, dtype=torch.float64, generator=generator) * scale + least).requires_grad_()

    square = real(3, 3).detach()
    return (
        real(2, 3, scale=12, least=-4),
        real(3, 3),
        real(3),
        real(2, 3, 3),
        1,
        real(2, 3, 4, 4),
        [real(3), real(3)],
        [real(2, 3), real(2, 3)],
        torch.tensor([[0, 1, 2], [1, 0, 2], [2, 2, 1]]),
        torch.tensor([0, 1, 2]),
        torch.eye(3) > 0,
        (1, 1),
        0.5,
        "mean",
        (square @ square.mT + torch.eye(3, dtype=torch.float64)).requires_grad_(),
        real(2, 3, 4, 4, 4),
    )


def _trial(function: Function) -> Trial:
    """Call a function with combinations of arguments until it has recorded a real result a few times."""
    overridden = get_testing_overrides().get(function)
    if overridden is None:
        return Trial(accepted=False, random=False, shown=())
    calls = combinations(required(inspect.signature(overridden)), arguments, CALLS)
    return try_out(calls, lambda given: _answer(function, given))


def _answer(function: Function, given: Sequence[Any]) -> Answer:
    results = [_seeded(function, given, seed) for seed in (1, 2)]
    numbers = [_numbers(result) for result in results]
    differentiable = results[0] and _goes_back(results[0], given)
    shown = (frozenset(node_names(results[0])), numbers[0]) if differentiable else None
    return Answer(shown, random=numbers[0] != numbers[1])


def _seeded(function: Function, given: Sequence[Any], seed: int) -> list[torch.Tensor]:
    torch.default_generator.manual_seed(seed)
    return _real_and_recorded(function(*given))


def _real_and_recorded(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result that are real and can be differentiated."""
    found = [tensor for tensor in tensors_of(result) if tensor.grad_fn is not None and not tensor.is_complex()]
    return [] if "torch::autograd::NotImplemented" in node_names(found) else found


def _goes_back(results: Sequence[torch.Tensor], given: Sequence[Any]) -> bool:
    """Return True if a backward succeeds: some functions record a node whose backward raises."""
    leaves = [tensor for tensor in tensors_of(given) if tensor.requires_grad]
    try:
        torch.autograd.grad(results, leaves, [torch.ones_like(result) for result in results], allow_unused=True)
    except RuntimeError:
        return False
    return True


def _numbers(tensors: Iterable[torch.Tensor]) -> tuple[object, ...]:
    """Return shapes and numbers to compare, to six decimals: the last bit may depend on the address of an array."""
    rounded = [torch.round(tensor.detach(), decimals=6) + 0.0 for tensor in tensors]
    return tuple((tuple(tensor.shape), repr(tensor.tolist())) for tensor in rounded)


class _Watch(TorchFunctionMode):  # type: ignore[misc]  # of no known type
    """Collects the names of the functions that are called and return a real result that is recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(
        self, func: Function, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = _name(func)
        if name is not None and _real_and_recorded(result):
            self.names.add(name)
        return result


def _called(function: Function, primals: Sequence[Any]) -> set[str]:
    """Return the names of the public functions that a function calls."""
    watch = _Watch()
    with watch:
        function(*primals)
    return watch.names
