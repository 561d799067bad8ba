"""The table of steps: one class a kind, with its form, its fields and what else it asks of its scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from refgrad.scenario.attributes import AttributeValue
from refgrad.scenario.constants import Constant
from refgrad.scenario.errors import ScenarioError, quoted
from refgrad.scenario.steps.calls import check_call
from refgrad.scenario.steps.codecs import (
    CONSTANT,
    CONSTANT_BESIDE,
    FACTOR,
    HOOK,
    LEAF,
    NEW_HOOK,
    TENSOR,
    TRUE_FLAG,
    WORD,
    called,
    one_of,
    or_none,
)
from refgrad.scenario.steps.form import Form
from refgrad.scenario.steps.scope import Scope
from refgrad.scenario.steps.sequences import ARGUMENTS, ATTRIBUTES, INDEX, TANGENTS, Attributes, Tangents
from refgrad.scenario.steps.step import Step

OUTPUT: Final = called(TENSOR, "the output's name")
Readable: TypeAlias = Literal["grad", "value", "requires_grad", "is_leaf", "recorded", "hook"]
Action: TypeAlias = Literal["add", "multiply", "copy"]
WRITES: Final[tuple[Action, ...]] = get_args(Action)
"""The ways to overwrite a tensor."""
Mode: TypeAlias = Literal["no_grad", "enable_grad"]


@dataclass(frozen=True, slots=True)
class Leaf(Step):
    """Make a tensor of these values: `x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad`."""

    form: ClassVar[Form] = Form.of("NAME = leaf VALUE [requires_grad]", value=CONSTANT_BESIDE)

    name: str
    value: Constant
    requires_grad: bool = False

    def check(self, scope: Scope) -> None:
        """Define the name, and remember what it holds, and whether it requires grad."""
        Step.check(self, scope)
        scope.constants[self.name] = self.value
        if self.requires_grad:
            scope.leaves.add(self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Step):
    """Apply an operator to tensors: `s = sum b axis=(0,) keepdims=true`.

    Attributes may be given in any order and are kept sorted by name. Equality is that of the lines, since Python's
    own holds that 1, 1.0 and True are equal, as are 0.0 and -0.0, and that NaN differs from NaN.
    """

    form: ClassVar[Form] = Form.of(
        "NAME = OPERATOR ARGUMENTS ATTRIBUTES",
        tag="apply",
        operator=called(WORD, "an operator"),
        arguments=ARGUMENTS,
        attributes=ATTRIBUTES,
    )

    name: str
    operator: str
    arguments: tuple[str, ...]
    attributes: Attributes = ()

    def __eq__(self, other: object) -> bool:
        """Compare the lines."""
        return self.to_text() == other.to_text() if isinstance(other, Apply) else NotImplemented

    def __hash__(self) -> int:
        """Hash the line."""
        return hash(self.to_text())

    def check(self, scope: Scope) -> None:
        """Check the operator, the number of arguments and the names of the attributes, then the names."""
        check_call(self.operator, len(self.arguments), self.attributes, scope.operators)
        Step.check(self, scope)


@dataclass(frozen=True, slots=True)
class Grad(Step):
    """Make a tensor of an output's gradient with respect to a leaf: `h = grad l x seed float64[2] {0x1p+0 0x0p+0}`.

    The gradient is recorded like any result; the graph is kept, and no leaf's own gradient changes.
    """

    form: ClassVar[Form] = Form.of(
        "NAME = grad OUTPUT LEAF [seed SEED]",
        output=OUTPUT,
        leaf=called(LEAF, "the leaf's name"),
        seed=or_none(CONSTANT),
    )

    name: str
    output: str
    leaf: str
    seed: Constant | None = None


@dataclass(frozen=True, slots=True)
class Jvp(Step):
    """Make the directional derivative of an output: `t = jvp y x float64[2] {0x1p+0 0x0p+0} z float64[] {0x1p+1}`.

    Each of the ``tangents`` is a leaf that requires grad and the direction that it moves in, of the leaf's shape and
    dtype; all other leaves stand still. The result is found by forward mode, has the output's shape, and is a constant
    to whatever is made of it: nothing is recorded, and no gradient changes.
    """

    form: ClassVar[Form] = Form.of("NAME = jvp OUTPUT TANGENTS", output=OUTPUT, tangents=TANGENTS)

    name: str
    output: str
    tangents: Tangents

    @property
    def leaves(self) -> tuple[str, ...]:
        """The leaves that move, in order."""
        return tuple(leaf for leaf, _ in self.tangents)


@dataclass(frozen=True, slots=True)
class Detach(Step):
    """Make a tensor of the same memory through which no gradient flows: `d = detach y`."""

    form: ClassVar[Form] = Form.of("NAME = detach SOURCE", source=TENSOR)
    stateful: ClassVar[bool] = True

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Backward(Step):
    """Add the gradients of an output to its leaves: `backward b seed float64[2] {0x1p+0 -0x1p+1} retain_graph`."""

    form: ClassVar[Form] = Form.of("backward OUTPUT [seed SEED] [retain_graph]", output=OUTPUT, seed=or_none(CONSTANT))

    output: str
    seed: Constant | None = None
    retain_graph: bool = False


@dataclass(frozen=True, slots=True)
class Read(Step):
    """Observe a tensor at this point, or what a hook saw: `read grad x`, `read value b`, `read hook h`.

    Of a tensor ``requires_grad``, ``is_leaf`` and ``recorded`` (whether it was computed by a recorded operation) can be
    read too. What a hook saw is an array of all the gradients, in order, along a new first axis.
    """

    form: ClassVar[Form] = Form.of("read WHAT NAME", what=one_of("observation", get_args(Readable)), name=TENSOR)

    what: Readable
    name: str

    @property
    def uses(self) -> tuple[str, ...]:
        """The tensor that is read."""
        return () if self.what == "hook" else (self.name,)

    def check(self, scope: Scope) -> None:
        """Check the name, which is that of a tensor or of a hook."""
        if self.what == "hook":
            scope.use_hook(self.name)
        Step.check(self, scope)


@dataclass(frozen=True, slots=True)
class ZeroGrad(Step):
    """Forget the gradient that a leaf has gathered: `zero grad x`; or make it zeros, if any: `zero grad x to zeros`."""

    form: ClassVar[Form] = Form.of("zero grad NAME [to zeros]", name=TENSOR, to_zeros=TRUE_FLAG)

    name: str
    to_zeros: bool = False


@dataclass(frozen=True, slots=True)
class Enter(Step):
    """Enter a region in which nothing, or again everything, is recorded: `enter no_grad`, `enter enable_grad`."""

    form: ClassVar[Form] = Form.of("enter MODE", mode=one_of("mode", get_args(Mode)))
    stateful: ClassVar[bool] = True

    mode: Mode

    def check(self, scope: Scope) -> None:
        """Remember that the region has to be left."""
        scope.enter()


@dataclass(frozen=True, slots=True)
class Leave(Step):
    """Leave the region that was entered last: `leave`, or by an exception that is caught outside: `leave by error`."""

    form: ClassVar[Form] = Form.of("leave [by error]")
    stateful: ClassVar[bool] = True

    by_error: bool = False

    def check(self, scope: Scope) -> None:
        """Check that there is a region to leave."""
        scope.leave()


@dataclass(frozen=True, slots=True)
class RequireGrad(Step):
    """Let gradients flow to a tensor from here on: `require grad x`."""

    form: ClassVar[Form] = Form.of("require grad NAME", name=TENSOR)
    stateful: ClassVar[bool] = True

    name: str

    def check(self, scope: Scope) -> None:
        """Check the name, and remember that it requires grad."""
        Step.check(self, scope)
        scope.leaves.add(self.name)


@dataclass(frozen=True, slots=True)
class StopRequiringGrad(Step):
    """Let no gradients flow to a leaf from here on: `stop requiring grad x`."""

    form: ClassVar[Form] = Form.of("stop requiring grad NAME", name=TENSOR)
    stateful: ClassVar[bool] = True

    name: str

    def check(self, scope: Scope) -> None:
        """Check the name, and remember that it requires no grad."""
        Step.check(self, scope)
        scope.leaves.discard(self.name)


@dataclass(frozen=True, slots=True)
class Delete(Step):
    """Drop a name: `delete y`. What was computed from the tensor stays; its name is never used again."""

    form: ClassVar[Form] = Form.of("delete NAME", name=TENSOR)
    stateful: ClassVar[bool] = True

    name: str

    def check(self, scope: Scope) -> None:
        """Check the name, and forget it."""
        scope.delete(self.name)


@dataclass(frozen=True, slots=True)
class Write(Step):
    """Overwrite a tensor in place: `write y add z`, `write y multiply z`, `write y copy z index=(0, 1:)`.

    The three are y += z, y *= z and y[...] = z; with an index, only the part y[index] is read and written. An index
    has an integer or a slice, with a positive step, for each of the first axes.
    """

    form: ClassVar[Form] = Form.of(
        "write NAME ACTION OPERAND [index=INDEX]",
        name=TENSOR,
        action=one_of("action", WRITES),
        operand=TENSOR,
        index=INDEX,
    )
    stateful: ClassVar[bool] = True

    name: str
    action: Action
    operand: str
    index: tuple[AttributeValue, ...] | None = None

    def check(self, scope: Scope) -> None:
        """Check the names; a tensor is not copied onto itself."""
        Step.check(self, scope)
        if self.action == "copy" and self.name == self.operand:
            raise ScenarioError(f"{quoted(self.name)} cannot be copied onto itself")


@dataclass(frozen=True, slots=True)
class Hook(Step):
    """See a tensor's gradient in every backward, or replace it by a multiple of it: `hook h on y scale 0x1p+1`.

    `hook h on y observe` changes nothing. Both see the total that arrives at the tensor, once a backward, as hooks that
    were there before them leave it; `read hook h` shows all that the hook saw.
    """

    form: ClassVar[Form] = Form.of(
        "hook NAME on TENSOR [scale FACTOR | observe]",
        name=called(NEW_HOOK, "the hook's name"),
        tensor=TENSOR,
        factor=or_none(FACTOR),
    )
    stateful: ClassVar[bool] = True

    name: str
    tensor: str
    factor: float | None = None


@dataclass(frozen=True, slots=True)
class Unhook(Step):
    """Call a hook no more: `unhook h`. What it saw can still be read; doing so twice changes nothing."""

    form: ClassVar[Form] = Form.of("unhook NAME", name=called(HOOK, "the hook's name"))
    stateful: ClassVar[bool] = True

    name: str


@dataclass(frozen=True, slots=True)
class RetainGrad(Step):
    """Let a computed tensor keep its gradient, so that it can be read: `retain grad y`."""

    form: ClassVar[Form] = Form.of("retain grad NAME", name=TENSOR)
    stateful: ClassVar[bool] = True

    name: str


Definition: TypeAlias = Leaf | Apply | Grad | Jvp | Detach
"""A step that makes a tensor."""

STEPS: Final[tuple[type[Step], ...]] = (
    Leaf,
    Apply,
    Grad,
    Jvp,
    Detach,
    Backward,
    Read,
    ZeroGrad,
    Enter,
    Leave,
    RequireGrad,
    StopRequiringGrad,
    Delete,
    Write,
    Hook,
    Unhook,
    RetainGrad,
)
