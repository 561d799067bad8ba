"""The data that the values of an attribute depend on, and the form of the rules that choose them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from refgrad.generation.choices import Choices
from refgrad.generation.profile import STANDARD, Profile
from refgrad.operators import Attribute, Operator
from refgrad.operators.structure import Shape
from refgrad.operators.table import AttributeType
from refgrad.scenario import AttributeValue


@dataclass(frozen=True, slots=True)
class Site:
    """The data that the values of an attribute depend on: operator, shapes of the operands, and other attributes.

    ``chosen`` holds the values of at least those attributes that come before it in the operator's row.
    """

    operator: Operator
    shapes: tuple[Shape, ...]
    chosen: Mapping[str, Any]
    profile: Profile = STANDARD

    @property
    def shape(self) -> Shape:
        """Shape of the first operand."""
        return self.shapes[0]

    @property
    def length(self) -> int:
        """Length of the chosen axis, or the number of entries without one."""
        axis = self.chosen.get("axis")
        return math.prod(self.shape) if axis is None or not self.shape else self.shape[axis]

    def of_type(self, kind: AttributeType) -> Any:
        """Return the value that was chosen for the first attribute of a type, or None."""
        names = [attribute.name for attribute in self.operator.attributes if attribute.type == kind]
        return self.chosen.get(names[0]) if names else None


Chooser: TypeAlias = Callable[[Choices, Site, Attribute], AttributeValue]


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """A rule for attributes of one type.

    ``choose`` returns a value. ``admits`` returns True if there is one for a first operand of a shape, and ``adapt``
    returns a similar shape for which there is one.
    """

    choose: Chooser
    admits: Callable[[Shape], bool] = lambda _: True
    adapt: Callable[[Shape], Shape] = lambda shape: shape
