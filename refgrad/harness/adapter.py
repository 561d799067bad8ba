"""What does the harness need to know of an engine to drive it? A phrasebook: how the library spells each operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from refgrad.harness.life_templates import LIFE_FEATURES, given_templates, offered_by
from refgrad.harness.template import Template, TemplateError
from refgrad.lifecycle import ErrorKind, Policy
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.steps.kinds import WRITES

FEATURES: Mapping[str, str] = MappingProxyType({
    "arrays": "tensors of any shape, not scalars alone",
    "seed": "a backward may be given the cotangent of its output",
    "retain_graph": "a graph can be kept for a further backward",
    "accumulate": "gradients of several backward calls add up in the leaves",
    "zero_grad": "a leaf's gradient can be reset",
    "double_backward": "a gradient can itself be differentiated",
    "forward_mode": "a directional derivative can be had without a backward",
    "error:freed-graph": "a backward through a freed graph is an error",
    "error:implicit-seed": "a backward from a non-scalar without a seed is an error",
    "error:seed-shape": "a seed of another shape than its output is an error",
    "error:no-graph": "a backward from something that needs no gradient is an error",
    "graph": "the nodes that were recorded can be walked",
    **LIFE_FEATURES,
})


class AdapterError(ValueError):
    """An adapter is malformed; the message names the engine, the field and what to do."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Adapter:
    """What tape engines and functional engines share.

    ``setup`` is run once and stands at the top of every reproduction (``np`` is numpy). ``leaf`` makes a tensor from
    ``{array}`` (a numpy array) or ``{scalar}`` (a Python number) and ``{requires_grad}``; ``constant`` likewise for
    arrays that need no gradient and for boolean ones (default: ``leaf`` with False). ``value`` turns a tensor ``{x}``
    into a numpy array. ``operators`` spells each operator that the library has, with the fields of its row: arguments,
    attributes, and a list for a variadic argument. ``alike`` names the library's modules whose functions are called by
    the table's own names: every elementwise operator without attributes that one of them has need not be spelled.
    ``unlike`` are those that mean something else there, or that the library has without a gradient.
    ``distribution`` is the installed package whose version is reported.

    ``dtype`` is what the library computes in at best, and ``dtypes`` are all those that its tensors may be of (by
    default just that one). ``leaf``, ``constant`` and ``seed`` may spell the array's own as ``{dtype}``, a bare name:
    numpy has no bfloat16, so that such arrays are handed over in float32. ``value_dtype`` gives the dtype of a tensor
    ``{x}`` where the array that ``value`` makes of it does not tell.

    ``jvp`` takes ``{function}`` (of the leaves that move), ``{primals}`` and ``{tangents}`` (lists of as many tensors),
    and gives a pair: the output, and its tangent, of which nothing is recorded.

    ``forget`` is run after every so many scenarios: it has the library let go of what it keeps of computations that do
    not come again, such as the programs that it compiled for shapes.

    ``aliases`` are further spellings of operators that are spelled or called alike, with the same fields: a library may
    have two functions for one operator, of which one is wrong. What ``alike`` finds under several names has them all by
    itself. Every application in a scenario uses one of the spellings; which one follows from its attributes and leaves.

    ``inventory`` names a function as ``module:function`` that lists the engine's own differentiable operators; see
    :class:`refgrad.harness.Inventory`.
    """

    name: str
    setup: str
    leaf: str
    operators: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alike: tuple[str, ...] = ()
    unlike: frozenset[str] = frozenset()
    value: str = "np.asarray({x})"
    constant: str | None = None
    distribution: str | None = None
    scalars_only: bool = False
    dtype: str = "float64"
    dtypes: tuple[str, ...] = ()
    value_dtype: str | None = None
    policy: Policy = field(default_factory=Policy)
    errors: Mapping[ErrorKind, str] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()
    jvp: str | None = None
    forget: str | None = None
    inventory: str | None = None

    def __post_init__(self) -> None:
        """Refuse unknown operators, features and fields."""
        table = operator_table()
        for where, name, text in self._spellings():
            if name not in table:
                raise self.error(f"{where}[{name!r}]: there is no such operator; see `refgrad list operators`")
            self.check(f"{where}[{name!r}]", text, {*table[name].argument_names, *table[name].attribute_names})
        self.check("leaf", self.leaf, {"array", "scalar", "requires_grad", "dtype"})
        self.check("constant", self.constant_text, {"array", "scalar", "requires_grad", "dtype"})
        self.check("value", self.value, {"x"})
        self.check("value_dtype", self.value_dtype_text, {"x"})
        if self.jvp is not None:
            self.check("jvp", self.jvp, {"function", "primals", "tangents"})
        if self.forget is not None:
            self.check("forget", self.forget, set())
        if self.inventory is not None and not all(self.inventory.partition(":")):
            raise self.error(f"inventory: {self.inventory!r} is not of the form module:function")
        object.__setattr__(self, "dtypes", self.dtypes or (self.dtype,))
        for dtype in {self.dtype, *self.dtypes} - FORMATS.keys():
            raise self.error(f"dtypes: {dtype!r} is not among {sorted(FORMATS)}")
        if self.dtype not in self.dtypes:
            raise self.error(f"dtypes: {self.dtype!r}, which is dtype, is not among {list(self.dtypes)}")
        for feature in self.lacks - FEATURES.keys():
            raise self.error(f"lacks {feature!r}, which is not a feature; there are {sorted(FEATURES)}")

    def _spellings(self) -> Iterator[tuple[str, str, str]]:
        """Yield the field, the operator and the text of every spelling."""
        yield from (("operators", name, text) for name, text in self.operators.items())
        for name, texts in self.aliases.items():
            if not isinstance(texts, tuple):
                raise self.error(f"aliases[{name!r}]: {texts!r} is not a tuple of texts")
            yield from (("aliases", name, text) for text in texts)

    @property
    def constant_text(self) -> str:
        """The template for arrays that need no gradient."""
        return self.leaf if self.constant is None else self.constant

    @property
    def value_dtype_text(self) -> str:
        """The template for the dtype of a tensor: by default that of its array."""
        return f"np.asarray({self.value}).dtype" if self.value_dtype is None else self.value_dtype

    def dtypes_lacking(self, scenario: Scenario) -> list[str]:
        """Return the dtypes of a scenario that the library does not have; anything can be told of float64."""
        used = {leaf.value.dtype for leaf in scenario.leaves} & FORMATS.keys()
        return sorted(used - {"float64", *self.dtypes})

    @property
    def features(self) -> frozenset[str]:
        """What the engine offers, as far as its phrasebook and policy tell."""
        offered = set() if self.scalars_only else {"arrays"}
        return frozenset(offered | ({"forward_mode"} if self.jvp is not None else set()))

    def error(self, problem: str) -> AdapterError:
        """Return the error that names this engine."""
        return AdapterError(f"adapter {self.name!r}: {problem}")

    def check(self, what: str, text: str, allowed: set[str]) -> None:
        """Refuse a template that does not parse or has a field that it will not be given."""
        try:
            unknown = set(Template(text).fields) - allowed
            Template(text).compile({})
        except TemplateError as error:
            raise self.error(f"{what}: {error}") from error
        if unknown:
            raise self.error(f"{what}: unknown field {{{min(unknown)}}}; it may use {sorted(allowed)}")


@dataclass(frozen=True, kw_only=True, eq=False)
class TapeAdapter(Adapter):
    """An engine that records a graph while operators run and leaves gradients in its leaves.

    ``backward`` has the fields ``{output}``, and as far as the engine has them ``{seed}`` (see ``seed``; None if not
    given) and ``{retain_graph}``. ``gradient`` reads the gradient of ``{leaf}`` as an array or None; ``zero_grad``
    resets it; ``gradient_dtype`` gives its dtype where the array does not tell. ``grad`` returns the gradient of
    ``{output}`` with respect to ``{leaf}``, given ``{seed}``, as a tensor that is recorded like any other.

    The rest is optional, and each is a feature: ``detach`` gives ``{x}`` as a constant of the same memory; ``no_grad``
    and ``enable_grad`` make context managers; ``set_requires_grad`` sets ``{requires_grad}`` of a leaf ``{x}``;
    ``in_place`` overwrites ``{x}`` with ``{y}``, one template each to ``add``, ``multiply`` and ``copy``, and
    ``in_place_at`` the part at ``{index}``; ``hook`` has ``{function}`` called with the gradient of ``{x}``, which it
    replaces with what is returned, if that is not None, and gives a handle that ``unhook`` gets as ``{handle}``;
    ``retain_grad`` makes a computed ``{x}`` keep its gradient, which ``gradient`` reads; ``zero_grad_to_zeros`` makes
    the gradient of ``{leaf}`` zeros if it has one; ``requires_grad``, ``is_leaf`` and ``recorded`` tell of ``{x}``
    whether gradients flow to it, whether it was made rather than computed from such, and whether it has a node.
    ``node`` gives the node of such an ``{x}``, or what stands for it where tensors are their own nodes, and ``parents``
    the list of those that a ``{node}`` leads to, in the order of its operands, with None for what needs no gradient.
    """

    backward: str
    gradient: str
    gradient_dtype: str | None = None
    seed: str = "{array}"
    zero_grad: str | None = None
    grad: str | None = None
    detach: str | None = None
    no_grad: str | None = None
    enable_grad: str | None = None
    set_requires_grad: str | None = None
    in_place: Mapping[str, str] = field(default_factory=dict)
    in_place_at: Mapping[str, str] = field(default_factory=dict)
    hook: str | None = None
    unhook: str | None = None
    retain_grad: str | None = None
    zero_grad_to_zeros: str | None = None
    requires_grad: str | None = None
    is_leaf: str | None = None
    recorded: str | None = None
    node: str | None = None
    parents: str | None = None

    def __post_init__(self) -> None:
        """Check the templates of a tape engine too."""
        super().__post_init__()
        self.check("backward", self.backward, {"output", "seed", "retain_graph"})
        self.check("gradient", self.gradient, {"leaf"})
        self.check("gradient_dtype", self.gradient_dtype_text, {"leaf"})
        self.check("seed", self.seed, {"array", "dtype"})
        if self.zero_grad is not None:
            self.check("zero_grad", self.zero_grad, {"leaf"})
        if self.grad is not None:
            self.check("grad", self.grad, {"output", "leaf", "seed"})
        for name, text, template in given_templates(self):
            self.check(name, text, set(template.fields))
        if (self.node is None) != (self.parents is None):
            raise self.error("node and parents: there must be both, or neither")
        for writes in (self.in_place, self.in_place_at):
            if writes and set(writes) != set(WRITES):
                raise self.error(f"in_place: there must be a template for each of {list(WRITES)}")

    @property
    def flags(self) -> Mapping[str, str | None]:
        """The templates that tell something of a tensor."""
        return {"requires_grad": self.requires_grad, "is_leaf": self.is_leaf, "recorded": self.recorded}

    @property
    def gradient_dtype_text(self) -> str:
        """The template for the dtype of a gradient: by default that of its array."""
        return f"np.asarray({self.gradient}).dtype" if self.gradient_dtype is None else self.gradient_dtype

    @property
    def features(self) -> frozenset[str]:
        """What the templates and the policy offer, less what the adapter says the engine lacks."""
        fields = Template(self.backward).fields
        offered = {"error:no-graph"} | super().features
        offered |= {"accumulate"} if self.policy.accumulates == "adds" else set()
        offered |= {"seed", "error:seed-shape"} if "seed" in fields else set()
        offered |= {"retain_graph"} if "retain_graph" in fields or self.policy.frees == "never" else set()
        offered |= {"error:freed-graph"} if self.policy.frees != "never" else set()
        offered |= {"error:implicit-seed"} if self.policy.implicit_seed == "error" else set()
        offered |= {"zero_grad"} if self.zero_grad is not None else set()
        offered |= {"double_backward"} if self.grad is not None else set()
        return frozenset(offered | offered_by(self)) - self.lacks


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionalAdapter(Adapter):
    """An engine without a tape: it differentiates functions.

    ``vjp`` takes ``{function}`` (of the leaves that require grad) and ``{primals}`` (their list) and gives a pair: the
    output, and a function that turns a cotangent of the output into the list of the primals' cotangents. Each backward
    of a scenario calls that function once more, and the harness adds up what it gives. ``nests`` says that ``vjp`` may
    be used inside of a function that is differentiated.
    """

    vjp: str
    seed: str = "{array}"
    nests: bool = False

    def __post_init__(self) -> None:
        """Check the templates of a functional engine too."""
        super().__post_init__()
        self.check("vjp", self.vjp, {"function", "primals"})
        self.check("seed", self.seed, {"array", "dtype"})

    @property
    def features(self) -> frozenset[str]:
        """A pullback takes a seed and can be called again; there is nothing to free and nothing to accumulate in."""
        offered = {"seed", "retain_graph", "accumulate", "zero_grad"} | super().features
        offered |= {"double_backward"} if self.nests else set()
        return frozenset(offered) - self.lacks


AnyAdapter = TapeAdapter | FunctionalAdapter


def checked_adapter(candidate: Any, origin: str) -> AnyAdapter:
    """Return the adapter, or say in one error what was found instead of one."""
    if isinstance(candidate, TapeAdapter | FunctionalAdapter):
        return candidate
    message = f"{origin} is {type(candidate).__name__}, not a refgrad.harness.TapeAdapter or FunctionalAdapter"
    raise AdapterError(message)
