"""Composite operators (softmax, a convolution, a determinant …), which consist of other operators of the table.

A composite has no rule of its own. Every number system, every oracle and the reference engine run its steps, so what is
certified is what the steps say; engines are held to it by the value and the derivatives of their own one function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Operators(Protocol):
    """The operators of the table as functions of whatever stands for an array.

    Each takes its arrays in the order of its row, or Python numbers in their place, and its attributes by name;
    defaults may be left out. Results have a ``shape``, and nothing else can be asked of them.
    """

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the operator of that name."""

    def constant(self, array: Any) -> Any:
        """Return an array of numbers or truth values that is no leaf and gets no gradient."""


@dataclass(frozen=True, slots=True)
class Composite:
    """The steps of a composite operator.

    ``forward(ops, *arrays, **attributes)`` returns the result; ``ops`` are :class:`Operators`. It may look at shapes
    and attributes, never at entries, and raises ValueError for those that do not fit together. ``computed`` is the same
    function by other steps, as engines compute it, where those of ``forward`` overflow: the reference engine runs
    these, and values in floats are theirs where the others are none.
    """

    forward: Callable[..., Any]
    computed: Callable[..., Any] | None = None
