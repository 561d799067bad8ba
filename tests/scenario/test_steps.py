"""Can a kind of step be added in one place?"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Self

import pytest

from refgrad.operators import operator_table
from refgrad.scenario import ScenarioError, Step, encoding, parse, schema, text, vocabulary
from refgrad.scenario.scenario import Scenario
from refgrad.scenario.step import Scope
from refgrad.scenario.tokens import Cursor


@dataclass(frozen=True, slots=True)
class Forget(Step):
    """A step that a later release may have: `forget x`, after which the name may be used again."""

    name: str

    tag: ClassVar[str] = "forget"
    keyword: ClassVar[str] = "forget"
    assigns: ClassVar[bool] = False
    fields: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"name": {"$ref": "#/$defs/name"}})

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.name,)

    def check(self, scope: Scope) -> None:
        scope.use(self.name)
        scope.names.remove(self.name)

    def to_text(self) -> str:
        return f"forget {self.name}"

    @classmethod
    def from_text(cls, cursor: Cursor) -> Self:
        cursor.expect("forget")
        return cls(cursor.take_identifier("a name"))

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name}

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Self:
        return cls(members["name"])


def test_one_class_and_one_entry_in_the_vocabulary_make_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    extended = vocabulary.Vocabulary((*vocabulary.STEPS, Forget))
    for module in (text, encoding, schema):
        monkeypatch.setattr(module, "VOCABULARY", extended, raising=False)
    scenario = parse("x = leaf float64[] {1}\nforget x\nx = leaf float64[] {2}\n")
    assert scenario.steps[1] == Forget("x")
    assert Scenario.from_json(scenario.to_json()) == scenario
    assert scenario.text.splitlines()[1] == "forget x"
    with pytest.raises(ScenarioError, match="line 3: 'x' is not defined by an earlier step"):
        parse("x = leaf float64[] {1}\nforget x\nbackward x")


def test_no_two_steps_share_a_word() -> None:
    assert len({step.tag for step in vocabulary.STEPS}) == len(vocabulary.STEPS)
    assert len({(step.keyword, step.assigns) for step in vocabulary.STEPS}) == len(vocabulary.STEPS)


def test_no_operator_is_named_like_a_step() -> None:
    assert not {step.keyword for step in vocabulary.STEPS if step.assigns} & set(operator_table())
