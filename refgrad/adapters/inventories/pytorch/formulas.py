"""The operators with a derivative formula of their own in PyTorch, and a way to find them in a graph."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final

import torch

from refgrad.adapters.inventories.pytorch.graph import node_names
from refgrad.native.adapter import Inventory

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
    apart: dict[str, set[str]] = defaultdict(set)
    for name, text in rows.items():
        for reason, holds in RULES.items():
            if holds(name, text):
                apart[reason].add(name)
                break
    return Inventory(
        title="operators with a derivative of their own",
        source="derivatives.yaml, as packaged in torchgen",
        entries=frozenset(rows) - set().union(*apart.values()),
        apart={reason: frozenset(names) for reason, names in apart.items()},
        reached=_Nodes(rows),
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


class _Nodes:
    """Finds the operators that a call reaches, by the names of the nodes of its graph."""

    def __init__(self, names: Iterable[str]) -> None:
        """Form the node names like ``create_op_prefix`` in PyTorch's ``tools/autograd/gen_autograd_functions.py``."""
        self.names: dict[str, set[str]] = defaultdict(set)
        for name in names:
            node = "".join(part.title() for part in name.split("_")) + "Backward"
            self.names[node.replace("ForwardBackward", "Backward")].add(name)

    def __call__(self, function: Callable[..., Any], primals: Sequence[Any]) -> set[str]:
        """Call a function, and return the operators of the nodes in the graph of its result."""
        nodes = {re.sub(r"\d+(_copy)?$", "", name) for name in node_names(function(*primals))}
        return {name for node in nodes for name in self.names.get(node, ())}
