"""Calls of a function in contexts, compared with a plain call, whose gradient is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from math import isfinite
from types import CodeType
from typing import Any

import numpy as np

from refgrad.checking.check import STRETCH, GradientCheck
from refgrad.checking.libraries import SubjectError, WrongError
from refgrad.checking.libraries.trees import NEARBY_TOLERANCE, Array, Arrays, Kind, furthest_of, half_digits, near
from refgrad.checking.messages import context_program, present_seeds
from refgrad.checking.modes import first_line, only_checked
from refgrad.checking.subject import Seeds, same_bits
from refgrad.native.observation import Raised
from refgrad.oracles import Discrepancy
from refgrad.oracles.screening import random_signed
from refgrad.oracles.slopes.claim import DifferencesJudge
from refgrad.scenario.formats import FORMATS, rounded

ULPS = 64
"""Difference that counts as rounding, in units in the last place of the largest entry. Larger ones are judged."""

UNSUPPORTED_TEXT = (
    r"(?i)\b(must|should|has|have|needs?|expect\w*|require\w*|only)\b.*\bcontiguous|\b(not|non)[- ]?contiguous"
)
"""Pattern of messages that refuse memory that is not contiguous."""

Expect = Callable[[Arrays, list[Array]], None]
"""Function of a point that changes the gradients of the plain call to those that are expected in a context."""

PLAIN = "in the plain call"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Variant:
    """One call in a context: how it differs from the plain call.

    ``where`` completes "wrong when". ``inputs`` and ``constants`` are templates of expressions for inputs, by their
    numbers; a constant has no gradient. ``setup`` is code before the forward, ``around`` a statement around it,
    ``forward`` its code if it is another one, ``before`` code before the backward, which runs ``times`` times, and
    ``backward`` its code if it is another one.
    ``wrap`` is an expression that replaces the ``function`` of the user. ``seeds`` and ``point`` are those of the plain
    call if they are not given, and ``expect`` makes the expected gradients from those of a plain call there; ``source``
    describes these, and ``coarser`` is True if they are rounded to another dtype. Variants with the same ``group`` are
    run in one call, and then one by one if that is wrong. ``parts`` make the variants that this one consists of.
    """

    where: str
    inputs: Mapping[int, str] = field(default_factory=dict)
    constants: Mapping[int, str] = field(default_factory=dict)
    setup: str = ""
    around: str = ""
    forward: str = ""
    before: str = ""
    backward: str = ""
    times: int = 1
    wrap: str = ""
    seeds: Seeds | None = None
    point: Arrays | None = None
    expect: tuple[Expect, ...] = ()
    source: str = PLAIN
    coarser: bool = False
    group: str = ""
    parts: Sequence[Callable[[], Variant]] = ()

    @property
    def has_truth(self) -> bool:
        """Return True if the judge of the plain call can also judge the gradients of this variant."""
        return self.source == PLAIN and not self.coarser

    @property
    def is_recorded(self) -> bool:
        """Return True if the forward is that of the plain call."""
        return not any((self.inputs, self.constants, self.setup, self.around, self.forward, self.wrap, self.point))


def merged(variants: Sequence[Variant]) -> Variant:
    """Return the variant that combines the differences of all these variants from the plain call."""
    if len(variants) == 1:
        return variants[0]

    def joined(name: str) -> str:
        return "".join(getattr(v, name) for v in variants)

    return Variant(
        where=" and ".join(v.where for v in variants),
        inputs={n: code for v in reversed(variants) for n, code in v.inputs.items()},
        constants={n: code for v in variants for n, code in v.constants.items()},
        setup=joined("setup"),
        around=joined("around"),
        before=joined("before"),
        times=max(v.times for v in variants),
        seeds=next((v.seeds for v in variants if v.seeds is not None), None),
        point=next((v.point for v in variants if v.point is not None), None),
        expect=tuple(each for v in variants for each in v.expect),
        source=next((v.source for v in variants if v.source != PLAIN), PLAIN),
        parts=[partial(merged, [v]) for v in variants],
    )


@dataclass(frozen=True, slots=True)
class Mismatch(Exception):  # noqa: N818 (an internal signal)
    """A gradient that is wrong or ``missing`` in a context, or an exception that the backward raised."""

    text: str
    discrepancy: Discrepancy | None = None
    missing: bool = False
    raised: BaseException | None = None


class Refused(Exception):  # noqa: N818 (an internal signal)
    """The function or its backward does not support a context, and raises an exception that says so."""


class PlainCall:
    """A call of a function whose gradients are right, and calls of the same function in contexts."""

    def __init__(self, check: GradientCheck, forward: str, backward: str) -> None:
        """Take the first call of a check, and the code of a forward and of a backward."""
        self.plain_forward, self.plain_backward = forward, backward
        self.check, self.subject, self.library = check, check.subject, check.subject.library
        self.seeds, self.gradients, self.precision = check.seeds[0], check.first, check.pullback.precision
        self.seeded = [k for k, _ in present_seeds(self.seeds)]
        self.names = self.subject.names
        leaves, outputs = check.pullback.leaves, [check.pullback.tensors[k] for k in self.seeded]
        self.shapes, self.output_shapes = ([tuple(x.shape) for x in tensors] for tensors in (leaves, outputs))
        self.has_graph = hasattr(leaves[0], "grad")
        self.recorded: dict[str, Any] = {}
        """Names after the plain forward, which several backwards share, if they are known."""
        names = {"primals": leaves, "outputs": outputs, "call": only_checked(self.subject, self.seeded)}
        pulls = getattr(check.pullback, "pulls", None)
        if pulls and len(self.seeded) == 1:
            names["pullback"] = lambda cotangents: pulls[self.seeded[0]][1](*cotangents)
        if self.has_graph or "pullback" in names:
            self.recorded = self.subject.engine.namespace | names

    @cached_property
    def nodes(self) -> frozenset[type]:
        """Types of the nodes of the graph, if the library shows it."""
        if not self.has_graph:
            return frozenset()
        return frozenset(type(node) for node, _ in self.library.nodes(self.check.pullback.tensors))  # type: ignore[attr-defined]

    @property
    def has_own_rules(self) -> bool:
        """Return True if the function may have a backward rule that is not the library's."""
        own = "BackwardCFunction"
        return not self.has_graph or any(own in {base.__name__ for base in node.__mro__} for node in self.nodes)

    def code(self, variant: Variant) -> tuple[str, str, str]:
        """Return the code of a variant: the forward, what is done before the backward, and the backward."""
        arguments = [f"primals[{n}]" for n in range(len(self.shapes))]
        for templates in (variant.inputs, variant.constants):
            for n, template in templates.items():
                arguments[n] = template.format(arguments[n])
        forward = variant.forward or self.plain_forward.format(", ".join(arguments))
        around = f"{variant.around}\n    " if variant.around else ""
        backward = variant.backward or "\n".join([self.own_backward] * variant.times)
        return f"{variant.setup}{around}{forward}", variant.before, backward

    @cached_property
    def own_backward(self) -> str:
        """Code of a plain backward. Through a reentrant checkpoint it stores gradients in all leaves."""
        reentrant = any("CheckpointFunction" in node.__name__ for node in self.nodes)
        return self.plain_backward.replace(", inputs=primals", "") if reentrant else self.plain_backward

    def at(self, variant: Variant) -> list[Array] | None:
        """Return the gradients of a plain call under the seeds and at the point of a variant.

        Return None if there are none, or if they are so large that rounding decides them.
        """
        point = variant.point
        try:
            pullback = self.check.pullback if point is None else self.subject.pullback(point)
            gradients = self.check.gradients(pullback, variant.seeds or self.seeds)
        except SubjectError:
            return None
        finite = all(np.isfinite(array).all() for array in (*pullback.outputs, *gradients))
        largest = STRETCH * max(*map(_largest, self.gradients), 1.0)
        return gradients if finite and max(map(_largest, gradients)) <= largest else None

    def forward(self, variant: Variant, code: str) -> dict[str, Any]:
        """Run the forward of a variant, and return the names that its backward uses. Raises Refused."""
        if variant.is_recorded and self.recorded:
            for x in self.recorded["primals"] if self.has_graph else ():
                x.grad = None
            return self.recorded | {"outputs": [*self.recorded["outputs"]]}
        subject, names = self.subject, dict(self.subject.engine.namespace)
        if variant.wrap:
            subject = copy(subject)
            subject.function = eval(variant.wrap, names | {"function": subject.function})
        arguments = subject.arguments(variant.point or subject.point)
        names |= {"primals": [arguments[i] for i in subject.positions], "call": only_checked(subject, self.seeded)}
        try:
            exec(_compiled(code), names)
        except Exception as error:  # a function may refuse a context
            raise Refused(f"the function raised {_text(error)}") from error
        if variant.point is None and not variant.coarser:
            self.compare_outputs(names["outputs"])
        return names

    def compare_outputs(self, outputs: Sequence[Any]) -> None:
        """Raise Refused if an output, which may depend on strides, differs by more than rounding from the plain one."""
        tolerance = NEARBY_TOLERANCE[self.precision]
        for k, output in zip(self.seeded, outputs, strict=True):
            value, expected = self.library.read(output), self.check.outputs[k]
            if value.shape != expected.shape or not (same_bits(value, expected) or near(expected, value, tolerance)):
                raise Refused(f"output {k} is not the one of the plain call")

    def run(self, variant: Variant) -> Sequence[Array | None]:
        """Return the gradients of a variant, None for absent ones. Raises Refused and Mismatch."""
        forward, before, backward = self.code(variant)
        names = self.forward(variant, forward)
        weighted = present_seeds(variant.seeds or self.seeds)
        names["cotangents"] = [self.library.seed(seed, self.check.pullback.kinds[k]) for k, seed in weighted]
        try:
            exec(_compiled(before), names)
            pairs = zip(names["outputs"], names["cotangents"], strict=True)
            used = [pair for pair in pairs if getattr(pair[0], "requires_grad", True)]
            names["gradients"] = [getattr(x, "grad", None) for x in names["primals"]]
            if used:
                names["outputs"], names["cotangents"] = map(list, zip(*used, strict=True))
                exec(_compiled(backward), names)
            gradients = [None if g is None else self.library.read_gradient(g) for g in names["gradients"]]
        except Exception as error:
            if _is_unsupported(error) or self.subject.engine.adapter.refuses(_text(error)):
                raise Refused(f"the backward raised {_text(error)}") from error
            raise Mismatch(f"the backward raised {_text(error)}", raised=error) from error
        for name, x, array in zip(self.names, names["primals"], variant.point or self.subject.point, strict=True):
            if self.library.values(x).tobytes() != array.tobytes():
                raise Mismatch(f"the backward writes to input {name}")
        return gradients

    def compare(self, variant: Variant) -> None:
        """Raise Mismatch if the gradients of a variant are not the expected ones. Raises Refused as ``run`` does."""
        plain = [*self.gradients] if variant.seeds is variant.point is None else self.at(variant)
        if plain is None:
            return
        expected = [np.array(g) for g in plain] if variant.expect else plain
        for change in variant.expect:
            change(variant.point or self.subject.point, expected)
        gradients = self.run(variant)
        results = [
            e if n in variant.constants else np.zeros_like(e) if g is None else g
            for n, (g, e) in enumerate(zip(gradients, expected, strict=True))
        ]
        if all(map(same_bits, results, expected)):
            return
        sizes = [max(map(_largest, each)) for each in zip(plain, expected, self.gradients, strict=True)]
        stairs = self.check.judge.stairs if isinstance(self.check.judge, DifferencesJudge) else None
        precision = stairs.precision if stairs else self.precision

        def within(tolerance: float) -> bool:
            return all(_within(f, g, tolerance * size) for f, g, size in zip(results, expected, sizes, strict=True))

        half = NEARBY_TOLERANCE["bfloat16"] if variant.coarser else half_digits(precision)
        if within(min(ULPS * FORMATS[precision].unit, half) if variant.has_truth else half):
            return
        judged = self.check.judged(variant.seeds or self.seeds, results) if variant.has_truth else []
        if variant.has_truth and not judged:
            return
        if within(0.0 if any(each.failing for each in judged) else half):
            return
        if not self.varies(variant, expected, results):
            raise self.failure(variant, [g is None for g in gradients], results, expected)

    def varies(self, variant: Variant, expected: Sequence[Array], results: Sequence[Array]) -> bool:
        """Return True if another rounding of the point changes the plain gradients as much as the variant does.

        If all rows are equal, the gradient of a variance consists of rounding errors, and a distance has no unique one.
        """
        if variant.point is None:
            return False
        moved = tuple(map(self.nudged, variant.point, self.subject.kinds))
        gradients = self.at(replace(variant, point=moved))
        if gradients is None:
            return True
        for change in variant.expect:
            change(moved, gradients)
        triples = zip(gradients, results, expected, strict=True)
        pairs = [(_largest(other - right), _largest(value - right)) for other, value, right in triples]
        return any(changed > off / 2 for changed, off in pairs if off)

    def nudged(self, x: Array, kind: Kind) -> Array:
        """Return an array whose entries differ by no more than what counts as rounding."""
        amount = ULPS * FORMATS[kind.part].unit * _largest(x)
        return rounded(x + amount * random_signed(x.shape, self.check.choices), kind.part).astype(x.dtype)

    def unlike(self, variant: Variant) -> Iterator[tuple[Variant, Mismatch | Refused]]:
        """Yield the variant if it is wrong or refused, or those of its parts that are, the wrong ones first."""
        outcome: Mismatch | Refused | None = None
        try:
            self.compare(variant)
        except (Mismatch, Refused, SubjectError) as error:
            if type(error.__cause__).__name__ == "AcceleratorError":  # all later calls in this process fail, too
                kind = WrongError if isinstance(error, Mismatch) else SubjectError
                raise kind(f"the device failed when {variant.where}: {error.__cause__}") from error
            if isinstance(error, SubjectError):
                raise
            outcome = error
        if outcome is None:
            return
        results = [pair for make in variant.parts for pair in self.unlike(make())]
        if not results or (isinstance(outcome, Mismatch) and all(isinstance(each, Refused) for _, each in results)):
            results.append((variant, outcome))
        yield from sorted(results, key=lambda pair: isinstance(pair[1], Refused))

    def failure(
        self, variant: Variant, missing: Sequence[bool], results: Sequence[Array], expected: Sequence[Array]
    ) -> Mismatch:
        """Return the mismatch of the entry with the largest difference from its expected value."""
        n, index, _ = furthest_of(results, expected)
        observed, right = float(results[n][index]), float(expected[n][index])
        discrepancy = Discrepancy("wrong", self.subject.positions[n], index, observed, right, right, repr(right))
        where = f"input {self.names[n]}{f', entry {index}' * bool(index)}"
        why = ", since no gradient arrives" * missing[n]
        return Mismatch(f"{where} is {observed!r}{why}, but {right!r} {variant.source}", discrepancy, missing[n])

    def message(self, variant: Variant, failure: Mismatch) -> str:
        """Return the message about a failure, with a program that shows it."""
        forward, before, backward = self.code(variant)
        code = (f"function = {variant.wrap}" * bool(variant.wrap), f"{forward}\n{before}{backward}")
        seeds, point = variant.seeds or self.seeds, variant.point or self.subject.point
        entry = None if failure.missing else failure.discrepancy
        program = context_program(self.subject, code, seeds, point, entry)
        return f"right in the plain call, wrong when {variant.where}: {failure.text}\n{program}"


@cache
def _compiled(code: str) -> CodeType:
    return compile(code, "<context>", "exec", dont_inherit=True)


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {first_line(error)}"


def _is_unsupported(error: Exception) -> bool:
    """Return True if an exception means that a backward does not support a context."""
    raised = Raised(type(error).__name__, str(error), tuple(each.__name__ for each in type(error).__mro__))
    return raised.is_unsupported or isinstance(error, AssertionError) or bool(re.search(UNSUPPORTED_TEXT, str(error)))


def _largest(array: Array) -> float:
    sizes = np.abs(array)
    largest = float(sizes.max(initial=0.0))
    return largest if isfinite(largest) else float(sizes.max(initial=0.0, where=np.isfinite(sizes)))


def _within(value: Array, expected: Array, allowed: float) -> bool:
    """Return True if finite entries agree within an absolute tolerance."""
    return value.shape == expected.shape and bool(
        np.all((np.abs(value - expected) <= allowed) | ~np.isfinite(expected))
    )
