"""Scenarios that can be written down: operators need not fit the shapes, and numbers need not be nice."""

import math
import struct

from hypothesis import strategies as st

from refgrad.operators import Operator, operator_table
from refgrad.scenario import (
    Apply,
    AttributeValue,
    Backward,
    Constant,
    EnterMode,
    Grad,
    Hook,
    Jvp,
    Leaf,
    LeaveMode,
    Read,
    RequireGrad,
    RetainGrad,
    Scenario,
    Slice,
    Step,
    Unhook,
    Write,
    ZeroGrad,
)

SPECIAL_FLOATS = (
    0.0,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
)
ITEM_SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8}
INTEGERS = st.integers(-(2**63), 2**63 - 1)
SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@st.composite
def constants(draw: st.DrawFn) -> Constant:
    """Any bytes of any dtype, or special floats, in any small shape: 0-d and empty ones too."""
    shape = draw(SHAPES)
    size = math.prod(shape)
    dtype = draw(st.sampled_from(["special", "bool", *ITEM_SIZES]))
    if dtype == "special":
        numbers = draw(st.lists(st.sampled_from(SPECIAL_FLOATS), min_size=size, max_size=size))
        return Constant("float64", shape, struct.pack(f"<{size}d", *numbers))
    if dtype == "bool":
        return Constant("bool", shape, bytes(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))))
    length = size * ITEM_SIZES[dtype]
    return Constant(dtype, shape, draw(st.binary(min_size=length, max_size=length)))


SEEDS = st.none() | constants()


def slices() -> st.SearchStrategy[Slice]:
    """Slices with any part missing and any step but 0."""
    part = st.none() | INTEGERS
    return st.builds(Slice, part, part, part.filter(lambda step: step != 0))


def attribute_values() -> st.SearchStrategy[AttributeValue]:
    """Values of every type, tuples nested in each other."""
    plain = st.none() | st.booleans() | INTEGERS | st.floats() | st.text(st.characters(codec=None)) | slices()
    nested: st.SearchStrategy[AttributeValue] = st.recursive(
        plain, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6
    )
    return nested


@st.composite
def applications(draw: st.DrawFn, name: str, names: list[str]) -> Apply:
    """Any operator of the table, with arguments in the right number and attributes of the right names."""
    operator: Operator = draw(st.sampled_from(list(operator_table().values())))
    extra = draw(st.integers(0, 2)) if any(argument.variadic for argument in operator.arguments) else 0
    arguments = [draw(st.sampled_from(names)) for _ in range(len(operator.arguments) + extra)]
    attributes = [
        (attribute.name, draw(attribute_values()))
        for attribute in operator.attributes
        if attribute.required or draw(st.booleans())
    ]
    return Apply(name, operator.name, tuple(arguments), tuple(draw(st.permutations(attributes))))


def actions(names: list[str]) -> st.SearchStrategy[Step]:
    """Any step that makes no tensor."""
    name = st.sampled_from(names)
    return st.one_of(
        st.builds(Backward, name, SEEDS, st.booleans(), st.booleans()),
        st.builds(Read, st.sampled_from(["grad", "value", "requires_grad", "is_leaf", "recorded"]), name),
        st.builds(ZeroGrad, name, st.booleans()),
        st.builds(RetainGrad, name),
        st.builds(RequireGrad, name),
        st.builds(Write, name, st.sampled_from(["add", "multiply"]), name, st.none() | indices()),
    )


def indices() -> st.SearchStrategy[tuple[AttributeValue, ...]]:
    """Indices of writes."""
    part = st.none() | INTEGERS
    forward = st.builds(Slice, part, part, st.none() | st.integers(1, 3))
    return st.lists(INTEGERS | forward, max_size=3).map(tuple)


@st.composite
def jvps(draw: st.DrawFn, name: str, names: list[str], leaves: list[Leaf]) -> Jvp:
    """Any directional derivative along some of the leaves, in directions that are their own values, or zeros."""
    chosen = draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=3, unique_by=lambda leaf: leaf.name))
    values = [leaf.value for leaf in chosen]
    directions = [draw(st.sampled_from([v, Constant(v.dtype, v.shape, bytes(len(v.data)))])) for v in values]
    tangents = tuple((leaf.name, direction) for leaf, direction in zip(chosen, directions, strict=True))
    return Jvp(name, draw(st.sampled_from(names)), tangents)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any scenario of up to nine steps."""
    steps: list[Step] = []
    names: list[str] = []
    for number in range(draw(st.integers(0, 9))):
        name = f"{draw(st.sampled_from(['x', 'leaf', '_', 'requires_grad', 'read']))}{number}"
        leaves = [step.name for step in steps if isinstance(step, Leaf) and step.requires_grad]
        if draw(st.integers(0, 5)) == 0:
            steps += [EnterMode(draw(st.sampled_from(["no_grad", "enable_grad"]))), LeaveMode(draw(st.booleans()))]
        if names and draw(st.integers(0, 5)) == 0:
            factor = st.none() | st.floats(allow_nan=False, allow_infinity=False).filter(bool)
            steps += [Hook(f"h{number}", draw(st.sampled_from(names)), draw(factor)), Unhook(f"h{number}")]
        kinds = ["leaf", *(["apply", "action"] if names else []), *(["grad", "jvp"] if leaves else [])]
        kind = draw(st.sampled_from(kinds))
        if kind == "action":
            steps.append(draw(actions(names)))
            continue
        if kind == "jvp":
            moving = [step for step in steps if isinstance(step, Leaf) and step.name in leaves]
            steps.append(draw(jvps(name, names, moving)))
            names.append(name)
            continue
        made: dict[str, st.SearchStrategy[Step]] = {
            "leaf": st.builds(Leaf, st.just(name), constants(), st.booleans()),
            "apply": applications(name, names),
            "grad": st.builds(
                Grad, st.just(name), st.sampled_from(names or [name]), st.sampled_from(leaves or [name]), SEEDS
            ),
        }
        steps.append(draw(made[kind]))
        names.append(name)
    return Scenario(tuple(steps))
