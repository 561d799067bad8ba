"""Which public functions of PyTorch give something that is differentiable, as far as simple calls can tell?"""

from __future__ import annotations

import inspect
import itertools
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.overrides import (
    TorchFunctionMode,
    get_overridable_functions,
    get_testing_overrides,
    resolve_name,
)

from refgrad.adapters.inventories.pytorch.graph import node_names, tensors_of
from refgrad.harness import Inventory

Function = Callable[..., Any]

MODULES: Final = (torch, torch.functional, torch.nn.functional, torch.linalg, torch.special)

CALLS: Final = 1000
"""So many combinations of arguments are tried on a function at most."""

ANSWERS: Final = 3
"""So many answers tell functions apart."""

COPIES: Final = "views that are copied (PyTorch tags them so)"
RANDOM: Final = "random (the same call gave the same under one seed, and something else under another)"
NOT_RECORDED: Final = "no simple call recorded anything real"
NOT_CALLED: Final = "no simple call was accepted"


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of calling a function: was a call accepted, was one random, and what was recorded.

    ``shown`` tells one function from others: the arguments, the nodes, and the numbers bit for bit.
    """

    accepted: bool
    random: bool
    shown: tuple[object, ...]


def functions() -> Inventory:
    """Return the public functions of torch, torch.nn.functional, torch.linalg and torch.special.

    No list says which of them are differentiable, so each is called with a few kinds of arguments (see ``arguments``)
    until real results are recorded. Those that give the same nodes and the same bits are one under several names.
    """
    found = dict(_public())
    copies = frozenset(name for name in found if _is_copy(name))
    with torch.random.fork_rng(devices=()), warnings.catch_warnings(action="ignore"):
        trials = {name: _trial(function) for name, function in found.items() if name not in copies}
    groups: dict[object, set[str]] = defaultdict(set)
    for name, trial in trials.items():
        groups[trial.shown].add(name)
    unshown = groups.pop((), set())
    random = frozenset(name for name, trial in trials.items() if trial.random)
    return Inventory(
        title="public functions",
        source="torch, torch.nn.functional, torch.linalg and torch.special, called to see what they record",
        entries=frozenset(trials) - random - unshown,
        apart={COPIES: copies, RANDOM: random},
        undecided={
            NOT_RECORDED: frozenset(name for name in unshown if trials[name].accepted),
            NOT_CALLED: frozenset(name for name in unshown if not trials[name].accepted),
        },
        synonyms=tuple(frozenset(names) for names in groups.values() if len(names) > 1),
        reached=_called,
    )


def _public() -> Iterator[tuple[str, Function]]:
    """Yield the functions that PyTorch itself lists as public."""
    listed = get_overridable_functions()
    for function in itertools.chain.from_iterable(listed[module] for module in MODULES):
        name = _name(function)
        if name is not None and not name.rpartition(".")[2].startswith("_") and not inspect.isclass(function):
            yield name, function


def _name(function: Function) -> str | None:
    """Return the name under which a function is known; a method's is that of the function."""
    name = resolve_name(function)
    return None if name is None else re.sub(r"^torch\.(functional|Tensor)\.", "torch.", name)


def _is_copy(name: str) -> bool:
    """Whether PyTorch marks it as a view that is copied."""
    packet = getattr(torch.ops.aten, name.rpartition(".")[2], None)
    overloads = () if packet is None else packet.overloads()
    return any(torch.Tag.view_copy in getattr(packet, overload).tags for overload in overloads)


def arguments() -> tuple[Any, ...]:
    """Return the kinds of arguments that functions are tried with.

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
    """Call a function with combinations of arguments until it has recorded something real a few times."""
    accepted, random = False, False
    shown: list[object] = []
    for places, given in _combinations(function):
        try:
            answers = [_seeded(function, given, seed) for seed in (1, 1, 2)]
        except Exception:  # noqa: BLE001, S112 (these are no arguments for it)
            continue
        accepted = True
        bits = [_bits(answer) for answer in answers]
        random = random or bits[0] == bits[1] != bits[2]
        if answers[0] and _goes_back(answers[0], given):
            shown.append((places, frozenset(node_names(answers[0])), bits[0]))
        if len(shown) == ANSWERS:
            break
    return Trial(accepted, random, tuple(shown))


def _combinations(function: Function) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
    signature = get_testing_overrides().get(function)
    if signature is None:
        return
    count = sum(_is_required(parameter) for parameter in inspect.signature(signature).parameters.values())
    choices = arguments()
    for places in itertools.islice(itertools.product(range(len(choices)), repeat=count), CALLS):
        yield places, [choices[place] for place in places]


def _is_required(parameter: inspect.Parameter) -> bool:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return True
    return parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD


def _seeded(function: Function, given: Sequence[Any], seed: int) -> list[torch.Tensor]:
    torch.default_generator.manual_seed(seed)
    return _real_and_recorded(function(*given))


def _real_and_recorded(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result that are real and can be differentiated."""
    found = [tensor for tensor in tensors_of(result) if tensor.grad_fn is not None and not tensor.is_complex()]
    return [] if "torch::autograd::NotImplemented" in node_names(found) else found


def _goes_back(results: Sequence[torch.Tensor], given: Sequence[Any]) -> bool:
    """Whether a gradient comes back: of some functions a node is recorded, and refuses."""
    leaves = [tensor for tensor in tensors_of(given) if tensor.requires_grad]
    try:
        torch.autograd.grad(results, leaves, [torch.ones_like(result) for result in results], allow_unused=True)
    except RuntimeError:
        return False
    return True


def _bits(tensors: Iterable[torch.Tensor]) -> tuple[tuple[torch.Size, bytes], ...]:
    return tuple((tensor.shape, tensor.detach().contiguous().numpy().tobytes()) for tensor in tensors)


class _Watch(TorchFunctionMode):  # type: ignore[misc]  # of no known type
    """Writes down which functions are called and give something real that is recorded."""

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
    """Return the functions that a function calls."""
    watch = _Watch()
    with watch:
        function(*primals)
    return watch.names
