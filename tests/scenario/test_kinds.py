"""The table of steps: a kind is one class with one form."""

from dataclasses import dataclass, fields
from typing import ClassVar

import pytest

from refgrad.documents import schema_of
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, ScenarioError, Step, parse
from refgrad.scenario import scenario as text
from refgrad.scenario.codecs import TENSOR, Scope, or_none
from refgrad.scenario.kinds import STEPS, Definition, Vocabulary
from refgrad.scenario.step import Form
from tests.effort import each

EVERY_KIND = """\
x = leaf float64[2] {0x1p+0 0x1p+1} requires_grad
c = leaf float64[2] {0x1p+0 0x1p+1}
s = sum x axis=(0,) keepdims=true
h = grad s x seed float64[1] {0x1p+0}
t = jvp s x float64[2] {0x1p+0 0x0p+0}
d = detach s
j = call jacrev_of_rule own_square x
backward s seed float64[1] {0x1p+0} retain_graph
read grad x
zero grad x to zeros
enter no_grad
leave by error
require grad c
stop requiring grad c
write c copy x index=(1:,)
hook k on s scale 0x1p+1
read hook k
unhook k
retain grad s
delete c
"""


@dataclass(frozen=True, slots=True)
class Forget(Step):
    """A step that a later release may have: `forget x`, after which the name may be used again."""

    form: ClassVar[Form] = Form.of("forget NAME [for OTHER]", name=TENSOR, other=or_none(TENSOR))

    name: str
    other: str | None = None

    def check(self, scope: Scope) -> None:
        """Take the name away."""
        Step.check(self, scope)
        scope.names.remove(self.name)


def test_a_class_with_an_entry_in_the_table_and_one_in_the_schema_makes_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "VOCABULARY", Vocabulary((*STEPS, Forget)))
    monkeypatch.setitem(schema_of("scenario")["$defs"], "forget", {"required": ["step", "name", "other"]})
    scenario = parse("x = leaf float64[] {1}\nforget x\nx = leaf float64[] {2}\ny = exp x\nforget y for x\n")
    assert scenario.steps[1] == Forget("x")
    assert scenario.steps[4] == Forget("y", "x")
    assert Scenario.from_json(scenario.to_json()) == scenario
    assert scenario.text.splitlines()[1::3] == ["forget x", "forget y for x"]
    with pytest.raises(ScenarioError, match="line 3: 'x' is not defined by an earlier step"):
        parse("x = leaf float64[] {1}\nforget x\nbackward x")
    with pytest.raises(ScenarioError, match="line 2: 'y' is not defined by an earlier step"):
        parse("x = leaf float64[] {1}\nforget x for y")
    assert Forget("x", "y").renamed({"x": "a", "y": "b"}) == Forget("a", "b")
    assert Forget("x").renamed({"x": "a"}) == Forget("a")


def test_the_example_has_every_kind_of_step() -> None:
    assert {type(step) for step in parse(EVERY_KIND).steps} == set(STEPS)


@each("kind", STEPS)
def test_a_form_has_the_fields_of_its_class_in_their_order(kind: type[Definition]) -> None:
    assert list(kind.form.fields) == [field.name for field in fields(kind)]


def test_no_two_steps_share_a_word() -> None:
    assert len({step.form.tag for step in STEPS}) == len(STEPS)
    assert len({(step.form.keyword, step.form.target) for step in STEPS}) == len(STEPS)


def test_no_operator_is_named_like_a_step() -> None:
    assert not {step.form.keyword for step in STEPS if step.form.target} & set(operator_table())


def test_what_makes_a_tensor_is_a_definition() -> None:
    assert {step for step in STEPS if step.form.target} == set(Definition.__args__)


def test_every_name_can_be_changed() -> None:
    names = {name: f"{name}{name}" for name in "xcshtdk"}
    renamed = [step.renamed(names).to_text().split(" ") for step in parse(EVERY_KIND).steps]
    lines = [line.split(" ") for line in EVERY_KIND.splitlines()]
    assert renamed == [[names.get(word, word) for word in line] for line in lines]
