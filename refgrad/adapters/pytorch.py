"""Inventories of PyTorch's differentiable operators: its table of derivatives, and its public functions."""

from __future__ import annotations

import inspect
import itertools
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode, get_overridable_functions, get_testing_overrides, resolve_name

from refgrad.adapters import RANDOM, Function, FunctionTrial, grouped, inventory_of, required, try_out
from refgrad.native.adapter import Inventory
from refgrad.scenario.rewrite import closure


def inventories() -> tuple[Inventory, Inventory]:
    """Return the operators with a derivative formula of their own, and the public functions, most of which call them.

    Raises OSError if PyTorch does not ship its table.
    """
    return formulas(), functions()


TABLE: Final = "packaged/autograd/derivatives.yaml"
"""Path in the package ``torchgen`` of the table from which PyTorch's build generates the nodes of its graphs."""

KERNELS: Final = ("CPU", "CompositeExplicitAutograd")
"""Dispatch keys. An operator with a kernel for one runs as a whole on dense CPU arrays, with its own derivative."""

NO_DERIVATIVE: Final = re.compile(r"^(non_differentiable|not_differentiable|not_implemented\b.*)$")
OF_OTHER_BACKENDS: Final = re.compile(r"^    Autograd\w+:\n(?:      .*\n?)+", re.MULTILINE)
FORMULA: Final = re.compile(r"^ +(\w[\w, ]*): *(.+)$", re.MULTILINE)

Rule = Callable[[str, str], bool]


def formulas() -> Inventory:
    """Return the names in PyTorch's table of derivatives; a call reaches those whose nodes are in its graph."""
    rows = _rows((files("torchgen") / TABLE).read_text(encoding="utf-8"))
    apart = grouped({
        name: next((reason for reason, holds in RULES.items() if holds(name, text)), None)
        for name, text in rows.items()
    })
    return Inventory(
        title="operators with a derivative of their own",
        source="derivatives.yaml, as packaged in torchgen",
        entries=frozenset(rows).difference(*apart.values()),
        apart=apart,
        reached=partial(_by_nodes, grouped({name: node_of(name) for name in rows})),
    )


def _rows(table: str) -> Mapping[str, str]:
    """Return the text of each operator's rows; overloads are one operator."""
    rows: dict[str, str] = defaultdict(str)
    plain = re.sub(r"^ *#.*\n", "", table, flags=re.MULTILINE)
    for row in re.split(r"^- name: ", plain, flags=re.MULTILINE)[1:]:
        name = re.split(r"[.(]", row, maxsplit=1)[0].strip()
        rows[name] += OF_OTHER_BACKENDS.sub("", row)
    return rows


def _has_no_derivative(_: str, text: str) -> bool:
    """Return True if every derivative formula in the text declares that there is none."""
    others = {"name", "dispatch", "output_differentiability", "result"}
    formulas = [formula for name, formula in FORMULA.findall(text) if name not in others]
    return all(NO_DERIVATIVE.match(formula) for formula in formulas)


def _is_random(name: str, _: str) -> bool:
    """Return True if PyTorch tags one of the overloads as using a seed."""
    return any(torch.Tag.nondeterministic_seeded in overload.tags for overload in _overloads(name))


def _is_of_others(name: str, _: str) -> bool:
    """Return True if the operator is for other libraries or kinds of arrays, or is made of other operators on a CPU."""
    if re.search(r"cudnn|miopen|mkldnn|overrideable|sparse|nested|padded_tensor|quantize|^values$", name):
        return True
    has = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 (there is no public way to ask)
    return not any(has(str(overload.name()), key) for overload in _overloads(name) for key in KERNELS)


def _overloads(name: str) -> list[Any]:
    """Return the overloads of an operator that do not write into an argument."""
    packet = getattr(torch.ops.aten, name, None)
    names = [] if packet is None else packet.overloads()
    return [getattr(packet, overload) for overload in names if "out" not in overload.split("_")]


RULES: Final[Mapping[str, Rule]] = MappingProxyType({
    "private (a leading underscore)": lambda name, _: name.startswith("_"),
    "rules of derivatives (backward)": lambda name, _: "backward" in name,
    "in place (a trailing underscore)": lambda name, _: name.endswith("_"),
    "declared not differentiable or not implemented": _has_no_derivative,
    "random": _is_random,
    "complex numbers": lambda name, _: bool(re.search(r"complex|polar|view_as_real|linalg_eig$", name)),
    "other devices, libraries or kinds of arrays": _is_of_others,
})
"""Reasons why an entry does not count; the first rule that holds applies."""


def node_of(name: str) -> str:
    """Return the name of a node like ``create_op_prefix`` in PyTorch's ``tools/autograd/gen_autograd_functions.py``."""
    return f"{name.title().replace('_', '')}Backward".replace("ForwardBackward", "Backward")


def _by_nodes(names: Mapping[str, frozenset[str]], function: Callable[..., Any], primals: Sequence[Any]) -> set[str]:
    """Call a function, and return the operators of the nodes in the graph of its result."""
    nodes = {re.sub(r"\d+(_copy)?$", "", name) for name in node_names(function(*primals))}
    return {name for node in nodes for name in names.get(node, ())}


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
    public = dict(_public())
    copies = frozenset(name for name in public if _is_copy(name))
    with torch.random.fork_rng(devices=()), warnings.catch_warnings(action="ignore"):
        trials = {name: _trial(function) for name, function in public.items() if name not in copies}
    return inventory_of(
        trials,
        title="public functions",
        source="torch, torch.nn.functional, torch.linalg and torch.special, called to see what they record",
        apart={COPIES: copies, RANDOM: frozenset(name for name, trial in trials.items() if trial.random)},
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
    return any(torch.Tag.view_copy in overload.tags for overload in _overloads(name.rpartition(".")[2]))


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


def _trial(function: Function) -> FunctionTrial:
    """Call a function with combinations of arguments until it has recorded a real result a few times."""
    overridden = get_testing_overrides().get(function)
    if overridden is None:
        return FunctionTrial()
    return try_out(partial(_answer, function), arguments(), required(inspect.signature(overridden)), CALLS)


def _answer(function: Function, arguments: Sequence[Any]) -> tuple[object, bool]:
    results = []
    for seed in (1, 2):
        torch.default_generator.manual_seed(seed)
        results.append(_real_and_recorded(function(*arguments)))
    numbers = [_numbers(result) for result in results]
    differentiable = results[0] and _goes_back(results[0], arguments)
    description = (frozenset(node_names(results[0])), numbers[0]) if differentiable else None
    return description, numbers[0] != numbers[1]


def _real_and_recorded(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result that are real and can be differentiated."""
    tensors = [tensor for tensor in tensors_of(result) if tensor.grad_fn is not None and not tensor.is_complex()]
    return [] if "torch::autograd::NotImplemented" in node_names(tensors) else tensors


def _goes_back(results: Sequence[torch.Tensor], arguments: Sequence[Any]) -> bool:
    """Return True if a backward succeeds: some functions record a node whose backward raises."""
    leaves = [tensor for tensor in tensors_of(arguments) if tensor.requires_grad]
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


def node_names(result: Any) -> set[str]:
    """Return the names of the nodes in the graphs of the tensors of a result."""
    roots = [tensor.grad_fn for tensor in tensors_of(result)]
    nodes = closure(roots, lambda node: [parent for parent, _ in node.next_functions] if node is not None else [])
    return {node.name() for node in nodes if node is not None}


def tensors_of(result: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors in the result of a function, nested tuples and lists included."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, tuple | list):
        for part in result:
            yield from tensors_of(part)
