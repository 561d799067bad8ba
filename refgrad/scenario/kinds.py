"""The table of steps: one class for each kind, with its form, its fields and further checks of its scope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from refgrad.errors import suggestion
from refgrad.operators import Operator
from refgrad.scenario import codecs
from refgrad.scenario.attributes import AttributeValue
from refgrad.scenario.codecs import Attributes, Scope, Tangents, called, one_of, or_none
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, alternatives, quoted
from refgrad.scenario.step import Form, StatefulStep, Step

OUTPUT: Final = called(codecs.TENSOR, "the output's name")
Readable: TypeAlias = Literal["grad", "value", "requires_grad", "is_leaf", "recorded", "hook"]
Action: TypeAlias = Literal["add", "multiply", "copy"]
WRITES: Final[tuple[Action, ...]] = get_args(Action)
"""Ways to overwrite a tensor."""
Mode: TypeAlias = Literal["no_grad", "enable_grad"]
WAYS: Final = ("rule", "checkpoint", "jit", "loop", "vmap", "jacrev", "jacfwd", "hessian")
"""Ways to call a function."""
OF: Final = "_of_"
"""Word between ways that are nested, the outer one first: ``vmap_of_rule``."""
DERIVATIVES: Final = frozenset({"jacrev", "jacfwd", "hessian"})
"""Ways that return derivatives by the first argument."""
OF_LEAVES: Final = DERIVATIVES | {"vmap"}
"""Ways that depend on the shape of the arguments, which must be leaves."""
REPEATS: Final = 3
"""Number of repetitions of a loop."""
NOT_WITHIN: Final = MappingProxyType({"rule": WAYS, "loop": OF_LEAVES, "vmap": OF_LEAVES})
"""For each way, the ways that cannot be nested in it."""


@dataclass(frozen=True, slots=True)
class Leaf(Step):
    """Create a tensor of these values: `x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad`."""

    form = Form.of("NAME = leaf VALUE [requires_grad]", value=codecs.SPREAD_CONSTANT)

    name: str
    value: Constant
    requires_grad: bool = False

    def check(self, scope: Scope) -> None:
        """Define the name, and record its value and whether it requires grad."""
        Step.check(self, scope)
        scope.constants[self.name] = self.value
        if self.requires_grad:
            scope.leaves.add(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Step):
    """Apply an operator to tensors: `s = sum b axis=(0,) keepdims=true`.

    Attributes are accepted in any order and stored sorted by name. Steps are equal if their lines are. Python's own
    equality does not suffice: 1, 1.0 and True are equal, as are 0.0 and -0.0, and NaN differs from NaN.
    """

    form = Form.of(
        "NAME = OPERATOR ARGUMENTS ATTRIBUTES",
        tag="apply",
        operator=called(codecs.WORD, "an operator"),
        arguments=codecs.ARGUMENTS,
        attributes=codecs.ATTRIBUTES,
    )

    name: str
    operator: str
    arguments: tuple[str, ...]
    attributes: Attributes = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The arguments."""
        return self.arguments

    def __eq__(self, other: object) -> bool:
        """Compare the lines."""
        return self.to_text() == other.to_text() if isinstance(other, Apply) else NotImplemented

    def __hash__(self) -> int:
        """Hash the line."""
        return hash(self.to_text())

    def check(self, scope: Scope) -> None:
        """Check the operator, the number of arguments and the names of the attributes, then the names."""
        _check_call(self.operator, len(self.arguments), self.attributes, scope.operators)
        Step.check(self, scope)


@dataclass(frozen=True, slots=True)
class FunctionCall(Step):
    """Call a function of ``specs/functions.toml`` in some way: `y = call rule square_with_slope_of_sin x`.

    ======================  ============================================================================================
    ``rule``                its derivative is the rule that it has of its own
    ``checkpoint``          it may be computed again in the backward pass
    ``jit``                 it may be compiled
    ``loop``                it is repeated ``REPEATS`` times, each time with its result as the first argument
    ``vmap``                it is applied to each row of its arguments
    ``jacrev``, ``jacfwd``  the Jacobian of its result with respect to its first argument, in reverse or forward mode
    ``hessian``             the Hessian of the sum of its result with respect to its first argument
    ======================  ============================================================================================

    Ways are nested as in ``vmap_of_rule``. Only with ``rule`` among them the rule of the function is used.
    """

    form = Form.of(
        "NAME = call WAY FUNCTION ARGUMENTS",
        way=called(codecs.WORD, "a way to call a function"),
        function=called(codecs.WORD, "a function"),
        arguments=codecs.ARGUMENTS,
    )

    name: str
    way: str
    function: str
    arguments: tuple[str, ...]

    @property
    def ways(self) -> tuple[str, ...]:
        """The nested ways, the outer one first."""
        return tuple(self.way.split(OF))

    @property
    def is_derivative(self) -> bool:
        """True if one of the ways returns derivatives."""
        return not DERIVATIVES.isdisjoint(self.ways)

    def check(self, scope: Scope) -> None:
        """Check the ways, the function and the arguments."""
        for at, way in enumerate(self.ways):
            if way not in WAYS:
                raise ScenarioError(f"{quoted(way)} is no way to call a function: write {alternatives(WAYS)}")
            if not set(self.ways[at + 1 :]).isdisjoint(NOT_WITHIN.get(way, ())):
                raise ScenarioError(f"{self.way} is nested in an order that has no meaning")
        expected = scope.functions.get(self.function)
        if expected is None:
            raise ScenarioError(f"unknown function {quoted(self.function)}{suggestion(self.function, scope.functions)}")
        if len(self.arguments) != expected:
            raise ScenarioError(f"function {self.function!r} takes {expected} arguments, not {len(self.arguments)}")
        Step.check(self, scope)
        if not OF_LEAVES.isdisjoint(self.ways) and not scope.constants.keys() >= set(self.arguments):
            raise ScenarioError(f"{self.way} is called with leaves only")
        if self.is_derivative:
            scope.require_leaf(self.arguments[0])
            if self.arguments[0] in self.arguments[1:]:
                raise ScenarioError(
                    f"{quoted(self.arguments[0])} is given twice, but {self.way} is by the first argument"
                )


@dataclass(frozen=True, slots=True)
class Grad(Step):
    """Compute an output's gradient with respect to a leaf: `h = grad l x seed float64[2] {0x1p+0 0x0p+0}`.

    The gradient is recorded like any result. The graph is kept, and the gradient of no leaf changes. With ``forward``
    it is computed in forward mode, from one tangent for each entry; the expected numbers are the same.
    """

    form = Form.of(
        "NAME = grad OUTPUT LEAF [seed SEED] [forward]",
        output=OUTPUT,
        leaf=called(codecs.LEAF, "the leaf's name"),
        seed=or_none(codecs.CONSTANT),
        forward=codecs.TRUE_FLAG,
    )

    name: str
    output: str
    leaf: str
    seed: Constant | None = None
    forward: bool = False


@dataclass(frozen=True, slots=True)
class Jvp(Step):
    """Compute the directional derivative of an output: `t = jvp y x float64[2] {0x1p+0 0x0p+0} z float64[] {0x1p+1}`.

    Each of the ``tangents`` is a leaf that requires grad and the direction in which it changes, of the leaf's shape and
    dtype; all other leaves are constant. The result is computed in forward mode, has the output's shape, and is a
    constant for all that is computed from it: nothing is recorded, and no gradient changes.
    """

    form = Form.of("NAME = jvp OUTPUT TANGENTS", output=OUTPUT, tangents=codecs.TANGENTS)

    name: str
    output: str
    tangents: Tangents

    @property
    def leaves(self) -> tuple[str, ...]:
        """Leaves that have tangents, in order."""
        return tuple(leaf for leaf, _ in self.tangents)


@dataclass(frozen=True, slots=True)
class Detach(StatefulStep):
    """Create a tensor that shares memory with another and through which no gradient flows: `d = detach y`."""

    form = Form.of("NAME = detach SOURCE", source=codecs.TENSOR)

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Backward(Step):
    """Add the gradients of an output to its leaves: `backward b seed float64[2] {0x1p+0 -0x1p+1} retain_graph`.

    With ``forward`` they are computed in forward mode, as in :class:`Grad`.
    """

    form = Form.of(
        "backward OUTPUT [seed SEED] [retain_graph] [forward]",
        output=OUTPUT,
        seed=or_none(codecs.CONSTANT),
        forward=codecs.TRUE_FLAG,
    )

    output: str
    seed: Constant | None = None
    retain_graph: bool = False
    forward: bool = False


@dataclass(frozen=True, slots=True)
class Read(Step):
    """Observe a tensor at this step, or what a hook received: `read grad x`, `read value b`, `read hook h`.

    Of a tensor ``requires_grad``, ``is_leaf`` and ``recorded`` (whether a recorded operation computed it) can be read
    too. The observation of a hook is an array of all the gradients that it received, in order, along a new first axis.
    """

    form = Form.of("read WHAT NAME", what=one_of("observation", get_args(Readable)), name=codecs.TENSOR)

    what: Readable
    name: str

    @property
    def uses(self) -> tuple[str, ...]:
        """Name of the tensor that is read."""
        return () if self.what == "hook" else (self.name,)

    def check(self, scope: Scope) -> None:
        """Check the name, which must be that of a tensor or of a hook."""
        if self.what == "hook":
            scope.use_hook(self.name)
        Step.check(self, scope)


@dataclass(frozen=True, slots=True)
class ZeroGrad(Step):
    """Remove the accumulated gradient of a leaf: `zero grad x`; or set it to zeros, if any: `zero grad x to zeros`."""

    form = Form.of("zero grad NAME [to zeros]", name=codecs.TENSOR, to_zeros=codecs.TRUE_FLAG)

    name: str
    to_zeros: bool = False


@dataclass(frozen=True, slots=True)
class EnterMode(StatefulStep):
    """Enter a region in which nothing is recorded, or everything again: `enter no_grad`, `enter enable_grad`."""

    form = Form.of("enter MODE", mode=one_of("mode", get_args(Mode)))

    mode: Mode

    def check(self, scope: Scope) -> None:
        """Enter a region of the scope, which must be left later."""
        scope.depth += 1


@dataclass(frozen=True, slots=True)
class LeaveMode(StatefulStep):
    """Leave the region that was entered last: `leave`, or by an exception that is caught outside: `leave by error`."""

    form = Form.of("leave [by error]")

    by_error: bool = False

    def check(self, scope: Scope) -> None:
        """Leave a region of the scope. Raises ScenarioError if none was entered."""
        if scope.depth == 0:
            raise ScenarioError("there is no region to leave")
        scope.depth -= 1


@dataclass(frozen=True, slots=True)
class RequireGrad(StatefulStep):
    """Make a tensor require grad: `require grad x`."""

    form = Form.of("require grad NAME", name=replace(codecs.TENSOR, define=lambda scope, name: scope.leaves.add(name)))

    name: str


@dataclass(frozen=True, slots=True)
class StopRequiringGrad(StatefulStep):
    """Make a leaf stop requiring grad: `stop requiring grad x`."""

    form = Form.of(
        "stop requiring grad NAME", name=replace(codecs.TENSOR, define=lambda scope, name: scope.leaves.discard(name))
    )

    name: str


@dataclass(frozen=True, slots=True)
class DeleteName(StatefulStep):
    """Delete a name: `delete y`. Results computed from the tensor stay. The name cannot be used again."""

    form = Form.of("delete NAME", name=replace(codecs.TENSOR, define=Scope.delete))

    name: str


@dataclass(frozen=True, slots=True)
class Write(StatefulStep):
    """Overwrite a tensor in place: `write y add z`, `write y multiply z`, `write y copy z index=(0, 1:)`.

    The three are y += z, y *= z and y[...] = z; with an index, only the part y[index] is read and written. An index
    has an integer or a slice, with a positive step, for each of the first axes.
    """

    form = Form.of(
        "write NAME ACTION OPERAND [index=INDEX]",
        name=codecs.TENSOR,
        action=one_of("action", WRITES),
        operand=codecs.TENSOR,
        index=codecs.INDEX,
    )

    name: str
    action: Action
    operand: str
    index: tuple[AttributeValue, ...] | None = None

    def check(self, scope: Scope) -> None:
        """Check the names. Raises ScenarioError if a tensor is copied onto itself."""
        Step.check(self, scope)
        if self.action == "copy" and self.name == self.operand:
            raise ScenarioError(f"{quoted(self.name)} cannot be copied onto itself")


@dataclass(frozen=True, slots=True)
class Hook(StatefulStep):
    """Observe a tensor's gradient in every backward, or replace it by a multiple of it: `hook h on y scale 0x1p+1`.

    `hook h on y observe` changes nothing. Both receive the total gradient of the tensor, once for each backward, as
    changed by earlier hooks of the tensor. `read hook h` returns all that the hook received.
    """

    form = Form.of(
        "hook NAME on TENSOR [scale FACTOR | observe]",
        name=called(codecs.NEW_HOOK, "the hook's name"),
        tensor=codecs.TENSOR,
        factor=or_none(codecs.FACTOR),
    )

    name: str
    tensor: str
    factor: float | None = None


@dataclass(frozen=True, slots=True)
class Unhook(StatefulStep):
    """Remove a hook: `unhook h`. What it received can still be read. Removing it twice changes nothing."""

    form = Form.of("unhook NAME", name=called(codecs.HOOK, "the hook's name"))

    name: str


@dataclass(frozen=True, slots=True)
class RetainGrad(StatefulStep):
    """Make a computed tensor retain its gradient, so that it can be read: `retain grad y`."""

    form = Form.of("retain grad NAME", name=codecs.TENSOR)

    name: str


Definition: TypeAlias = Leaf | Apply | FunctionCall | Grad | Jvp | Detach
"""A step that creates a tensor."""

STEPS: Final[tuple[type[Step], ...]] = (
    Leaf, Apply, FunctionCall, Grad, Jvp, Detach, Backward, Read, ZeroGrad, EnterMode, LeaveMode, RequireGrad,
    StopRequiringGrad, DeleteName, Write, Hook, Unhook, RetainGrad,
)  # fmt: skip


def _check_call(name: str, arguments: int, attributes: Attributes, operators: Mapping[str, Operator]) -> None:
    """Raise ScenarioError for an unknown operator, a wrong number of arguments, and unknown or missing attributes."""
    operator = operators.get(name)
    if operator is None:
        raise ScenarioError(f"unknown operator {quoted(name)}{suggestion(name, operators)}")
    _check_arguments(operator, arguments)
    if not attributes and not operator.attributes:
        return
    known = {attribute.name: attribute for attribute in operator.attributes}
    values = dict(attributes)
    for unknown in sorted(values.keys() - known.keys()):
        close = suggestion(unknown, known)
        raise ScenarioError(f"operator {operator.name!r} has no attribute {quoted(unknown)}{close}")
    for attribute in operator.attributes:
        if attribute.required and attribute.name not in values:
            raise ScenarioError(f"operator {operator.name!r} needs attribute {attribute.name!r}")


def _check_arguments(operator: Operator, count: int) -> None:
    expected = len(operator.arguments)
    if count == expected:
        return
    variadic = any(argument.variadic for argument in operator.arguments)
    if not variadic or count < expected:
        least = "at least " if variadic else ""
        raise ScenarioError(
            f"operator {operator.name!r} takes {least}{expected} argument{'s' * (expected != 1)}, not {count}"
        )


class Vocabulary:
    """Kinds of step by the tag of their JSON form and by the keyword of their line."""

    def __init__(self, steps: tuple[type[Step], ...]) -> None:
        self.by_tag = {step.form.tag: step for step in steps}
        self.assignments = {step.form.keyword: step for step in steps if step.form.target}
        self.actions = {step.form.keyword: step for step in steps if not step.form.target}


VOCABULARY: Final = Vocabulary(STEPS)
