"""The step: one action of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from refgrad.scenario.errors import check_type
from refgrad.scenario.steps.form import Form
from refgrad.scenario.steps.scope import Scope
from refgrad.scenario.tokens import Cursor


class Step:
    """One action of a scenario: a frozen dataclass that validates its fields, with a text and a JSON form.

    A kind of step is a subclass listed in `refgrad.scenario.steps.kinds.STEPS`, whose ``form`` defines the text of its
    fields. A subclass overrides :meth:`check` if it is valid only under further conditions than the names that it uses,
    or if it changes the scope by more than a name.
    """

    __slots__ = ()

    form: ClassVar[Form]
    stateful: ClassVar[bool] = False
    """True if a step changes the value of a name, or how later steps are recorded and differentiated."""

    def __post_init__(self) -> None:
        """Validate the fields one by one."""
        for field, types, keep in self.form.checks:
            value = getattr(self, field)
            if types and type(value) not in types:
                check_type(field, value, *types)
            kept = keep(value)
            if kept is not value:
                object.__setattr__(self, field, kept)

    @property
    def defines(self) -> str | None:
        """Name of the tensor that the step creates, or None."""
        return getattr(self, self.form.target) if self.form.target else None

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the tensors that must exist already, in the order of the text."""
        return tuple(name for field, used in self.form.users for name in used(getattr(self, field)))

    def check(self, scope: Scope) -> None:
        """Add the step to a scope. Raises ScenarioError if it is not valid there."""
        for name in self.uses:
            scope.use(name)
        for field, rule in self.form.rules:
            rule(scope, getattr(self, field))

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the step with tensors and hooks renamed. Names that are not in ``names`` stay."""
        fields = {field: codec.renamed(getattr(self, field), names) for field, codec in self.form.fields.items()}
        return type(self)(**fields)

    def to_text(self) -> str:
        """Return the canonical line, without a newline."""
        return self.form.write(self)

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        """Read the whole line that `to_text` returns."""
        return cls(**cls.form.read(cursor))

    def to_json(self) -> dict[str, Any]:
        """Return the members of the JSON form except "step"."""
        return self.form.encode(self)

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        """Return the step for the members that `to_json` returns, which must satisfy the schema."""
        return cls(**cls.form.decode(members))
