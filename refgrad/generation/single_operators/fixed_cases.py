"""Fixed scenarios of one operator: boundary cases that every run tries, whatever its seed.

Rules fail from some rank on, at the tail after the last full vector, for the gradient of one operand only, if one
tensor is used for two operands, or for one value of an attribute. Random scenarios rarely contain these cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain, combinations, islice, product, tee, zip_longest
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from covertable import make

from refgrad.generation.admission import MARGIN, AppliedOperator, Array
from refgrad.generation.application import commit, fresh_leaf, may_repeat, next_shape, slots
from refgrad.generation.attributes.choosing import Site, usual_numbers
from refgrad.generation.attributes.rules import ATTRIBUTE_RULES
from refgrad.generation.backward_calls import completed
from refgrad.generation.builder import Builder, Operand
from refgrad.generation.profile import COUNTS, INTEGERS, NUMBERS, SHAPES, STANDARD, TABLE, Choices, Profile
from refgrad.interpreter import Float64, evaluate
from refgrad.operators import Attribute, Operator, operator_table
from refgrad.operators.operator import Shape
from refgrad.operators.table import AttributeType
from refgrad.scenario import Apply, AttributeValue, Backward, Constant, Leaf, Scenario, Slice
from refgrad.scenario.rewrite import mapped, with_values, without_gradients_of

CASES: Final[Sequence[Sequence[Shape]]] = [[*map(tuple, shapes)] for shapes in TABLE["fixed_cases"].values()]
"""Shapes of the first operand, in one list for each kind of case."""

HIGHEST_RANK: Final = max(len(shape) for shapes in CASES for shape in shapes)

(PLAIN,) = SHAPES["plain"]

OPEN: Final = frozenset({"pattern", "matmul", "join"})
"""Ways in which operands combine that leave lengths of the second operand open."""

ACCURATE: Final = frozenset({"elementwise", "arithmetic", "broadcasting"})
"""Families of functions that libraries compute accurately beyond the usual range of their operands."""

REPEATED: Final = (1, *[0] * COUNTS["uses_of_an_entry"])
"""Indices that read one entry many times."""

INDICES: Final[Mapping[AttributeType, Sequence[AttributeValue]]] = MappingProxyType({
    **dict.fromkeys(("indices", "rows", "flat_places"), (REPEATED,)),
    "index": ((REPEATED,), ((1, 0, 1), Slice(), (0, 1, 0)), (Slice(), (2, -1), (-1, 0))),
})
"""Indices that are tried of operators of one operand, by the type of the attribute."""

Arrangement: TypeAlias = Callable[[Array], Array]


def _evenly_spaced(array: Array) -> Array:
    """Return numbers in the same order at equal distances, so that none of them tie."""
    order = np.argsort(np.argsort(array, axis=None)).reshape(array.shape)
    low, high = float(array.min()), float(array.max())
    return np.round(low + (high - low) * order / max(1, array.size - 1), 3)


def _with_zeros(array: Array, *zeros: float) -> Array:
    """Return the array with these zeros as its first entries."""
    numbers = array.ravel().copy()
    numbers[: len(zeros)] = zeros[: numbers.size]
    return numbers.reshape(array.shape)


ARRANGEMENTS: Final[tuple[Arrangement, ...]] = (
    lambda array: _with_zeros(array, 0.0),
    lambda array: _with_zeros(array, -0.0, 0.0, 0.0),
    lambda array: np.sort(array, axis=None).reshape(array.shape),
    lambda array: np.full_like(array, array.flat[0]),
    lambda array: np.sort(array, axis=None)[::-1].reshape(array.shape),
)
"""Arrays with one zero, with zeros of either sign, in order, of equal entries, and in reverse order."""


def _whole_numbers(array: Array) -> Array:
    """Return the next whole numbers away from zero."""
    return np.copysign(np.ceil(np.abs(array)), array)


def _powers_of_two(array: Array) -> Array:
    """Return the nearest powers of two, with the signs of the entries."""
    return np.where(array == 0, array, np.copysign(np.exp2(np.round(np.log2(np.abs(array)))), array))


@dataclass(frozen=True, slots=True)
class FixedCase:
    """What is fixed in a fixed case. The rest is drawn.

    ``first`` is the seed of the numbers and attributes that are tried first. ``others`` are shapes of the first operand
    that are tried in turn with ``shape``, ``second`` is the shape of the second operand, ``operands`` is the number of
    operands of a variadic argument, and ``dimensions`` are the lengths that further operands may have where the first
    leaves them open. If ``repeated``, one leaf is used for all operands. ``arranged`` changes the entries of the first
    operand of numbers, and of all others, too, if ``alike``. ``attributes`` are those that are not drawn.
    """

    shape: Shape = PLAIN
    first: int = 0
    others: Sequence[Shape] = ()
    operands: int = 2
    dimensions: tuple[int, ...] = ()
    second: Shape | None = None
    repeated: bool = False
    arranged: Arrangement | None = None
    alike: bool = False
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def _of_shapes(row: Operator, shapes: Sequence[Shape], profile: Profile) -> Iterator[FixedCase]:
    """Yield cases of these shapes, small ones with several attributes, which random scenarios rarely have."""
    admitted = [shape for shape in shapes if _has_room(profile, shape)]
    for first in range(COUNTS["draws_of_small_shapes"] if row.attributes else 1):
        drawn = (shape for shape in admitted if not first or math.prod(shape) <= COUNTS["small_shape"])
        yield from (FixedCase(shape, first, others=_smaller(shape)) for shape in drawn)


def _smaller(shape: Shape) -> tuple[Shape, ...]:
    """Return smaller shapes of the highest rank: results that are padded or stretched along each axis grow large."""
    return ((2,) * len(shape), (1,) * len(shape)) if len(shape) == HIGHEST_RANK else ()


def _has_room(profile: Profile, shape: Shape) -> bool:
    return len(shape) <= profile.rank and math.prod(shape) <= profile.largest_size


def _stretching(row: Operator) -> Iterator[FixedCase]:
    """Yield cases in which the first two operands are stretched along an axis, one of them or both."""
    if row.operands == "broadcast":
        pairs = zip(SHAPES["stretched_first"], SHAPES["stretched_second"], strict=True)
        yield from (FixedCase(first, second=second) for first, second in pairs)


def _of_operands(row: Operator) -> Iterator[FixedCase]:
    """Yield cases with operands that are longer, many, or the same leaf."""
    if row.operands in OPEN:
        yield from (FixedCase(shape, others=((2,),), dimensions=(COUNTS["open_length"],)) for shape in (PLAIN, (3,)))
    if row.arguments[-1].variadic:
        yield from (
            FixedCase(operands=count, others=((2,), (1,)), dimensions=(1, 2)) for count in INTEGERS["variadic_in_cases"]
        )
    if len(row.differentiable_arguments) > 1 or row.arguments[-1].variadic:
        yield from (FixedCase(shape, repeated=True) for shape in ((2, 2), ()))
        yield FixedCase((2, 2), operands=3, repeated=True)


def _forms(row: Operator) -> Iterator[FixedCase]:
    """Yield cases of whole numbers, of powers of two, and of large numbers if the operator should be accurate there."""
    far = NUMBERS["scales"] if not row.samples or row.family in ACCURATE else []
    forms: list[Arrangement] = [_whole_numbers, _powers_of_two, *(partial(np.multiply, scale) for scale in far)]
    yield from (FixedCase(arranged=each, alike=True) for each in forms)


def _of_attributes(row: Operator) -> Iterator[FixedCase]:
    """Yield a case for every value that is tried of each attribute."""
    named = [[(attribute.name, value) for value in _values(attribute)] for attribute in row.attributes]
    for name, value in filter(None, chain.from_iterable(zip_longest(*named))):
        yield FixedCase((2, 3, 2), others=SHAPES["fitting"], attributes={name: value})


def _of_indices(row: Operator) -> Iterator[FixedCase]:
    """Yield cases in which one entry is read many times, and those of arrays around and after a slice."""
    first = {attribute.name: 0 for attribute in row.attributes if attribute.name == "axis"}
    for attribute in row.attributes if len(row.arguments) == 1 else ():
        for value in INDICES.get(attribute.type, ()):
            yield FixedCase((2, 3, 2), others=SHAPES["fitting"], attributes={**first, attribute.name: value})


def _of_convolutions(row: Operator) -> Iterator[FixedCase]:
    """Yield cases in two groups, and one of several examples of one channel; every attribute has its largest value."""
    if row.family == "windows" and "weight" in row.argument_names:
        largest = {attribute.name: int(attribute.bounds[1]) for attribute in row.attributes}
        pairs = zip(SHAPES["convolved_first"], SHAPES["convolved_second"], strict=True)
        yield from (FixedCase(x, second=weight, dimensions=weight[:1], attributes=largest) for x, weight in pairs)


def _of_pairs(row: Operator) -> Iterator[FixedCase]:
    """Yield cases in which every two values of different attributes meet, as far as few cases allow it.

    So does every value with each shape and each arrangement of entries.
    """
    tried = {attribute.name: values for attribute in row.attributes if (values := _values(attribute))}
    factors = [SHAPES["crossed"], (None, *ARRANGEMENTS), *tried.values()]
    for row_of_indices in make([[*range(len(factor))] for factor in factors]) if tried else ():
        shape, arranged, *values = (factor[at] for factor, at in zip(factors, row_of_indices, strict=True))
        attributes = dict(zip(tried, values, strict=True))
        yield FixedCase(shape, others=SHAPES["fitting"], arranged=arranged, attributes=attributes)


def _values(attribute: Attribute) -> Sequence[Any]:
    """Return the values of an attribute that are tried of every operator, none if they depend on the operands."""
    low, high = attribute.bounds
    if attribute.type == "real":
        return usual_numbers(attribute)
    if attribute.type == "int":
        few = high - low < COUNTS["range_of_integers"]
        return range(int(low), int(high) + 1) if few else [*dict.fromkeys(map(int, usual_numbers(attribute)))]
    values: dict[str, Sequence[Any]] = {
        "bool": (True, False),
        "option": attribute.options,
        "axis": (0, 1, 2, -1, -2, -3),
        "axes": (None, 0, -1, (0, 1), (-1, 0), (-2,)),
    }
    return values.get(attribute.type, ())


def fixed_cases(operator: str, profile: Profile = STANDARD, most: int | None = None) -> tuple[Scenario, ...]:
    """Return the fixed cases that the operator and the profile admit: one of every kind before the next of any kind.

    At most ``most`` are returned; further ones are not drawn.
    """
    own = frozenset({operator}) if profile.seeds else profile.operators  # others make a scalar where no seed may be
    return _fixed_cases(operator, replace(roomy(certain(profile)), operators=own), most)


def certain(profile: Profile) -> Profile:
    """Return the profile of one application to leaves of ordinary numbers that require grad."""
    return replace(profile, max_backwards=1, constants=0.0, special=0.0)


def roomy(profile: Profile) -> Profile:
    """Return the profile with room for fixed cases and views of them."""
    return replace(profile, max_rank=HIGHEST_RANK, largest_size=COUNTS["largest_case"])


@lru_cache(maxsize=COUNTS["remembered_cases"])
def _fixed_cases(operator: str, wide: Profile, most: int | None) -> tuple[Scenario, ...]:
    row = operator_table()[operator]
    if _is_about_pairs(row, wide):
        wide = replace(wide, largest_size=COUNTS["largest_case_of_pairs"])
    kinds: list[Iterable[FixedCase]] = [_of_shapes(row, shapes, wide) for shapes in CASES]
    kinds += [
        _of_operands(row),
        [FixedCase(arranged=each) for each in ARRANGEMENTS],
        _forms(row),
        _of_attributes(row),
        _of_indices(row),
        _of_pairs(row),
        _of_convolutions(row),
    ]
    by_shape, *others = (_all_drawn(row, cases, wide) for cases in kinds)
    bases = list(islice(by_shape, COUNTS["bases_of_subsets"]))
    stretched, with_subsets = tee(_all_drawn(row, _stretching(row), wide))
    others.append(_with_other_seeds(bases[:1] if wide.dtype == "float64" else ()))
    chosen = (subset for scenario in chain(bases, with_subsets) for subset in subsets(scenario))
    mixed = chain.from_iterable(zip_longest(chosen, chain(bases, by_shape), stretched, *others))
    return tuple(islice(distinct(scenario for scenario in mixed if scenario is not None), most))


def _with_other_seeds(scenarios: Iterable[Scenario]) -> Iterator[Scenario]:
    """Yield each scenario with very small and with large seeds."""
    for scenario, factor in product(scenarios, NUMBERS["seed_factors"]):
        ((_, start),) = scenario.backwards
        if start.seed is not None:
            seed = Constant.of(factor * start.seed.to_numpy())
            yield Scenario(mapped(scenario.steps, Backward, partial(replace, seed=seed)))


def plain_cases(operator: str, profile: Profile, most: int | None = None) -> list[Scenario]:
    """Return those of the first ``most`` fixed cases that other scenarios can be made of, the smallest first."""
    return sorted(filter(is_plain, fixed_cases(operator, profile, most)), key=entries)


def entries(scenario: Scenario) -> int:
    """Return the total number of entries of the leaves."""
    return sum(leaf.value.size for leaf in scenario.leaves)


def is_plain(scenario: Scenario) -> bool:
    """Return True if all operands of numbers are different leaves that require grad, with some entries, but few."""
    numbers = [leaf for leaf in scenario.leaves if leaf.value.dtype != "bool"]
    names = scenario.applications[0].arguments
    small = all(0 < leaf.value.size <= COUNTS["largest_plain_case"] for leaf in scenario.leaves)
    return small and all(leaf.requires_grad for leaf in numbers) and len(set(names)) == len(names)


def distinct(scenarios: Iterable[Scenario]) -> Iterator[Scenario]:
    """Yield each scenario once."""
    seen = set[Scenario]()
    for scenario in scenarios:
        if scenario not in seen:
            seen.add(scenario)
            yield scenario


def _is_about_pairs(row: Operator, profile: Profile) -> bool:
    """Return True if twice as many entries need much more than twice the work."""
    if row.composite is None:
        return False
    few, more = (_drawn(row, FixedCase(shape), profile) for shape in SHAPES["growing"])
    return few is not None and more is not None and _work(more) > 3 * _work(few)


def _work(scenario: Scenario) -> int:
    """Return the number of entries that the only application computes, including intermediate results."""
    (step,) = scenario.applications
    return sum(each.result.size for each in AppliedOperator.of(step, evaluate(scenario, Float64())).steps)


def _all_drawn(row: Operator, cases: Iterable[FixedCase], profile: Profile) -> Iterator[Scenario]:
    drawn = (_drawn(row, case, profile) for case in cases)
    return (scenario for scenario in drawn if scenario is not None)


def _drawn(row: Operator, case: FixedCase, profile: Profile) -> Scenario | None:
    """Return the scenario of a case with the first numbers that the operator admits, or None.

    The result depends on the second operand, if its shape is given, and on each number that is given, if possible.
    """
    first = None
    with np.errstate(all="ignore"):
        for seed in range(case.first, case.first + COUNTS["attempts_at_a_case"]):
            scenario = _drawn_from(row, case, profile, seed)
            if scenario is not None and _counts(row, scenario, case):
                return scenario
            first = first or scenario
    return first


def _drawn_from(row: Operator, case: FixedCase, profile: Profile, seed: int) -> Scenario | None:
    shapes = [shape for shape in (case.shape, *case.others) if _has_room(profile, shape)] or [()]
    profile = replace(profile, dimensions=case.dimensions) if case.dimensions else profile
    builder = Builder(profile, shapes[seed % len(shapes)], Choices(seed))
    spaced = case if seed % 2 == 0 or case.arranged else replace(case, arranged=_evenly_spaced)
    operands = _operands(builder, row, spaced)
    if (
        operands is None
        or not _accepted(row, operands, case)
        or not commit(builder, row, operands, margin=MARGIN, fixed=case.attributes)
    ):
        return None
    return completed(builder) if builder.results[0].applied.well_formed else None


def _accepted(row: Operator, operands: Sequence[Operand], case: FixedCase) -> bool:
    """Return True if the attribute values that the case fixes are valid for the shapes of these operands."""
    site = Site(row, tuple(operand.shape for operand in operands), case.attributes)
    fixed = [attribute for attribute in row.attributes if attribute.name in case.attributes]
    return all(ATTRIBUTE_RULES[each.type].accepts(case.attributes[each.name], site, each) for each in fixed)


def _counts(row: Operator, scenario: Scenario, case: FixedCase) -> bool:
    """Return True if the result changes with the second operand, if its shape is given, and each given number."""
    if case.second is not None and not _depends_on(scenario, 1):
        return False
    numbers = [each for each in row.attributes if each.type == "real" and each.name in case.attributes]
    return all(results_differ(scenario, _with_another(attribute, scenario)) for attribute in numbers)


def _with_another(attribute: Attribute, scenario: Scenario) -> Scenario:
    """Return the scenario with a different number as the value of an attribute."""

    def changed(step: Apply) -> Apply:
        values = dict(step.attributes)
        (low, high), value = attribute.bounds, values.get(attribute.name, attribute.default)
        return replace(step, attributes=tuple((values | {attribute.name: high if value == low else low}).items()))

    return Scenario(mapped(scenario.steps, Apply, changed))


def _depends_on(scenario: Scenario, argument: int) -> bool:
    """Return True if the result changes with an operand."""
    name = scenario.applications[0].arguments[argument]

    def changed(leaf: Leaf) -> Constant:
        array = leaf.value.to_numpy()
        other = ~array if array.dtype == bool else 2 * array + 1
        return Constant.of(other, leaf.value.dtype) if leaf.name == name else leaf.value

    return results_differ(scenario, Scenario(with_values(scenario.steps, changed)))


def results_differ(scenario: Scenario, other: Scenario) -> bool:
    """Return True if the first operator returns different results in two scenarios that differ in their numbers."""
    name = scenario.applications[0].name
    before, after = (evaluate(each, Float64())[name] for each in (scenario, other))
    return not np.array_equal(before, after, equal_nan=True)


def _operands(builder: Builder, row: Operator, case: FixedCase) -> list[Operand] | None:
    """Return fresh leaves, the first of them of the shape of the case, or None if they do not fit."""
    operands = list[Operand]()
    for argument in slots(row, case.operands):
        shapes = tuple(operand.shape for operand in operands)
        if case.repeated and operands and may_repeat(row, argument, operands[-1], shapes):
            operands.append(operands[-1])
            continue
        shape = next_shape(builder, row, shapes, builder.base)
        shape = case.second if case.second is not None and len(operands) == 1 else shape
        if not _has_room(builder.profile, shape):
            return None
        leaf = fresh_leaf(builder.choices, builder.profile, row, argument, shape)
        is_first = not any(not operand.condition for operand in operands)
        operands.append(_arranged(leaf, case) if is_first or case.alike else leaf)
    return None if case.repeated and len({id(operand) for operand in operands}) == len(operands) else operands


def _arranged(leaf: Operand, case: FixedCase) -> Operand:
    if case.arranged is None or leaf.condition or not leaf.array.size:
        return leaf
    return Operand.of(case.arranged(leaf.array), requires_grad=leaf.requires_grad)


def subsets(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario with grad required of some leaves only, for every choice of them unless there are many."""
    names = [leaf.name for leaf in scenario.leaves if leaf.requires_grad]
    sizes = sorted(range(1, len(names)), key=lambda count: min(count, len(names) - count))
    chosen = chain.from_iterable(combinations(names, count) for count in sizes)
    return (
        without_gradients_of(scenario, set(names) - set(subset)) for subset in islice(chosen, COUNTS["most_subsets"])
    )


def various(cases: Iterable[Scenario]) -> Iterator[Scenario]:
    """Yield the plain cases in their order, without those that have no trait which the ones before lack."""
    seen = set[tuple[str, str]]()
    for case in filter(is_plain, cases):
        traits = set(_traits(case))
        if not traits <= seen and all(array.size for array in evaluate(case, Float64()).values()):
            seen |= traits
            yield case


def _traits(case: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the attributes with their values, the operands that are stretched, and whether there are many entries."""
    (step,) = case.applications
    shapes = {leaf.name: leaf.value.shape for leaf in case.leaves}
    yield "entries", str(max(map(math.prod, shapes.values())) > COUNTS["few_entries"])
    yield from ((name, repr(value)) for name, value in step.attributes if not isinstance(value, float))
    largest = max(shapes.values(), key=len, default=())
    for number, name in enumerate(step.arguments):
        yield f"operand {number}", "without axes" if not shapes[name] else str(shapes[name] == largest)
