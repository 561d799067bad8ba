"""What a row of the table may hold: a signature, and a structural or composite implementation.

A structural operator has one numpy function and one reverse rule. The function is plain numpy and runs on float64
arrays and on object arrays of balls, symbols or anything else that can be added and multiplied. The rule is for the
reference engine only; oracles never use it.

A composite has no reverse rule. Every number system, every oracle and the reference engine run its steps, so the steps
define what is certified. Engines are compared with it by the value and the derivatives of their own single function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

LARGEST: Final = 2**24
"""Largest number of entries of an array that an operator may create: 134 MB of float64."""

Shape = tuple[int, ...]
Cotangents = Sequence[Any]


class RecordedNode(Protocol):
    """The recorded application of an operator, as its reverse rule sees it."""

    @property
    def shapes(self) -> Sequence[Shape]:
        """Shapes of the arguments."""

    @property
    def needs(self) -> Sequence[bool]:
        """One flag per argument: True if it needs a cotangent. The rule may return None for the others."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes, including defaults."""

    def saved(self, name: str) -> Any:
        """Return a value listed in ``Structure.saves``: an argument by its name, the output as ``out``."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The function and the reverse rule of one structural operator.

    ``function(*arrays, **attributes)`` returns an array. If it is ``by_system``, the number system precedes the arrays;
    it has ``maximum`` and ``minimum`` as functions with a method ``reduce``. ``vjp(ops, cotangent, node)`` returns one
    cotangent per argument, each of the argument's shape. It is built from operators only (``ops.sum``, ``ops.matmul``
    …), so the rule can itself be differentiated.
    ``saves`` names the values that the rule for an argument needs: {argument: (value, …)}.
    ``size(*shapes, **attributes)`` returns an upper bound on the number of entries of the result. It is needed only if
    a result may have more entries than the arguments.
    """

    function: Callable[..., Any]
    vjp: Callable[[Any, Any, RecordedNode], Cotangents]
    saves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    size: Callable[..., int] | None = None
    by_system: bool = False

    def forward(self, system: Any) -> Callable[..., Any]:
        """Return the function of arrays of a number system, with attributes by name."""
        return partial(self.function, system) if self.by_system else self.function


def require(condition: bool, problem: str) -> None:  # noqa: FBT001 (a condition, as in assert)
    """Raise ValueError with the message ``problem`` unless ``condition`` is true."""
    if not condition:
        raise ValueError(problem)


def refuse_size(entries: int, most: int = LARGEST) -> None:
    """Raise ValueError for an array of more than ``most`` entries, before it takes memory."""
    if entries > most:
        raise ValueError(f"{entries:,} entries are too many; there may be {most:,}")


class Operators(Protocol):
    """The operators of the table as functions on any representation of arrays.

    Each takes its arrays in the order of its row, or Python numbers instead of them, and its attributes by keyword;
    defaults may be omitted. Results have a ``shape``, and no other member of theirs may be used.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the operator of that name."""

    def constant(self, array: Any) -> Any:
        """Return an array of numbers or booleans that is not a leaf and gets no gradient."""


@dataclass(frozen=True, slots=True)
class Composite:
    """The steps of a composite operator.

    ``forward(ops, *arrays, **attributes)`` returns the result; ``ops`` are :class:`Operators`. It may depend on shapes
    and attributes, never on entries, and raises ValueError if they do not fit together. ``computed`` is the same
    function by the steps that engines use, if these differ, e.g. because those of ``forward`` overflow. The reference
    engine runs ``computed``; evaluation in floats may use it where the result of ``forward`` is not finite.
    """

    forward: Callable[..., Any]
    computed: Callable[..., Any] | None = None
