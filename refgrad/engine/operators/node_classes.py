"""Node classes, generated from the rows of the operator table.

There is one class for every subset of arguments that need a gradient, because that determines the values to save. Its
``vjp`` is the row's rule on arrays, its ``vjp_recorded`` the same rule on tensors, for ``create_graph``. The rule of a
formula is compiled on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from refgrad.engine.graph.node import Contributions, Node, Shape
from refgrad.engine.graph.tensor import Tensor
from refgrad.engine.operators.contributions import fitted, saved_names, weighted
from refgrad.engine.operators.vocabulary import ON_ARRAYS, cast_with, node_name, on_tensors
from refgrad.operators import Operator
from refgrad.operators.operator import RecordedNode, Structure

VjpMethod = Callable[[Any, Any], Contributions]


class OperatorSets:
    """The operators that rules call, on arrays and on tensors; ``functions`` may be filled until the first use."""

    def __init__(self, arrays: SimpleNamespace, functions: Mapping[str, Callable[..., Tensor]]) -> None:
        self.arrays = arrays
        self.functions = functions

    @cached_property
    def tensors(self) -> SimpleNamespace:
        """Operators on tensors; ``equal`` returns an array, since truth values have no gradient."""
        shortcut = {
            "cast": cast_with(self.functions),
            "equal": self.vocabulary["equal"],
            "reshape": skip_identity(self.functions["reshape"]),
        }
        return SimpleNamespace(**{**self.functions, **shortcut})

    @cached_property
    def vocabulary(self) -> Mapping[str, Any]:
        """Functions that formulas call, on tensors."""
        return on_tensors(self.functions)


def skip_identity(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a reshape so that an operand that already has the shape is returned as it is, not as a view."""
    return lambda x, shape: x if x.shape == shape else reshape(x, shape=shape)


class GeneralNode(Node):
    """A node of a structural operator, or of a formula with attributes."""

    __slots__ = ("attributes", "shapes")

    attributes: Mapping[str, Any]
    shapes: tuple[Shape, ...]


def node_class(operator: Operator, needs: tuple[bool, ...], sets: OperatorSets) -> type[Any]:
    """Return the node class of ``operator`` for the arguments that need a gradient, which ``needs`` marks as True."""
    saves = saved_names(operator, needs)
    needed = [name for name, need in zip(operator.argument_names, needs, strict=False) if need]
    if operator.structure is not None:
        vjp, vjp_recorded = _structure_vjps(operator.structure, saves, sets)
        base: type[Node] = GeneralNode
    else:
        vjp, vjp_recorded = _formula_vjps(operator, saves, needs, sets)
        base = Node if is_plain(operator) else GeneralNode
    sources = tuple(needed.index(name) if name in needed else None for name in saves)
    members = {"needs": needs, "saves": saves, "sources": sources, "vjp": vjp, "vjp_recorded": vjp_recorded}
    return type(node_name(operator), (base,), {"__slots__": (), "__doc__": operator.summary, **members})


def is_plain(operator: Operator) -> bool:
    """Return True if the operator is a formula without attributes; those are recorded on a fast path."""
    return operator.elementwise and not operator.attributes


def recovered(node: Any) -> list[Any]:
    """Return the saved values as tensors with their history; Python numbers are returned unchanged."""
    tensors: list[Any] = []
    for name, source, value, writes in zip(node.saves, node.sources, node.values, node.guards, strict=True):
        if isinstance(value, float | int) and not hasattr(value, "dtype"):
            tensors.append(value)
        else:
            origin = node if name == "out" else None if source is None else node.parents[source]
            tensors.append(Tensor(value, origin, writes))
    return tensors


# Generated as text, because calling a function for every contribution would take half of the time on scalars.
VJP = """
def vjp(node, cotangent):
    {unpack_values}
    {unpack_attributes}
    {parents} = node.parents
    if type(cotangent) is float64:  # so are the value and its arguments: all contributions fit
        return ({plain})
    return ({fitting})
"""


VALUES, RECOVERED = "node.values", "recovered(node)"
FITTING: Mapping[str, str] = MappingProxyType({
    VALUES: "(at_{name}, c if (c := {formula}).shape == at_{name}.shape else fitted(operators, c, at_{name}))",
    RECOVERED: "(at_{name}, fitted(operators, {formula}, at_{name}))",
})


def _formula_vjps(
    operator: Operator, saves: tuple[str, ...], needs: tuple[bool, ...], sets: OperatorSets
) -> tuple[VjpMethod, VjpMethod]:
    names = [argument.name for argument, needed in zip(operator.arguments, needs, strict=True) if needed]

    def compiled(system: Mapping[str, Any], values: str, operators: Any) -> VjpMethod:
        formulas = {name: weighted(operator.partials[name]).folded_calls for name in names}
        text = VJP.format(
            unpack_values=_unpacking(saves, values),
            unpack_attributes=_unpacking(operator.attribute_names, "node.attributes.values()"),
            parents=listing(f"at_{name}" for name in names),
            plain=listing(f"(at_{name}, {formula})" for name, formula in formulas.items()),
            fitting=listing(FITTING[values].format(name=name, formula=formula) for name, formula in formulas.items()),
        )
        namespace: dict[str, Any] = {
            **system,
            "float64": np.float64,
            "fitted": fitted,
            "operators": operators,
            "recovered": recovered,
        }
        exec(text, namespace)  # the text is made of names and formulas of the table, which are checked
        return namespace["vjp"]  # type: ignore[no-any-return]

    return (
        _on_first_use("vjp", lambda: compiled(ON_ARRAYS, VALUES, sets.arrays)),
        _on_first_use("vjp_recorded", lambda: compiled(sets.vocabulary, RECOVERED, sets.tensors)),
    )


def _on_first_use(name: str, compiled: Callable[[], VjpMethod]) -> VjpMethod:
    """Return a method that replaces itself with the compiled one on its first call."""

    def method(node: Any, cotangent: Any) -> Contributions:
        setattr(type(node), name, compiled())
        return getattr(node, name)(cotangent)  # type: ignore[no-any-return]

    return method


def listing(items: Iterable[str]) -> str:
    """Return the items as source text of a tuple or of assignment targets, each followed by a comma."""
    return "".join(f"{item}, " for item in items)


def _unpacking(names: Sequence[str], source: str) -> str:
    return f"{listing(names)} = {source}" if names else "pass"


def _structure_vjps(structure: Structure, saves: tuple[str, ...], sets: OperatorSets) -> tuple[VjpMethod, VjpMethod]:
    def vjp_in(operators: Any, node: Any, cotangent: Any, values: Sequence[Any]) -> Contributions:
        saved = dict(zip(saves, values, strict=True))
        seen = SimpleNamespace(
            shapes=node.shapes, needs=node.needs, attributes=node.attributes, saved=saved.__getitem__
        )
        contributions = structure_contributions(structure, operators, cotangent, seen, node.parents)
        return list(zip(node.parents, contributions, strict=True))

    def vjp(node: Any, cotangent: Any) -> Contributions:
        return vjp_in(sets.arrays, node, cotangent, node.values)

    def vjp_recorded(node: Any, cotangent: Any) -> Contributions:
        return vjp_in(sets.tensors, node, cotangent, recovered(node))

    return vjp, vjp_recorded


def structure_contributions(
    structure: Structure, operators: Any, cotangent: Any, node: RecordedNode, operands: Sequence[Any]
) -> list[Any]:
    """Return the contributions to the operands that need one, each in the shape of its operand."""
    contributions = zip(structure.vjp(operators, cotangent, node), node.needs, strict=True)
    kept = [contribution for contribution, needed in contributions if needed]
    return [fitted(operators, each, operand) for each, operand in zip(kept, operands, strict=True)]
