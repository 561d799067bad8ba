"""Contexts in which a gradient that is right in the plain call may be wrong, and the comparison with the plain call.

A context is code of PyTorch or JAX. The same text is run by the check and printed in the message.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import combinations
from math import prod
from types import CodeType, MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from refgrad.checking.check import Fault, GradientCheck
from refgrad.checking.libraries import SubjectError, UnsupportedError
from refgrad.checking.libraries.trees import NEARBY_TOLERANCE, Array, Arrays, near
from refgrad.checking.messages import context_program
from refgrad.checking.modes import first_line, forward_report
from refgrad.checking.report import GradientReport
from refgrad.checking.subject import Seeds, SideEffectError
from refgrad.native.observation import Raised
from refgrad.oracles import Discrepancy
from refgrad.scenario.formats import FORMATS

Contexts: TypeAlias = Literal["cheap", "all"] | Collection[str]
"""The cheap contexts, all, or some by name."""

MOST_ALONE = 4
"""Largest number of inputs, or of outputs, that are each treated differently from the others."""

MOST_PAIRS = 2
"""Largest number of pairs of inputs that are given as one tensor."""

ULPS = 64
"""Difference, in units in the last place of the largest entry, that is rounding without further judgement."""

STEEP = 2.0**10
"""Largest factor between the gradients at another point and at the given one: beyond it, rounding decides."""

COARSE = 0.25
"""Largest error of a gradient in a coarser dtype, relative to the largest entry."""

REFUSAL = r"(?i)\b(must|should|has|have|needs?|expect\w*|require\w*|only)\b.*\bcontiguous|\b(not|non)[- ]?contiguous"
"""Pattern of messages that refuse memory that is not contiguous."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Code of a library: a forward through ``call``, a backward that makes ``gradients``, and changes of arrays."""

    forward: str
    backward: str
    constant: str
    zeros: str


DIALECTS: Mapping[str, Dialect] = MappingProxyType({
    "torch": Dialect(
        "outputs = call({})",
        "torch.autograd.backward(outputs, cotangents, inputs=primals, retain_graph=True)\n"
        "gradients = [x.grad for x in primals]",
        "{}.detach()",
        "torch.zeros_like({})",
    ),
    "jax": Dialect(
        "outputs, pullback = jax.vjp(lambda *primals: call({}), *primals)",
        "gradients = pullback(tuple(cotangents))",
        "jax.lax.stop_gradient({})",
        "jnp.zeros_like({})",
    ),
})


Expect = Callable[[list[Array]], None]
"""Function that changes the gradients of the plain call to those that are expected in a context."""

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
    run in one call, and then one by one if that is wrong. ``parts`` make variants that this one consists of, or None.
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
    parts: tuple[Callable[[], Variant | None], ...] = ()

    @property
    def has_truth(self) -> bool:
        """Return True if the judge of the check knows the gradients that are expected."""
        return self.source == PLAIN and not self.coarser

    @property
    def is_recorded(self) -> bool:
        """Return True if the forward is that of the plain call."""
        return not (
            self.inputs
            or self.constants
            or self.setup
            or self.around
            or self.forward
            or self.backward
            or self.wrap
            or self.point
        )


def merged(variants: Sequence[Variant]) -> Variant:
    """Return the variant that differs from the plain call as all of these do."""
    if len(variants) == 1:
        return variants[0]
    return Variant(
        where=" and ".join(v.where for v in variants),
        inputs=dict(ChainMap(*(dict(v.inputs) for v in variants))),
        constants=dict(ChainMap(*(dict(v.constants) for v in variants))),
        setup="".join(v.setup for v in variants),
        around="".join(v.around for v in variants),
        before="".join(v.before for v in variants),
        times=max(v.times for v in variants),
        seeds=next((v.seeds for v in variants if v.seeds is not None), None),
        point=next((v.point for v in variants if v.point is not None), None),
        expect=tuple(each for v in variants for each in v.expect),
        source=next((v.source for v in variants if v.source != PLAIN), PLAIN),
        parts=tuple(partial(merged, [v]) for v in variants),
    )


@dataclass(frozen=True, slots=True)
class Failure(Exception):  # noqa: N818 (an internal signal)
    """A gradient that is wrong in a context, or none, since the backward raised an exception."""

    text: str
    discrepancy: Discrepancy | None = None
    raised: BaseException | None = None


class Refused(Exception):  # noqa: N818 (an internal signal)
    """The function or its backward does not support a context, and raises an exception that says so."""


class PlainCall:
    """A call of a function whose gradients are right, and calls of the same function in contexts."""

    def __init__(self, check: GradientCheck) -> None:
        """Take the first call of a check."""
        self.check = check
        self.subject = check.subject
        self.library = check.subject.library
        self.seeds = check.seeds[0]
        self.gradients: Sequence[Array] = check.first
        self.precision = check.pullback.precision
        self.seeded = [k for k, _ in _given(self.seeds)]
        self.names = [self.subject.name_of(position) for position in self.subject.positions]
        self.shapes = [tuple(leaf.shape) for leaf in check.pullback.leaves]
        self.output_shapes = [tuple(check.pullback.tensors[k].shape) for k in self.seeded]
        self.dialect = DIALECTS[self.subject.engine.adapter.name]
        self.recorded: dict[str, Any] = {}
        """Names after the plain forward, which several backwards share."""
        if hasattr(check.pullback.leaves[0], "grad"):
            outputs = [check.pullback.tensors[k] for k in self.seeded]
            self.recorded = self.subject.engine.namespace | {"primals": check.pullback.leaves, "outputs": outputs}

    @cached_property
    def nodes(self) -> frozenset[type]:
        """Types of the nodes of the graph, if the library shows it."""
        if not self.recorded:
            return frozenset()
        return frozenset(type(node) for node, _ in self.library.nodes(self.check.pullback.tensors))

    @property
    def has_own_rules(self) -> bool:
        """Return True if the function may have a backward rule that is not the library's."""
        own = "BackwardCFunction"
        return not self.recorded or any(own in {base.__name__ for base in node.__mro__} for node in self.nodes)

    @cached_property
    def backward(self) -> str:
        """Code of the plain backward. That of a reentrant checkpoint adds to all leaves."""
        reentrant = any("CheckpointFunction" in node.__name__ for node in self.nodes)
        return self.dialect.backward.replace(", inputs=primals", "") if reentrant else self.dialect.backward

    def code(self, variant: Variant) -> tuple[str, str, str]:
        """Return the code of a variant: the forward, what is done before the backward, and the backward."""
        each = (
            variant.constants.get(n, "{}").format(variant.inputs.get(n, "{}").format(f"primals[{n}]"))
            for n in range(len(self.shapes))
        )
        forward = variant.forward or self.dialect.forward.format(", ".join(each))
        around = f"{variant.around}\n    " if variant.around else ""
        backward = variant.backward or "\n".join([self.backward] * variant.times)
        return f"{variant.setup}{around}{forward}", variant.before, backward

    def at(self, variant: Variant) -> list[Array] | None:
        """Return the gradients of a plain call under the seeds and at the point of a variant.

        Return None if there are none, or if they are so large that rounding decides them.
        """
        point = variant.point
        try:
            pullback = self.check.pullback if point is None else self.subject.at(point).pullback(point)
            gradients = self.check.gradients(pullback, variant.seeds or self.seeds)
        except (SubjectError, SideEffectError, UnsupportedError, Fault):
            return None
        finite = all(np.isfinite(array).all() for array in (*pullback.outputs, *gradients))
        largest = STEEP * max(*map(_largest, self.gradients), 1.0)
        return gradients if finite and max(map(_largest, gradients)) <= largest else None

    def forward(self, variant: Variant, code: str) -> dict[str, Any]:
        """Run the forward of a variant, and return the names that its backward uses. Raises Refused."""
        if variant.is_recorded and self.recorded:
            for x in self.recorded["primals"]:
                x.grad = None
            return self.recorded | {"outputs": [*self.recorded["outputs"]]}
        subject = self.subject if variant.point is None else self.subject.at(variant.point)
        names = dict(subject.engine.namespace)
        if variant.wrap:
            subject = copy(subject)
            subject.function = eval(variant.wrap, names | {"function": subject.function})
        arguments = subject.arguments(subject.point)
        names["primals"] = [arguments[i] for i in subject.positions]
        names["call"] = lambda *primals: tuple(subject.applied(*primals)[k] for k in self.seeded)
        try:
            exec(_compiled(code), names)
        except Exception as error:  # a function may refuse a context
            raise Refused(f"the function raised {_text(error.__cause__ or error)}") from error
        if variant.point is None and not variant.coarser:
            self.compare_outputs(names["outputs"])
        return names

    def compare_outputs(self, outputs: Sequence[Any]) -> None:
        """Raise Failure if an output differs by more than rounding from that of the plain call."""
        tolerance = NEARBY_TOLERANCE[self.precision]
        for k, output in zip(self.seeded, outputs, strict=True):
            value, expected = self.library.read(output), self.check.outputs[k]
            if not _same(value, expected) and (value.shape != expected.shape or not near(expected, value, tolerance)):
                raise Failure(f"output {k} is not the one of the plain call")

    def run(self, variant: Variant) -> Sequence[Array | None]:
        """Return the gradients of a variant, None for absent ones. Raises Refused and Failure."""
        forward, before, backward = self.code(variant)
        names = self.forward(variant, forward)
        given = _given(variant.seeds or self.seeds)
        names["cotangents"] = [self.library.seed(seed, self.check.pullback.kinds[k]) for k, seed in given]
        try:
            exec(_compiled(before), names)
            pairs = zip(names["outputs"], names["cotangents"], strict=True)
            used = [pair for pair in pairs if getattr(pair[0], "requires_grad", True)]
            if not used:
                return [None] * len(self.gradients)
            names["outputs"], names["cotangents"] = map(list, zip(*used, strict=True))
            exec(_compiled(backward), names)
        except Exception as error:
            if _is_refusal(error) or self.subject.engine.adapter.refuses(_text(error)):
                raise Refused(f"the backward raised {_text(error)}") from error
            raise Failure(f"the backward raised {_text(error)}", raised=error) from error
        for name, x, array in zip(self.names, names["primals"], variant.point or self.subject.point, strict=True):
            if self.library.values(x).tobytes() != array.tobytes():
                raise Failure(f"the backward writes to input {name}")
        return [None if each is None else self.library.read_gradient(each) for each in names["gradients"]]

    def compare(self, variant: Variant) -> None:
        """Raise Failure if the gradients of a variant are not the expected ones, and Refused if there are none."""
        plain = [*self.gradients] if variant.seeds is variant.point is None else self.at(variant)
        if plain is None:
            return
        expected = [np.array(g) for g in plain]
        for change in variant.expect:
            change(expected)
        found = [
            g if n in variant.constants else np.zeros_like(g) if f is None else f
            for n, (f, g) in enumerate(zip(self.run(variant), expected, strict=True))
        ]
        if all(map(_same, found, expected)):
            return
        sizes = [max(_largest(a), _largest(b)) for a, b in zip(plain, expected, strict=True)]
        half = COARSE if variant.coarser else float(2.0 ** -(FORMATS[self.precision].bits // 2))
        tight = min(ULPS * FORMATS[self.precision].unit, half) if variant.has_truth else half
        if all(_within(f, g, tight * size) for f, g, size in zip(found, expected, sizes, strict=True)):
            return
        judged = self.check.judged(variant.seeds or self.seeds, found) if variant.has_truth else []
        if variant.has_truth and not judged:
            return
        allowed = 0.0 if any(each.failing for each in judged) else half
        if not all(_within(f, g, allowed * size) for f, g, size in zip(found, expected, sizes, strict=True)):
            raise self.failure(variant, found, expected)

    def outcome(self, variant: Variant) -> Failure | Refused | None:
        """Return why a variant is wrong or refused, or None if it has the gradients that are expected."""
        try:
            self.compare(variant)
        except (Failure, Refused) as error:
            return error
        return None

    def unlike(self, variant: Variant) -> list[tuple[Variant, Failure | Refused]]:
        """Return the variant if it is wrong or refused, or those of its parts that are, the wrong ones first."""
        outcome = self.outcome(variant)
        if outcome is None:
            return []
        parts = (make() for make in variant.parts)
        found = [pair for part in parts if part is not None for pair in self.unlike(part)]
        if not found or (isinstance(outcome, Failure) and all(isinstance(each, Refused) for _, each in found)):
            found.append((variant, outcome))
        return sorted(found, key=lambda pair: isinstance(pair[1], Refused))

    def failure(self, variant: Variant, found: Sequence[Array], expected: Sequence[Array]) -> Failure:
        """Return the failure with the entry that is the furthest from the expected one."""
        furthest = [_furthest(f, g) for f, g in zip(found, expected, strict=True)]
        n = max(range(len(furthest)), key=lambda n: furthest[n][0])
        index = furthest[n][1]
        observed, right = float(found[n][index]), float(expected[n][index])
        discrepancy = Discrepancy("wrong", self.subject.positions[n], index, observed, right, right, repr(right))
        where = f"input {self.names[n]}{f', entry {index}' * bool(index)}"
        return Failure(f"{where} is {observed!r}, but {right!r} {variant.source}", discrepancy)

    def message(self, variant: Variant, failure: Failure) -> str:
        """Return the message about a failure, with a program that shows it."""
        forward, before, backward = self.code(variant)
        code = (f"function = {variant.wrap}" * bool(variant.wrap), f"{forward}\n{before}{backward}")
        seeds, point = variant.seeds or self.seeds, variant.point or self.subject.point
        program = context_program(self.subject, code, seeds, point, failure.discrepancy)
        return f"right in the plain call, wrong when {variant.where}: {failure.text}\n{program}"


def _given(seeds: Seeds) -> list[tuple[int, Array]]:
    return [(k, seed) for k, seed in enumerate(seeds) if seed is not None]


@cache
def _compiled(code: str) -> CodeType:
    return compile(code, "<context>", "exec", dont_inherit=True)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error)}"


def _is_refusal(error: Exception) -> bool:
    """Return True if an exception of a backward says that it does not support the context."""
    raised = Raised(type(error).__name__, str(error), tuple(each.__name__ for each in type(error).__mro__))
    return raised.is_refusal or isinstance(error, AssertionError) or bool(re.search(REFUSAL, str(error)))


def _largest(array: Array) -> float:
    return float(np.max(np.abs(array), initial=0.0, where=np.isfinite(array)))


def _same(value: Array, expected: Array) -> bool:
    return value.shape == expected.shape and value.tobytes() == expected.tobytes()


def _within(value: Array, expected: Array, allowed: float) -> bool:
    """Return True if finite entries agree within an absolute tolerance."""
    return value.shape == expected.shape and bool(
        np.all((np.abs(value - expected) <= allowed) | ~np.isfinite(expected))
    )


def _furthest(value: Array, expected: Array) -> tuple[float, tuple[int, ...]]:
    """Return the largest difference, infinite if an entry is not finite, and its index."""
    if not expected.size:
        return -1.0, ()
    differences = np.where(np.isfinite(expected), np.abs(value - expected).astype(np.float64), 0.0)
    differences[~np.isfinite(differences)] = np.inf
    index = np.unravel_index(int(np.argmax(differences)), differences.shape)
    return float(differences[index]), tuple(map(int, index))


@dataclass(frozen=True, slots=True)
class Layout:
    """Another layout in memory of the same numbers: its group, its name, code, and the shapes that have it."""

    group: str
    name: str
    code: str
    applies: Callable[[tuple[int, ...]], bool]

    def of(self, tensor: str, shape: tuple[int, ...]) -> str:
        """Return code for a tensor of a shape in this layout."""
        return self.code.format(x=tensor, shape=shape)


LAYOUTS = (
    Layout(
        "transposed",
        "transposed (its memory is not contiguous)",
        "{x}.mT.contiguous().mT",
        lambda s: len(s) > 1 < min(s[-2:]),
    ),
    Layout(
        "stepped",
        "every second entry of a larger tensor (its memory is not contiguous)",
        "{x}.repeat_interleave(2, -1)[..., ::2]",
        lambda s: bool(s) and prod(s) > 1,
    ),
    Layout(
        "offset",
        "a part of a larger tensor (its memory starts at an offset)",
        "torch.nn.functional.pad({x}.flatten(), (1, 0))[1:].view({shape})",
        lambda s: prod(s) > 0,
    ),
    Layout(
        "channels_last",
        "in channels_last (its memory is not contiguous)",
        "{x}.contiguous(memory_format=torch.channels_last)",
        lambda s: len(s) == len("nchw") and s[1] > 1 < prod(s[2:]),
    ),
)
"""Layouts of tensors of PyTorch that keep all numbers."""

ROWS = Layout(
    "expanded",
    "expanded along its first axis (which has a stride of 0)",
    "{x}[:1].expand({shape})",
    lambda s: s[:1] > (1,),
)
ENTRIES = Layout(
    "expanded",
    "expanded from one number, as that of sum is (its strides are 0)",
    "{x}.flatten()[:1].expand({shape})",
    lambda s: prod(s) > 1,
)

SUBSETS = "subsets"
"""Group of variants that are each merged with those of the offset layout."""

INPUT = ("input {}", "inputs {}")
COTANGENT = ("the cotangent of output {}", "the cotangents of outputs {}")


def _sentence(forms: tuple[str, str], names: Sequence[str], state: str) -> str:
    """Return that one or several inputs or cotangents are in some state."""
    form, verb = (forms[0], "is") if len(names) == 1 else (forms[1], "are")
    return f"{form.format(' and '.join(names))} {verb} {state}"


def _together(numbers: Sequence[int], make: Callable[[Sequence[int]], Variant]) -> Iterator[Variant]:
    """Yield the variant for all numbers at once, if there are any, with those for each of them as parts."""
    if numbers:
        alone = numbers[:MOST_ALONE] if len(numbers) > 1 else ()
        yield replace(make(numbers), parts=tuple(partial(make, [n]) for n in alone))


def cotangent_layouts(plain: PlainCall) -> Iterator[Variant]:
    """Yield cotangents with other layouts in memory."""
    for layout in (*LAYOUTS, ENTRIES):

        def variant(numbers: Sequence[int], layout: Layout = layout) -> Variant:
            lines = [f"cotangents[{n}] = {layout.of(f'cotangents[{n}]', plain.output_shapes[n])}\n" for n in numbers]
            return Variant(
                where=_sentence(COTANGENT, [str(plain.seeded[n]) for n in numbers], layout.name),
                before="".join(lines),
                seeds=_with_equal_entries(plain, numbers) if layout is ENTRIES else None,
                group=layout.group,
            )

        yield from _together([n for n, shape in enumerate(plain.output_shapes) if layout.applies(shape)], variant)


def _with_equal_entries(plain: PlainCall, numbers: Collection[int]) -> Seeds:
    seeds = list(plain.seeds)
    for n in numbers:
        seed = seeds[plain.seeded[n]]
        assert seed is not None
        seeds[plain.seeded[n]] = np.broadcast_to(seed[(0,) * len(plain.output_shapes[n])], seed.shape).copy()
    return seeds


def input_layouts(plain: PlainCall) -> Iterator[Variant]:
    """Yield inputs with other layouts in memory."""
    for layout in (*LAYOUTS, ROWS):

        def variant(numbers: Sequence[int], layout: Layout = layout) -> Variant:
            if layout is ROWS:
                return _with_equal_rows(plain, numbers)
            laid_out = {n: layout.of(f"primals[{n}].detach()", plain.shapes[n]) for n in numbers}
            return Variant(
                where=_sentence(INPUT, [plain.names[n] for n in numbers], layout.name),
                setup="".join(f"primals[{n}] = {code}.requires_grad_()\n" for n, code in laid_out.items()),
                group=layout.group,
            )

        yield from _together([n for n, shape in enumerate(plain.shapes) if layout.applies(shape)], variant)


def _with_equal_rows(plain: PlainCall, numbers: Sequence[int]) -> Variant:
    point = list(plain.subject.point)
    for n in numbers:
        point[n] = np.broadcast_to(point[n][:1], point[n].shape).copy()

    def summed(gradients: list[Array]) -> None:
        for n in numbers:
            total = gradients[n].sum(0)
            gradients[n][...] = 0
            gradients[n][0] = total

    return Variant(
        where=_sentence(INPUT, [plain.names[n] for n in numbers], ROWS.name),
        inputs={n: ROWS.of("{}", plain.shapes[n]) for n in numbers},
        point=tuple(point),
        expect=(summed,),
        source=f"{PLAIN} with equal rows, summed over them",
        group=ROWS.group,
    )


def subsets(plain: PlainCall) -> Iterator[Variant]:
    """Yield calls in which some inputs are constants."""
    count = len(plain.shapes)
    alone = range(min(count, MOST_ALONE) if count > 1 else 0)
    chosen = [[n] for n in alone]
    if count > len(INPUT):
        chosen += [[n for n in range(count) if n != each] for each in alone]
    for constants in chosen:
        rest = [plain.names[n] for n in range(count) if n not in constants]
        if len(rest) == 1:
            where = f"input {rest[0]} is the only one that requires a gradient"
        else:
            where = _sentence(INPUT, [plain.names[n] for n in constants], "constant: no gradient is required")
        yield Variant(where=where, constants=dict.fromkeys(constants, plain.dialect.constant), group=SUBSETS)


def one_given_twice(plain: PlainCall) -> Iterator[Variant]:
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

        def both(gradients: list[Array], a: int = a, b: int = b) -> None:
            gradients[a] += gradients[b]
            gradients[b][...] = 0

        yield Variant(
            where=f"one tensor is given for the inputs {plain.names[a]} and {plain.names[b]}",
            inputs={b: f"primals[{a}]"},
            point=tuple(point),
            expect=(both,),
            source="as the sum of both gradients in a plain call with two equal tensors",
        )


def _zeros(gradients: list[Array]) -> None:
    for gradient in gradients:
        gradient[...] = 0


def zero_cotangents(plain: PlainCall) -> Iterator[Variant]:
    """Yield a call under cotangents of zeros."""
    before = f"cotangents = [{plain.dialect.zeros.format('c')} for c in cotangents]\n"
    yield Variant(where="the cotangent is zero", before=before, expect=(_zeros,), source="is right")


def undefined_cotangents(plain: PlainCall) -> Iterator[Variant]:
    """Yield calls in which outputs are not used, so that their cotangents are undefined."""
    undefined = "torch._C._functions.UndefinedGrad()"
    before = f"outputs = [{undefined}(y) for y in outputs]\n"
    yield Variant(where="no cotangent is defined", before=before, expect=(_zeros,), source="is right")
    for n, k in enumerate(plain.seeded[:MOST_ALONE] if len(plain.seeded) > 1 else ()):
        seeds = [np.zeros_like(seed) if j == k and seed is not None else seed for j, seed in enumerate(plain.seeds)]
        before = f"outputs[{n}] = {undefined}(outputs[{n}])\n"
        yield Variant(where=f"output {k} is not used", before=before, seeds=seeds)


def accumulation(plain: PlainCall) -> Iterator[Variant]:
    """Yield two backwards that add to existing gradients, with hooks."""

    def added(gradients: list[Array]) -> None:
        for n, x in enumerate(plain.subject.point):
            gradients[n] = x + 2 * gradients[n]

    yield Variant(
        where="backward is called twice, with hooks, and adds to an existing .grad",
        before="for x in primals:\n    x.register_hook(lambda gradient: gradient)\n    x.grad = x.detach().clone()\n",
        times=2,
        expect=(added,),
        source="as the .grad before plus twice the gradient of the plain call",
        group=LAYOUTS[0].group,
    )


def saved_tensor_hooks(plain: PlainCall) -> Iterator[Variant]:
    """Yield a call whose saved tensors are copied."""
    del plain
    around = "with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):"
    yield Variant(where="hooks copy the saved tensors", around=around, group=LAYOUTS[0].group)


def checkpoints(plain: PlainCall) -> Iterator[Variant]:
    """Yield calls that are checkpointed, in both ways; the backward of one adds to all leaves."""
    for reentrant in (False, True):
        yield Variant(
            where=f"it is checkpointed with use_reentrant={reentrant}",
            forward=f"outputs = torch.utils.checkpoint.checkpoint(call, *primals, use_reentrant={reentrant})",
            backward=plain.dialect.backward.replace(", inputs=primals", "") if reentrant else "",
        )


def batches(plain: PlainCall) -> Iterator[Variant]:
    """Yield a call in a batch of one."""
    where = "it is run by vmap in a batch of one"
    if plain.dialect is DIALECTS["torch"]:
        yield Variant(
            where=where, forward="outputs = [y[0] for y in torch.vmap(call)(*(x.unsqueeze(0) for x in primals))]"
        )
    else:
        arrays = "[x[None] for x in primals], tuple(c[None] for c in cotangents)"
        yield Variant(where=where, backward=f"gradients = [g[0] for g in jax.vmap({PULLED})({arrays})]")


PULLED = "lambda primals, cotangents: jax.vjp(call, *primals)[1](cotangents)"
"""Code of a function that returns the gradients in JAX."""


def compiled(plain: PlainCall) -> Iterator[Variant]:
    """Yield calls of the compiled function."""
    if plain.dialect is DIALECTS["torch"]:
        yield Variant(where="it is compiled", wrap="torch.compile(function, backend='aot_eager')")
    else:
        yield Variant(where="it is compiled", wrap="jax.jit(function)")
        code = f"gradients = jax.jit({PULLED})(primals, tuple(cotangents))"
        yield Variant(where="its gradient is compiled", backward=code)


def autocast(plain: PlainCall) -> Iterator[Variant]:
    """Yield a call of a function of float32 in which matrix products and the like are in bfloat16."""
    if any(kind.part == "float32" for kind in plain.subject.kinds):
        yield Variant(
            where="autocast is on",
            around="with torch.autocast('cpu', torch.bfloat16):",
            before="cotangents = [c.to(y.dtype) for c, y in zip(cotangents, outputs)]\n",
            coarser=True,
        )


def threads(plain: PlainCall) -> Iterator[Variant]:
    """Yield calls in two threads at once, unless these share random numbers."""
    if not plain.subject.chance.repeats:
        yield Variant(where="two threads run it at once", before=IN_THREADS, backward=FURTHEST)


IN_THREADS = """\
from concurrent.futures import ThreadPoolExecutor
def in_thread(number):
    own = [x.detach().clone().requires_grad_() for x in primals]
    scale = 1 + number % 2
    torch.autograd.backward(call(*own), [scale * c for c in cotangents], inputs=own)
    return [None if x.grad is None else x.grad / scale for x in own]
with ThreadPoolExecutor(2) as pool:
    several = list(pool.map(in_thread, range(16)))
"""
FURTHEST = f"""\
{DIALECTS["torch"].backward}
gradients = max(several, key=lambda each: sum(
    float((a - b).abs().sum()) for a, b in zip(each, gradients) if a is not None and b is not None))"""


def forward_mode(plain: PlainCall) -> Iterator[Variant]:
    """Yield nothing: forward mode is checked by a report of its own."""
    del plain
    yield from ()


@dataclass(frozen=True, slots=True)
class Context:
    """A context: its name, its variants, the libraries that have it, and whether it is tried by default.

    If ``any_rules`` is False, it is tried by default only where the function has a rule that is not the library's.
    """

    name: str
    variants: Callable[[PlainCall], Iterator[Variant]]
    libraries: frozenset[str] = frozenset({"torch"})
    cheap: bool = True
    any_rules: bool = False


BOTH = frozenset(DIALECTS)

CONTEXTS = (
    Context("accumulation", accumulation, any_rules=True),
    Context("saved-tensor hooks", saved_tensor_hooks, any_rules=True),
    Context("cotangent layouts", cotangent_layouts),
    Context("input layouts", input_layouts, any_rules=True),
    Context("subsets", subsets, BOTH),
    Context("zero cotangents", zero_cotangents, BOTH),
    Context("undefined cotangents", undefined_cotangents),
    Context("one tensor twice", one_given_twice, BOTH),
    Context("jvp", forward_mode, BOTH, cheap=False),
    Context("vmap", batches, BOTH, cheap=False),
    Context("compile", compiled, BOTH, cheap=False),
    Context("checkpoint", checkpoints, cheap=False),
    Context("autocast", autocast, cheap=False),
    Context("threads", threads, cheap=False),
)


def chosen_contexts(contexts: Contexts) -> tuple[Context, ...]:
    """Return the contexts of a choice. Raises ValueError for an unknown name."""
    names = {contexts} if isinstance(contexts, str) else set(contexts)
    if names in ({"all"}, {"cheap"}):
        return tuple(context for context in CONTEXTS if context.cheap or names == {"all"})
    unknown = names - {context.name for context in CONTEXTS}
    if unknown:
        raise ValueError(f"contexts has {sorted(unknown)}, but contexts are {[each.name for each in CONTEXTS]}")
    return tuple(context for context in CONTEXTS if context.name in names)


def report_in_contexts(check: GradientCheck, report: GradientReport, contexts: Sequence[Context]) -> GradientReport:
    """Return the report on a right gradient, or one that says in which context it is wrong."""
    engine = check.subject.engine.adapter.name
    known = [context for context in contexts if engine in context.libraries]
    if not known or not check.first:
        return report
    plain, refused = PlainCall(check), []
    if known == [each for each in CONTEXTS if each.cheap and engine in each.libraries] and not plain.has_own_rules:
        known = [each for each in known if each.any_rules]
    variants = [(each.name, variant) for each in known for variant in each.variants(plain)]
    left = _grouped(variants)
    run: set[str] = set()
    while left and not check.deadline.is_over():
        names, first = left.pop(0)
        for variant, outcome in plain.unlike(first):
            if isinstance(outcome, Failure):
                message, wrong = plain.message(variant, outcome), outcome.discrepancy
                return replace(report, outcome="wrong", message=message, discrepancy=wrong, raised=outcome.raised)
            refused.append(f"{variant.where}: {outcome}")
        run |= names
    run -= {name for names, _ in left for name in names}
    if any(each.variants is forward_mode for each in known):
        forward = forward_report(check.subject, check.choices, report)
        if forward.outcome == "wrong":
            return forward
        run |= {"jvp"} if forward.outcome == "right" else set()
        refused += [str(forward)] if forward.outcome != "right" else []
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
