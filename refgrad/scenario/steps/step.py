"""The step: one action of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from refgrad.scenario.errors import check_type
from refgrad.scenario.steps.form import Form
from refgrad.scenario.steps.scope import Scope
from refgrad.scenario.tokens import Cursor


class Step:
    """One action of a scenario: a frozen dataclass that checks itself, and knows its text and its JSON form.

    A kind of step is a subclass, whose ``form`` says how its fields are written, and that stands in
    `refgrad.scenario.steps.kinds.STEPS`. A subclass overrides :meth:`check` if more than names decides where it can
    stand, or if it changes the scope otherwise than by a name.
    """

    __slots__ = ()

    form: ClassVar[Form]
    stateful: ClassVar[bool] = False
    """Whether it changes what a name holds, or how later steps are recorded and walked back: more than a definition."""

    def __post_init__(self) -> None:
        """Check the fields one by one."""
        for field, types, keep in self.form.checks:
            value = getattr(self, field)
            if types and type(value) not in types:
                check_type(field, value, *types)
            kept = keep(value)
            if kept is not value:
                object.__setattr__(self, field, kept)

    @property
    def defines(self) -> str | None:
        """The name of the tensor that exists from here on, or None."""
        return getattr(self, self.form.target) if self.form.target else None

    @property
    def uses(self) -> tuple[str, ...]:
        """The tensors that must exist already, in the order in which they are written."""
        return tuple(name for field, used in self.form.users for name in used(getattr(self, field)))

    def check(self, scope: Scope) -> None:
        """Refuse this step where it cannot stand, else change the scope as it does."""
        for name in self.uses:
            scope.use(name)
        for field, rule in self.form.rules:
            rule(scope, getattr(self, field))

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the step with other names for tensors and hooks; a name that is not given stays."""
        fields = {field: codec.renamed(getattr(self, field), names) for field, codec in self.form.fields.items()}
        return type(self)(**fields)

    def to_text(self) -> str:
        """Return the canonical line, without its end."""
        return self.form.write(self)

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read the whole line that `to_text` writes."""
        return cls(**cls.form.read(cursor))

    def to_json(self) -> dict[str, Any]:
        """Return the members of the JSON form but "step"."""
        return self.form.encode(self)

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Read what `to_json` returns; it already satisfies the schema."""
        return cls(**cls.form.decode(members))
