"""Contexts in which a gradient that is right in the plain call may be wrong.

A context is code of PyTorch or JAX from ``specs/contexts``, which is run by the check and printed in its messages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from math import prod
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from refgrad.checking.check import OWN_SEEDS, GradientCheck
from refgrad.checking.contexts.variants import PLAIN, Expect, Mismatch, PlainCall, Variant, merged
from refgrad.checking.libraries.trees import Array, Arrays
from refgrad.checking.modes import forward_report
from refgrad.checking.report import Explanation, GradientReport
from refgrad.oracles.slopes.directions import OutOfTime
from refgrad.specification import specs_directory

Contexts: TypeAlias = Literal["cheap", "all"] | Collection[str]
"""The cheap contexts, all, or some by name."""

MOST_PAIRS = 2
"""Largest number of pairs of inputs that are given as one tensor."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Another memory layout of the same numbers: its name, code, numbers of axes, and which entries are equal."""

    name: str
    group: str
    code: str
    axes: Sequence[int]
    equal: str = ""


SUBSETS = "subsets"
"""Group of variants that are each merged with those of the offset layout."""

CROSSED: Mapping[str, str] = MappingProxyType({"transposed": "stepped", "stepped": "transposed"})
"""Groups in which layouts of inputs are combined with others, so that strides of inputs and cotangents differ."""

INPUT, COTANGENT = "input{s}", "the cotangent{s} of output{s}"


def _sentence(what: str, names: Sequence[str], state: str) -> str:
    """Return a clause such as ``input 0 is a constant`` about one or several inputs or cotangents."""
    ending, verb = ("", "is") if len(names) == 1 else ("s", "are")
    return f"{what.format(s=ending)} {' and '.join(names)} {verb} {state}"


Parts: TypeAlias = Sequence[Callable[[], Variant]]
Make: TypeAlias = Callable[[Layout, Sequence[int], Parts], Variant]


def _in_layouts(shapes: Sequence[tuple[int, ...]], layouts: Iterable[Layout], make: Make) -> Iterator[Variant]:
    """Yield the variant for all arrays that have a layout, with those for each of some of them as parts."""
    several = [n for n, shape in enumerate(shapes) if prod(shape) > 1]
    for layout in layouts:
        numbers = [n for n in several if len(shapes[n]) in layout.axes]
        if numbers:
            single = numbers[:OWN_SEEDS] if len(numbers) > 1 else ()
            yield make(layout, numbers, [partial(make, layout, [n], ()) for n in single])


def cotangent_layouts(plain: PlainCall, table: Table) -> Iterator[Variant]:
    """Yield cotangents with other layouts in memory."""

    def make(layout: Layout, numbers: Sequence[int], parts: Parts) -> Variant:
        lines = [
            f"cotangents[{n}] = {layout.code.format(x=f'cotangents[{n}]', shape=plain.output_shapes[n])}\n"
            for n in numbers
        ]
        seeds: list[Any] = list(plain.seeds)
        for n in numbers if layout.equal else ():
            k, first = plain.seeded[n], (0,) * len(plain.output_shapes[n])
            seeds[k] = np.broadcast_to(seeds[k][first], seeds[k].shape).copy()
        where = _sentence(COTANGENT, [str(plain.seeded[n]) for n in numbers], layout.name)
        own = seeds if layout.equal else None
        return Variant(where=where, before="".join(lines), seeds=own, group=layout.group, parts=parts)

    return _in_layouts(plain.output_shapes, (each for each in table.layouts if each.equal != "rows"), make)


def input_layouts(plain: PlainCall, table: Table) -> Iterator[Variant]:
    """Yield inputs with other layouts in memory."""

    def make(layout: Layout, numbers: Sequence[int], parts: Parts) -> Variant:
        where = _sentence(INPUT, [plain.names[n] for n in numbers], layout.name)
        if layout.equal:
            return _with_equal_rows(plain, numbers, where, layout, parts)
        code = {n: layout.code.format(x=f"primals[{n}].detach()", shape=plain.shapes[n]) for n in numbers}
        lines = [f"primals[{n}] = {each}.requires_grad_()\n" for n, each in code.items()]
        return Variant(where=where, setup="".join(lines), group=CROSSED.get(layout.group, layout.group), parts=parts)

    return _in_layouts(plain.shapes, (each for each in table.layouts if each.equal != "entries"), make)


def _with_equal_rows(plain: PlainCall, numbers: Sequence[int], where: str, layout: Layout, parts: Parts) -> Variant:
    point = list(plain.subject.point)
    for n in numbers:
        point[n] = np.broadcast_to(point[n][:1], point[n].shape).copy()

    def summed(_: Arrays, gradients: list[Array]) -> None:
        for n in numbers:
            total = gradients[n].sum(0)
            gradients[n][...] = 0
            gradients[n][0] = total

    return Variant(
        where=where,
        inputs={n: layout.code.format(x="{}", shape=plain.shapes[n]) for n in numbers},
        point=tuple(point),
        expect=(summed,),
        source=f"{PLAIN} with equal rows, summed over them",
        group=layout.group,
        parts=parts,
    )


def subsets(plain: PlainCall, table: Table) -> Iterator[Variant]:
    """Yield calls in which some inputs are constants."""
    count = len(plain.shapes)
    single = range(min(count, OWN_SEEDS) if count > 1 else 0)
    others = [[n for n in range(count) if n != each] for each in single]
    for constants in [*([n] for n in single), *(others if count > 2 else ())]:  # noqa: PLR2004 (of two inputs, each has been tried)
        rest = [plain.names[n] for n in range(count) if n not in constants]
        if len(rest) == 1:
            where = f"input {rest[0]} is the only one that requires a gradient"
        else:
            where = _sentence(INPUT, [plain.names[n] for n in constants], "constant: no gradient is required")
        yield Variant(where=where, constants=dict.fromkeys(constants, table.constant), group=SUBSETS)


def one_passed_twice(plain: PlainCall, _: Table) -> Iterator[Variant]:
    """Yield calls in which one tensor is given for two inputs."""
    subject = plain.subject
    own = range(0 if subject.copied else sum(p < len(subject.arguments_tree.leaves) for p in subject.positions))
    alike = [
        (a, b)
        for a, b in combinations(own, 2)
        if (subject.kinds[a], plain.shapes[a]) == (subject.kinds[b], plain.shapes[b])
    ]
    for a, b in alike[:MOST_PAIRS]:
        point = list(subject.point)
        point[b] = point[a]

        def both(_: Arrays, gradients: list[Array], a: int = a, b: int = b) -> None:
            gradients[a] += gradients[b]
            gradients[b][...] = 0

        yield Variant(
            where=f"one tensor is given for the inputs {plain.names[a]} and {plain.names[b]}",
            inputs={b: f"primals[{a}]"},
            point=tuple(point),
            expect=(both,),
            source="as the sum of both gradients in a plain call with two equal tensors",
        )


def unused_outputs(plain: PlainCall, _: Table) -> Iterator[Variant]:
    """Yield calls in which one of several outputs is not used, so that its cotangent is undefined."""
    for n, k in enumerate(plain.seeded[:OWN_SEEDS] if len(plain.seeded) > 1 else ()):
        seeds = [np.zeros_like(seed) if j == k and seed is not None else seed for j, seed in enumerate(plain.seeds)]
        before = f"outputs = [*outputs]\noutputs[{n}] = torch._C._functions.UndefinedGrad()(outputs[{n}])\n"
        yield Variant(where=f"output {k} is not used", before=before, seeds=seeds)


def _by_code(code: str) -> Expect:
    """Return a function that replaces each input's ``gradient`` by the value of code, in which ``x`` is the input."""
    expected = eval(f"lambda x, gradient: {code}")

    def change(point: Arrays, gradients: list[Array]) -> None:
        gradients[:] = map(expected, point, gradients)

    return change


VARIANTS: Mapping[str, Callable[[PlainCall, Table], Iterator[Variant]]] = MappingProxyType({
    "cotangent layouts": cotangent_layouts,
    "input layouts": input_layouts,
    "subsets": subsets,
    "unused outputs": unused_outputs,
    "one tensor twice": one_passed_twice,
})
"""Functions that make the variants of a context from the inputs and outputs."""


@dataclass(frozen=True, slots=True)
class Context:
    """A context: its name, whether it is tried by default, and whether also for functions without rules of their own.

    Functions that draw random numbers are tried only if each entry gets the number of the plain call (``keeps_draws``).
    ``variants`` are the calls in this context: made by a function of ``VARIANTS``, or a single one.
    """

    name: str
    variants: Callable[[PlainCall, Table], Iterable[Variant]]
    cheap: bool = True
    any_rules: bool = False
    keeps_draws: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """The contexts of a library, the code of a plain call and of a constant input, and layouts in memory."""

    contexts: tuple[Context, ...]
    forward: str
    backward: str
    constant: str
    layouts: tuple[Layout, ...] = ()


@cache
def tables() -> Mapping[str, Table]:
    """Return the contexts of each library that has any."""
    result = {}
    for path in (specs_directory() / "contexts").glob("*.toml"):
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        layouts = tuple(Layout(**row) for row in read.pop("layouts", ()))
        contexts = tuple(map(_context, read.pop("contexts")))
        result[path.stem] = Table(contexts, layouts=layouts, **read)
    return MappingProxyType(result)


def _context(row: dict[str, Any]) -> Context:
    own = {key: row.pop(key) for key in ("name", "cheap", "any_rules", "keeps_draws") if key in row}
    if "expect" in row:
        row["expect"] = (_by_code(row["expect"]),)
    own_variant = [Variant(**row)] if row else []
    return Context(variants=VARIANTS.get(own["name"], lambda *_: own_variant), **own)


def contexts_of(engine: str, contexts: Contexts) -> tuple[Context, ...]:
    """Return the contexts of a choice that an engine has. Raises ValueError for a name that no engine has."""
    names = {contexts} if isinstance(contexts, str) else set(contexts)
    known = tables()[engine].contexts if engine in tables() else ()
    if names in ({"all"}, {"cheap"}):
        return tuple(context for context in known if context.cheap or names == {"all"})
    all_names = {context.name for table in tables().values() for context in table.contexts} if names else names
    if names - all_names:
        raise ValueError(f"contexts has {sorted(names - all_names)}, but contexts are {sorted(all_names)}")
    return tuple(context for context in known if context.name in names)


def report_in_contexts(check: GradientCheck, report: GradientReport, contexts: Contexts) -> GradientReport:
    """Return the report on a right gradient, or one that says in which context it is wrong."""
    known = contexts_of(check.subject.engine.adapter.name, contexts)
    if not known or not check.first:
        return report
    table, refused = tables()[check.subject.engine.adapter.name], []
    plain = PlainCall(check, table.forward, table.backward)
    if contexts == "cheap" and not plain.has_own_rules:
        known = tuple(each for each in known if each.any_rules)
    if check.subject.random_state.repeats:
        known = tuple(each for each in known if each.keeps_draws)
    left = _grouped([(each.name, variant) for each in known for variant in each.variants(plain, table)])
    run: set[str] = set()
    with suppress(OutOfTime):
        while left:
            check.subject.deadline.refuse()
            for variant, outcome in plain.unlike(left[0][1]):
                if isinstance(outcome, Mismatch):
                    explanation = Explanation(plain.message(variant, outcome), outcome.discrepancy)
                    return replace(report, outcome="wrong", explanation=explanation, raised=outcome.raised)
                refused.append(f"{variant.where}: {outcome}")
            run |= left.pop(0)[0]
        if any(each.name == "jvp" for each in known):
            forward = forward_report(check.subject, check.choices, report)
            if forward.outcome == "wrong":
                return forward
            run |= {"jvp"} if forward.outcome == "right" else set()
            refused += [] if forward.outcome == "right" else [f"forward mode is used: {forward}"]
    run -= {name for names, _ in left for name in names}
    return replace(report, contexts=tuple(each.name for each in known if each.name in run), refused=tuple(refused))


def _grouped(variants: Sequence[tuple[str, Variant]]) -> list[tuple[set[str], Variant]]:
    """Return variants that are merged by their groups, each with the names of its contexts.

    Every input has a gradient in one of the subsets at least, so that these need no calls of their own.
    """
    groups: dict[Any, list[tuple[str, Variant]]] = {}
    for name, variant in variants:
        groups.setdefault(variant.group or variant, []).append((name, variant))
    subsets = groups.pop(SUBSETS, [])
    offset = groups.pop("offset", []) if subsets else []
    together = [*groups.values(), *([*offset, subset] for subset in subsets)]
    return [({name for name, _ in group}, merged([variant for _, variant in group])) for group in together]
