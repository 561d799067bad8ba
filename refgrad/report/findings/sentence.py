"""Says in one plain sentence what was computed, what is right, and what the engine gives."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Final

from refgrad.grading.judging.evidence import (
    Absent,
    Calls,
    Died,
    Dtype,
    Entry,
    Error,
    Fact,
    Flag,
    Measured,
    Parents,
    SeedWrite,
    Shape,
    Silence,
    Uncoupled,
    Unsent,
)
from refgrad.grading.judging.narration import said
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.text import plain_line
from refgrad.report.findings.assertion import REASONS
from refgrad.report.findings.computed import Computed
from refgrad.report.severity import scenario_of
from refgrad.scenario import (
    Apply,
    Backward,
    Grad,
    Hook,
    Jvp,
    Read,
    RequireGrad,
    RetainGrad,
    StopRequiringGrad,
    Write,
)

LONGEST_SENTENCE: Final = 600
UNWRITTEN: Final = ", which it reads from memory that nothing was written to"


def sentence(verdict: Verdict, title: str) -> str:
    """Return the sentence for a verdict on the engine of this title (its name and version)."""
    fact = verdict.fact
    scenario = scenario_of(verdict)
    if fact is None or scenario is None:
        asked = f"{verdict.statement} " if verdict.verdict == "hung" else ""  # the message says how long alone
        told = f"{_braced(asked)}{{engine}}: {_braced(verdict.message.rstrip('.'))}."
    else:
        step = verdict.evidence.step if verdict.evidence else 0
        told = sentence_of(fact, Computed(scenario, step or len(scenario.steps)))
    if verdict.evidence is not None and not verdict.evidence.repeatable:
        told += f" That was seen in {verdict.evidence.seen} of {verdict.evidence.runs} runs."
    return plain_line(told.replace("{engine}", _braced(title)), LONGEST_SENTENCE).replace("{{", "{").replace("}}", "}")


def expression(verdict: Verdict) -> str:
    """Return what a verdict's scenario differentiates, or computes, as code; nothing where it has no scenario."""
    scenario = scenario_of(verdict)
    if scenario is None:
        return ""
    computed = Computed(scenario, len(scenario.steps))
    made = [step.name for step in scenario.steps if isinstance(step, Apply)]
    return f"`{computed.output if computed.backwards or not made else computed.texts[made[-1]]}`"


@singledispatch
def sentence_of(fact: Fact, computed: Computed) -> str:
    """Return the sentence for a fact, in which ``{engine}`` stands for the engine."""
    return _capital(f"{computed.before}{{engine}}: {_braced(said(fact))}.")


@sentence_of.register
def _(fact: Entry, computed: Computed) -> str:
    low, high, seen = float(fact.lower), float(fact.upper), float(fact.observed)
    digits = 6 if not abs(seen - low) < 1e-4 * abs(low) else 17
    right = (
        _number(low, digits)
        if low == high or math.isnan(low)
        else f"between {_number(low, digits)} and {_number(high, digits)}"
    )
    entry = f"entry [{', '.join(map(str, fact.index))}] of " if fact.index else ""
    what = f"{entry}{computed.subject(fact.subject)}{computed.place(fact.index, seeded=fact.subject.of == 'gradient')}"
    gives = _number(seen, digits) + (UNWRITTEN if fact.remark == "unwritten" else "")
    return _capital(f"{computed.before}{_braced(what)} is {right}; {{engine}} gives {gives}.")


@sentence_of.register
def _(fact: Dtype, computed: Computed) -> str:
    due = f"has the dtype {fact.expected}" if fact.expected else "is an array of numbers"
    what = f"{computed.subject(fact.subject)}{_dtypes(computed)}"
    before = "" if computed.plain else "at the end of the program, "
    return _capital(f"{before}{_braced(what)} {_braced(due)}; {{engine}} gives {_braced(fact.seen)}.")


@sentence_of.register
def _(fact: Shape, computed: Computed) -> str:
    what = _braced(computed.subject(fact.subject))
    return _capital(f"{computed.before}{what} has the shape {fact.expected}; {{engine}} gives {fact.seen}.")


@sentence_of.register
def _(fact: Absent, computed: Computed) -> str:
    given = "none" if fact.error is None else f"none, but raises {fact.error.text}"
    what = computed.subject(fact.subject).replace("the gradient", "a gradient", 1)
    place = computed.place(seeded=True)
    return _capital(f"{computed.before}there is {_braced(what + place)}; {{engine}} gives {_braced(given)}.")


@sentence_of.register
def _(fact: Error, computed: Computed) -> str:
    what = _possible(computed)
    if fact.expected:
        what = "an error is due here that says so: " + " or ".join(REASONS.get(kind, kind) for kind in fact.due)
    return _capital(f"{computed.before}{_braced(what)}; {{engine}} raises {_braced(fact.error.text.rstrip('.'))}.")


@sentence_of.register
def _(fact: Died, computed: Computed) -> str:
    return _capital(f"{computed.before}{_braced(_possible(computed))}; {{engine}}: {_braced(said(fact))}.")


@sentence_of.register
def _(fact: Parents, computed: Computed) -> str:  # noqa: ARG001 (a measurement has no scenario)
    seen, due = (", ".join(name or "something else" for name in names) for names in (fact.seen, fact.expected))
    return (
        f"The node of `{_braced(fact.node)}` leads to [{_braced(due)}]; that of {{engine}} leads to [{_braced(seen)}]."
    )


@sentence_of.register
def _(fact: Silence, computed: Computed) -> str:
    reason = " or ".join(REASONS.get(kind, kind) for kind in fact.due)
    what = _braced(_action(computed))
    return f"At the end of the program, {what} must be refused, since {reason}; {{engine}} raises no error."


@sentence_of.register
def _(fact: Flag, computed: Computed) -> str:
    last = computed.steps[-1]
    what = f"`{last.what}` of `{last.name}`" if isinstance(last, Read) else "the flag"
    return _capital(f"{computed.before}{_braced(what)} is {fact.expected}; {{engine}} says {_braced(fact.seen)}.")


@sentence_of.register
def _(fact: Calls, computed: Computed) -> str:
    what = f"the hook `{_braced(fact.hook)}` sees {_counted(fact.expected)}"
    return _capital(f"{computed.before}{what}; {{engine}} shows it {_counted(fact.seen)}.")


@sentence_of.register
def _(fact: Unsent, computed: Computed) -> str:
    given = fact.gradients[0]
    seen = _number(float(given.entries[0]), 6) if len(given.entries) == 1 else given.array.tolist()
    what = f"nothing is sent to `{_braced(fact.leaf)}`"
    return _capital(f"{computed.before}{what}; {{engine}} gives it the gradient {seen}.")


@sentence_of.register
def _(fact: SeedWrite, computed: Computed) -> str:  # noqa: ARG001 (which seed it is stands in the program)
    return "A backward does not write to its seed; that of {engine} does."


@sentence_of.register
def _(fact: Uncoupled, computed: Computed) -> str:
    moved = " and ".join(f"`{each.name}` by {_entries(each.entries)}" for each in fact.direction)
    low, high = float(fact.lower), float(fact.upper)
    right = _number(low, 6) if low == high else f"between {_number(low, 6)} and {_number(high, 6)}"
    given = _number(float(fact.rate), 6)
    told = f"moving {moved}{computed.place()} changes `{computed.output}` by {right}"
    return _capital(f"{_braced(told)}; according to the gradient that {{engine}} gives, by {given}.")


@sentence_of.register
def _(fact: Measured, computed: Computed) -> str:  # noqa: ARG001 (a measurement has no scenario)
    return _capital(f"{{engine}}: {said(fact)}.")


def _possible(computed: Computed) -> str:
    """Return what an engine must be able to do at the last step."""
    place = computed.place()
    match computed.steps[-1] if computed.steps else None:
        case Apply(name=name) | Read(what="value", name=name):
            return f"`{computed.texts[name]}` can be computed{place}"
        case Jvp(output=output):
            return f"`{computed.texts.get(output, output)}` has a forward-mode derivative{place}"
        case Grad(output=output, leaf=leaf):
            return f"`{computed.texts.get(output, output)}` has a gradient with respect to `{leaf}`{place}"
        case Backward() | Read(what="grad") | None if computed.backwards or not computed.steps:
            return f"`{computed.output}` has a gradient{place}"
    return f"{_action(computed)} is possible{place}"


def _action(computed: Computed) -> str:
    """Name what the last step does."""
    match computed.steps[-1]:
        case Backward(output=output):
            done = f"a backward from `{output}`"
        case Grad(output=output, leaf=leaf):
            done = f"the gradient of `{output}` with respect to `{leaf}`"
        case Write(name=name):
            done = f"overwriting `{name}`"
        case Hook(tensor=tensor):
            done = f"a hook on `{tensor}`"
        case RetainGrad(name=name):
            done = f"keeping the gradient of `{name}`"
        case RequireGrad(name=name) | StopRequiringGrad(name=name):
            done = f"changing whether `{name}` requires grad"
        case Read(what="hook", name=name):
            done = f"reading what `{name}` saw"
        case Read(what=what, name=name):
            read = "the gradient" if what == "grad" else f"`{what}`"
            done = f"reading {read} of `{computed.texts.get(name, name)}`"
        case last:
            done = f"`{last.to_text()}`"
    return done


def _dtypes(computed: Computed) -> str:
    given = sorted({leaf.value.dtype for leaf in computed.leaves.values()})
    return f" of {' and '.join(given)}" if given else ""


def _counted(number: int) -> str:
    return f"{number} gradient{'' if number == 1 else 's'}"


def _entries(entries: tuple[str, ...]) -> str:
    numbers = [_number(float(entry), 6) for entry in entries]
    return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"


def _number(number: float, digits: int) -> str:
    return repr(number + 0.0) if digits > 6 or not math.isfinite(number) else f"{number + 0.0:.6g}"  # noqa: PLR2004


def _braced(text: str) -> str:
    """Return a text in which braces stand for themselves."""
    return text.replace("{", "{{").replace("}", "}}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text[:1] not in {"{", "`"} else text
