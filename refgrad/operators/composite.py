"""Composite operators (softmax, a convolution, a determinant …), which consist of other operators of the table.

A composite has no reverse rule. Every number system, every oracle and the reference engine run its steps, so the steps
define what is certified. Engines are compared with it by the value and the derivatives of their own single function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


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
