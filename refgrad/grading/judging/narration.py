"""Descriptions of evidence in English; no code parses them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from types import MappingProxyType
from typing import Final

import numpy as np

from refgrad.grading.judging.evidence import (
    Absent,
    Blocked,
    Calls,
    Died,
    Dtype,
    Entry,
    Error,
    Evidence,
    Fact,
    Flag,
    Lacks,
    Masked,
    Measured,
    Numbers,
    Parents,
    Remark,
    SeedWrite,
    Shape,
    Silence,
    Subject,
    Tally,
    Uncoupled,
    Unsent,
)
from refgrad.oracles import EntryError, Violation
from refgrad.scenario import Scenario

EXCUSES: Final[Mapping[str, str]] = MappingProxyType({
    "": "",
    "zero": "a gradient that is zero need not be recorded: ",
    "valueless": "there may be no value here: ",
    "outside": "an operand is outside of the operator's range: ",
})


REMARKS: Final[Mapping[str, str]] = MappingProxyType({
    "": "{what} is {seen}",
    "choice": "a legal subgradient was chosen: {what} is {seen}",
    "coarser": "a convention: {what} is {seen}: {reason}",
    "nan": "a convention: {what} is not a number: {reason}",
    "undefined": "{what} is not a number, and {reason} has no value at this point",
    "cancels": "{what} is {seen}: its terms cancel, which only some do exactly",
    "limit": "{what} is {seen}: {reason}",
    "unwritten": "{what} is {seen}: it was read from memory that nothing was written to",
    "negligible": "{what} is {seen}: off by {scaled:.1e} of the largest {scale}",
    "float32": "{what} is {seen}: all numbers shown here are float32's, and of those it is the right one",
    "swallowed": "{what} is {seen}: a comparison with NaN is false, and the other operand was taken",
    "order": "{what} is {seen}, and that is the value of `{reason}`: the operands change places",
})
"""Format strings of the description of an entry, by its remark."""


def message(evidence: Evidence, scenario: Scenario | None = None) -> str:
    """Describe evidence; given the scenario, the description names the step that showed it."""
    place = ""
    if scenario is not None and evidence.step:
        place = f"step {evidence.step}, `{scenario.steps[evidence.step - 1].to_text()}`: "
    often = "" if evidence.repeatable else f" (not repeatable: seen in {evidence.seen} of {evidence.runs} runs)"
    return f"{place}{said(evidence.fact)}{often}"


def name_of(subject: Subject) -> str:
    """Return the name of an array in a description."""
    if subject.of == "hook":
        return f"what {subject.name} saw in call {subject.call}"
    return f"the {subject.of} of {subject.name}"


@singledispatch
def said(fact: Fact) -> str:
    """Describe a fact. Raises NotImplementedError for any other object."""
    raise NotImplementedError(type(fact).__name__)


@said.register
def _(fact: Entry) -> str:
    what = name_of(fact.subject)
    entry = EntryError(
        fact.index,
        float(fact.observed),
        fact.lower,
        fact.upper,
        float(fact.relative_error),
        float(fact.budgets),
    )
    seen = entry.describe_choice() if fact.remark == "choice" else entry.describe()
    scale = "operand" if fact.subject.of == "value" else "seed"
    scaled = float(fact.scaled_error)
    return REMARKS[fact.remark].format(what=what, seen=seen, reason=fact.reason, scale=scale, scaled=scaled)


@said.register
def _(fact: Shape) -> str:
    return f"{name_of(fact.subject)} has the shape {fact.seen}, but it should be {fact.expected}"


@said.register
def _(fact: Dtype) -> str:
    due = f", but it should be {fact.expected}" if fact.expected else ""
    return f"{name_of(fact.subject)} has the dtype {fact.seen}{due}"


@said.register
def _(fact: Masked) -> str:
    return f"{name_of(fact.subject)} has {fact.masked} of {fact.size} entries masked: they are missing"


@said.register
def _(fact: Absent) -> str:
    why = "" if fact.certain else ", and it is not certain that one is due"
    before = "" if fact.error is None else f": step {fact.after_step} raised {fact.error.text}"
    return f"{name_of(fact.subject)} is missing{why}{before}"


@said.register
def _(fact: Error) -> str:
    if not fact.expected:
        return f"{EXCUSES[fact.excuse]}raised {fact.error.text}"
    wanted = " or ".join(map(repr, fact.expected))
    due = " or ".join(fact.due)
    return f"{EXCUSES[fact.excuse]}raised {fact.error.text!r}, which does not match {wanted}, as it should ({due})"


@said.register
def _(fact: Silence) -> str:
    return f"carried on silently where an error is due ({' or '.join(fact.due)})"


@said.register
def _(fact: Flag) -> str:
    return f"is {fact.seen}, but it should be {fact.expected}"


@said.register
def _(fact: Calls) -> str:
    return f"{fact.hook} saw {fact.seen} gradients, but there were {fact.expected}"


@said.register
def _(fact: Unsent) -> str:
    return f"{fact.leaf} got the gradient {_listed(fact.gradients[0])}, but nothing was sent to it"


@said.register
def _(fact: SeedWrite) -> str:
    return f"wrote to a seed: {fact.change}"


@said.register
def _(fact: Uncoupled) -> str:
    names = " and ".join(each.name for each in fact.gradients)
    given = " and ".join(_listed(each) for each in fact.gradients)
    moving = {each.name: each.array for each in fact.direction}
    found = Violation(moving, float(fact.rate), float(fact.lower), float(fact.upper))
    return f"the gradient of {names} is {given}, {found.describe()}"


@said.register
def _(fact: Died) -> str:
    return fact.detail or "the engine's process died while it ran this scenario"


@said.register
def _(fact: Lacks) -> str:
    return f"the engine has no {', no '.join(fact.names)}"


@said.register
def _(fact: Blocked) -> str:
    return f"{fact.cause} fails already"


@said.register
def _(fact: Tally) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in fact.counts)


@said.register
def _(fact: Parents) -> str:
    seen, due = (", ".join(name or "something else" for name in names) for names in (fact.seen, fact.expected))
    return f"the node of {fact.node} leads to [{seen}], not to [{due}]"


@said.register
def _(fact: Measured) -> str:
    grown = {"growth": "memory grows with every iteration", "time": "time grows faster than the size"}
    return grown.get(fact.quantity, f"{fact.quantity} is not let go")


@said.register
def _(fact: Remark) -> str:
    return fact.text


def _listed(numbers: Numbers) -> str:
    return str(np.array(numbers.entries, dtype=object).reshape(numbers.shape).tolist()).replace("'", "")
