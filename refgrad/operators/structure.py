"""The parts of a structural operator (sum, reshape, matmul …).

One numpy function and one reverse rule, written beside each other. The function is plain numpy and is run on float64
arrays and on object arrays of balls, symbols or anything else that can be added and multiplied. The rule is for the
reference engine only; oracles never read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

LARGEST: Final = 2**24
"""Number of entries of an array above which no operator makes it: 134 MB of float64."""

Shape = tuple[int, ...]
Cotangents = Sequence[Any]


class RecordedNode(Protocol):
    """What a reverse rule may know of the application that it differentiates."""

    @property
    def shapes(self) -> Sequence[Shape]:
        """The shapes of the arguments."""

    @property
    def needs(self) -> Sequence[bool]:
        """Which arguments want a cotangent; the rule may answer None for the others."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes, defaults filled in."""

    def saved(self, name: str) -> Any:
        """Return a value listed in ``Structure.saves``: an argument by its name, the output as ``out``."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The function and the rule of one structural operator.

    ``forward(system, *arrays, **attributes)`` returns an array; ``system`` has ``maximum`` and ``minimum`` as reducible
    functions. ``vjp(ops, cotangent, node)`` returns one cotangent an argument, each of the argument's shape, built from
    operators only (``ops.sum``, ``ops.matmul`` …), so the rule can itself be differentiated.
    ``size(*shapes, **attributes)`` bounds the number of entries of the result. It is there where a result may have more
    entries than the arguments.
    ``saves`` names the values that the rule for an argument needs: {argument: (value, …)}.
    """

    forward: Callable[..., Any]
    vjp: Callable[[Any, Any, RecordedNode], Cotangents]
    saves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    size: Callable[..., int] | None = None


def refuse_size(entries: int, most: int = LARGEST) -> None:
    """Raise ValueError for an array of more than ``most`` entries, before it takes memory."""
    if entries > most:
        raise ValueError(f"{entries:,} entries are too many; there may be {most:,}")
