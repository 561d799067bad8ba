"""Groups of findings on an engine that have one cause, as far as their evidence shows.

Two findings have one cause if they are of one operator, call one function of the library, give the same wrong number
for the same truth, give 0 as a higher derivative where programs differ in the operator alone, give NaN where dual
numbers multiply 0 by infinity, give different results to equal entries, end with the same error, miss the same one,
give the same dtype in place of the right one, both show memory that a backward shares or writes to, or are wrong from
the second backward on. A signal that ends a process is no evidence of a common cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import Final

from refgrad.facts import Entry
from refgrad.facts.fact import MEMORY, SEVERITIES, Link, Severity
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.statements import Call, LocalFunction, Statement
from refgrad.report import TABLE
from refgrad.report.findings import Script
from refgrad.report.severity import At, steps_of
from refgrad.scenario import Apply, Backward, Grad, Leaf, Read

FUNCTION: Final = re.compile(r"(?:[\w{}]+\.)+(\w+)\([^()]*\)")
"""A code template that calls one function of the library, and nothing else."""

BUILT_ON: Final[Sequence[Sequence[str]]] = TABLE["chapters"]["built_on"]
"""Chapters on which others build, the foundations first. If a foundation fails, others are likely to fail."""


@dataclass(frozen=True)
class Cause:
    """Findings with one cause, the one that shows it best first, and what they have in common."""

    findings: tuple[Script, ...]
    links: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def best(self) -> Script:
        """The finding that shows the cause."""
        return self.findings[0]

    @cached_property
    def severity(self) -> Severity:
        """How bad the worst of its findings is."""
        return min((each.severity or SEVERITIES[-1] for each in self.findings), key=SEVERITIES.index)

    @property
    def at(self) -> tuple[At, ...]:
        """Unusual numbers at which all of its findings were seen."""
        return tuple(each for each in self.best.at if all(each in finding.at for finding in self.findings))


def causes(failed: Sequence[Script], verdicts: Sequence[Verdict]) -> list[Cause]:
    """Return the causes of an engine's failures: MUST before SHOULD, then foundations first, then the worst first.

    Failures of several operators that were not repeatable come last.

    ``verdicts`` are all verdicts of the report, since some name a failure that prevents a result.
    """
    return sorted((_cause(group, verdicts) for group in _groups(failed)), key=_order)


def shared_operators(engines: Iterable[Iterable[Cause]]) -> dict[str, list[Cause]]:
    """Return the operators that several libraries get wrong, with the cause in each engine, the worst first."""
    by_operator: dict[str, list[Cause]] = {}
    for cause in chain.from_iterable(engines):
        for operator in dict.fromkeys(each.verdict.operator for each in cause.findings):
            if operator:
                by_operator.setdefault(operator, []).append(cause)
    return {
        operator: sorted(each, key=lambda cause: SEVERITIES.index(cause.severity))
        for operator, each in sorted(by_operator.items())
        if len({cause.best.library for cause in each}) > 1
    }


def distinct_causes(failed: Iterable[Sequence[Script]]) -> int:
    """Return the number of different causes of the findings on several engines.

    Findings on engines of one library may have the same cause.
    """
    by_library: dict[str, list[Script]] = {}
    for finding in chain.from_iterable(failed):
        by_library.setdefault(finding.library, []).append(finding)
    return sum(len(_groups(each)) for each in by_library.values())


def _cause(group: Sequence[Script], verdicts: Sequence[Verdict]) -> Cause:
    alike = (list(each) for _, each in groupby(sorted(group, key=_rank), key=_rank))
    findings = tuple(chain.from_iterable(sorted(each, key=_length) if len(each) > 1 else each for each in alike))
    ids = {each.verdict.id for each in findings}
    every = [set(links(each)) for each in findings]
    shared = {link for links_of in every for link in links_of if sum(link in other for other in every) > 1}
    hidden = tuple(v.id for v in verdicts if v.cause in ids and not v.failed)
    return Cause(findings, tuple(sorted(f"{kind} {what}" for kind, what in shared)), hidden)


def _order(cause: Cause) -> tuple[bool, bool, int, int, int]:
    optional = all(each.verdict.level != "MUST" for each in cause.findings)
    evidence, operator = cause.best.verdict.evidence, cause.best.verdict.operator
    flaky = evidence is not None and not evidence.repeatable and not operator  # the check of one may report the same
    return optional, flaky, _height(cause.best), SEVERITIES.index(cause.severity), -len(cause.findings)


def _height(finding: Script) -> int:
    """Return the number of layers of chapters below that of a finding."""
    chapter = finding.verdict.chapter
    return next((height for height, chapters in enumerate(BUILT_ON) if chapter in chapters), len(BUILT_ON))


def _groups(findings: Sequence[Script]) -> list[list[Script]]:
    """Return groups of findings that links connect directly or indirectly."""
    groups: list[list[Script]] = []
    known: list[set[Link]] = []
    for finding in findings:
        group, group_links = [finding], set(links(finding))
        for number in reversed(range(len(groups))):
            if known[number] & group_links:
                group = groups.pop(number) + group
                group_links |= known.pop(number)
        groups.append(group)
        known.append(group_links)
    return groups


def links(finding: Script) -> Iterator[Link]:
    """Yield what a finding may have in common with others."""
    verdict = finding.verdict
    fact = verdict.fact
    operator, own = _operator(verdict), () if fact is None else fact.links()
    if fact is not None and fact.links_must_agree:
        yield from own
        return
    if _shares_memory(verdict):
        yield "memory:", MEMORY
        return
    if finding.forward_only and _multiplies_infinity(finding):
        yield "dual numbers:", "0 * infinity"
        return
    yield from own
    if isinstance(fact, Entry) and float(fact.observed) == 0 and (derivative := _higher_derivative(steps_of(verdict))):
        yield "0 in place of", derivative
    if not verdict.operator and sum(isinstance(step, Backward) for step in steps_of(verdict)) > 1:
        yield "wrong from", "the second backward on"
    if not operator:
        return
    if verdict.chapter in {"infinities", "exceptional"}:
        yield "operator at NaN and infinities:", operator
        return
    raises = fact is not None and fact.raised is not None
    kind = "inaccurate " if verdict.verdict == "inaccurate" else "failing " if raises else ""
    yield f"{kind}operator", operator
    yield from ((f"{kind}function", name) for name in _functions(finding, operator))


def _shares_memory(verdict: Verdict) -> bool:
    """Return True if a gradient is wrong after several backwards have added to the gradients of several leaves."""
    fact, steps = verdict.fact, steps_of(verdict)
    leaves = [step.name for step in steps if isinstance(step, Leaf) and step.requires_grad]
    backwards = [step for step in steps if isinstance(step, Backward)]
    gradient = isinstance(fact, Entry) and fact.subject.of == "gradient"
    return verdict.chapter == "contracts" and gradient and len(leaves) > 1 and len(backwards) > 1


def _multiplies_infinity(finding: Script) -> bool:
    """Return True if a derivative at infinity is NaN and the operator has another operand, whose tangent is 0."""
    fact, steps = finding.verdict.fact, steps_of(finding.verdict)
    operands = [set(step.arguments) for step in steps if isinstance(step, Apply)]
    nan = isinstance(fact, Entry) and fact.observed == "nan" != fact.lower
    return nan and "at infinity" in finding.at and any(len(each) > 1 for each in operands)


def _higher_derivative(steps: Sequence[object]) -> str:
    """Return the derivative that a program takes, with f for its operators, or an empty string if it takes none.

    Leaves are x1, x2 in the order in which they are differentiated by; an operator's operands are a set.
    """
    if not all(isinstance(step, Leaf | Apply | Grad | Backward | Read) for step in steps):
        return ""
    moved = [step.leaf for step in steps if isinstance(step, Grad)]
    leaves = dict.fromkeys([*moved, *(step.name for step in steps if isinstance(step, Leaf))])
    names = {leaf: f"x{number}" for number, leaf in enumerate(leaves, 1)}
    terms, output = [], ""
    for number, step in enumerate((step for step in steps if isinstance(step, Apply | Grad)), 1):
        names[step.name] = f"y{number}"
        operands = sorted({names[name] for name in step.arguments}) if isinstance(step, Apply) else ()
        term = f"f({', '.join(operands)})" if isinstance(step, Apply) else f"d{names[step.output]}/d{names[step.leaf]}"
        terms.append(f"{names[step.name]} = {term}")
        output = names[step.name]
    terms += [f"d{output}/d{names[step.name]}" for step in steps if isinstance(step, Read) and step.what == "grad"]
    return ", ".join(terms) if moved else ""


def _operator(verdict: Verdict) -> str:
    """Return the operator of the check; for graphs, that of the failing step, or the only operator of the scenario."""
    if verdict.operator or verdict.chapter != "graphs":
        return verdict.operator
    steps = steps_of(verdict)
    at = verdict.evidence.step if verdict.evidence else 0
    failing = [step for step in steps[at - 1 : at] if isinstance(step, Apply)]
    applied = {step.operator for step in failing or steps if isinstance(step, Apply)}
    return applied.pop() if len(applied) == 1 else ""


def _functions(finding: Script, operator: str) -> Iterator[str]:
    """Yield the function of the library that a program calls for an operator, if it calls nothing else for it."""
    names = {step.name for step in steps_of(finding.verdict) if isinstance(step, Apply) and step.operator == operator}
    for call in _named_calls(finding.verdict.reproduction):
        if names.intersection(call.targets) and (match := FUNCTION.fullmatch(call.template)):
            yield match[1]


def _named_calls(statements: Iterable[Statement], result: str = "") -> Iterator[Call]:
    """Yield the calls of a program, and those in its functions other than what a function returns."""
    for statement in statements:
        if isinstance(statement, Call) and result not in statement.targets:
            yield statement
        elif isinstance(statement, LocalFunction):
            yield from _named_calls(statement.body, statement.result)


def _rank(finding: Script) -> tuple[bool, int, int, float]:
    """Sort key of findings: the order of causes, then the worst number first."""
    fact = finding.verdict.fact
    error = float(fact.relative_error) if isinstance(fact, Entry) else 0.0
    capped = min(error, 1.0) if error == error else 1.0  # noqa: PLR0124 (NaN is as wrong as can be)
    severity = SEVERITIES.index(finding.severity or SEVERITIES[-1])
    return finding.verdict.level != "MUST", _height(finding), severity, -capped


def _length(finding: Script) -> int:
    """Sort key of findings of one rank: the length of the program, which takes long to print."""
    return len(finding.program)
