"""Adapters: descriptions of engines, each with code templates in the engine's own language and declarations.

There are two kinds: for engines that record a tape, and for engines that differentiate functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from refgrad.errors import UserError, suggestion
from refgrad.lifecycle import ErrorKind, Policy
from refgrad.native.adapter.fields import FEATURES, SCHEMAS, rows, templates_of
from refgrad.native.languages import LANGUAGES, Language
from refgrad.native.languages.language import Template, TemplateError
from refgrad.native.text import plain_line
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from refgrad.scenario.constants import FLOATING
from refgrad.scenario.kinds import WRITES


class AdapterError(UserError):
    """Raised if an adapter is malformed. The message names the engine and the field, and says what to do."""


@dataclass(frozen=True, slots=True)
class OutsideRunner:
    """A runner that is not of refgrad: the command that starts it, and the language in which programs are printed."""

    command: tuple[str, ...]
    printer: str = "none"


@dataclass(frozen=True, kw_only=True, eq=False)
class Adapter:
    """Fields shared by tape engines and functional engines. docs/reference/adapter-fields.md explains each."""

    name: str
    setup: str
    language: str = "python"
    runner: OutsideRunner | None = None
    distribution: str | None = None
    extra: str | None = None
    leaf: str
    constant: str | None = None
    value: str = ""
    value_dtype: str | None = None
    seed: str = "{array}"
    jvp: str | None = None
    ways: Mapping[str, str] = field(default_factory=dict)
    operators: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alike: tuple[str, ...] = ()
    unlike: frozenset[str] = frozenset()
    scalars_only: bool = False
    least_axes: int = 0
    threads: bool = False
    dtype: str = "float64"
    dtypes: tuple[str, ...] = ()
    no_half: frozenset[str] = frozenset()
    double_only: frozenset[str] = frozenset()
    subgradients: bool = False
    coarser: Mapping[str, str] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    errors: Mapping[ErrorKind, str] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    lacks: frozenset[str] = frozenset()
    forget: str | None = None
    preload: tuple[str, ...] = ()
    inventory: str | None = None

    def __post_init__(self) -> None:
        """Validate the fields, and set defaults that depend on others. Raises AdapterError for an invalid field."""
        self._check_language()
        object.__setattr__(self, "value", self.value or self.syntax.default_value)
        self._check_spellings()
        self._check_templates()
        self._check_declarations()

    def _check_language(self) -> None:
        if self.runner is not None:
            if self.runner.printer not in LANGUAGES:
                raise self.error(f"runner.printer: {self.runner.printer!r} is not among {list(LANGUAGES)}")
            if not self.runner.command:
                raise self.error("runner.command: empty; it is the program to start, and its arguments")
            if self.language not in (type(self).language, self.runner.printer):
                raise self.error(f"language: {self.language!r}, but programs are printed as runner.printer says")
            object.__setattr__(self, "language", self.runner.printer)
        elif self.language not in (known := [name for name, each in LANGUAGES.items() if each.runner]):
            raise self.error(f"language: {self.language!r} is not among {known}")

    def _check_spellings(self) -> None:
        table, spelled = operator_table(), [("operators", name, (text,)) for name, text in self.operators.items()]
        for where, name, texts in (*spelled, *(("aliases", *row) for row in self.aliases.items())):
            if not isinstance(texts, tuple):
                raise self.error(f"{where}[{name!r}]: {texts!r} is not a tuple of texts")
            if name not in table:
                raise self.error(f"{where}[{name!r}]: {no_operator(name)}")
            for text in texts:
                self._check(f"{where}[{name!r}]", text, {*table[name].argument_names, *table[name].attribute_names})

    def _check_templates(self) -> None:
        for where, text, row in templates_of(self):
            self._check(where, text, set(row.placeholders or ()))
        for name, row in rows(type(self)).items():
            value = getattr(self, name)
            if row.needs and value is not None and getattr(self, row.needs) is None:
                raise self.error(f"{row.needs}: missing; {name} needs it")
            if row.writes and value and name != "ways" and set(value) != set(WRITES):
                raise self.error(f"{name}: there must be a template for each of {list(WRITES)}")

    def _check(self, where: str, text: str, allowed: set[str]) -> None:
        """Raise AdapterError if a template does not parse or has a placeholder that is not allowed."""
        try:
            unknown = set(Template(text).fields) - allowed
            self.syntax.check(Template(text))
        except TemplateError as error:
            raise self.error(f"{where}: {error}") from error
        if unknown:
            raise self.error(f"{where}: unknown placeholder {{{min(unknown)}}}; it may use {sorted(allowed)}")

    def _check_declarations(self) -> None:
        object.__setattr__(self, "dtypes", self.dtypes or (self.dtype,))
        for dtype in sorted({self.dtype, *self.dtypes}.difference(FLOATING)):
            raise self.error(f"dtypes: {dtype!r} is not among {sorted(FLOATING)}")
        if self.dtype not in self.dtypes:
            raise self.error(f"dtypes: {self.dtype!r}, which is dtype, is not among {list(self.dtypes)}")
        for name, dtype in self.coarser.items():
            if name not in operator_table():
                raise self.error(f"coarser[{name!r}]: {no_operator(name)}")
            if dtype not in FLOATING:
                raise self.error(f"coarser[{name!r}]: {dtype!r} is not among {sorted(FLOATING)}")
        for feature in sorted(self.lacks - FEATURES.keys()):
            raise self.error(f"lacks {feature!r}, which is not a feature; there are {sorted(FEATURES)}")
        self._check_patterns()
        if self.inventory is not None and not all(self.inventory.partition(":")):
            raise self.error(f"inventory: {self.inventory!r} is not of the form module:function")

    def _check_patterns(self) -> None:
        kinds = list(SCHEMAS["errors"]["properties"])
        for kind, pattern in self.errors.items():
            if kind not in kinds:
                raise self.error(f"errors[{kind!r}]: no kind of error; there are {kinds}")
            self._check_pattern(f"errors[{kind!r}]", pattern)
        for number, pattern in enumerate(self.refusals):
            self._check_pattern(f"refusals[{number}]", pattern)
            if re.search(pattern, "Error: "):
                raise self.error(f"refusals[{number}]: {pattern!r} fits errors that say nothing")

    def _check_pattern(self, where: str, pattern: str) -> None:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise self.error(f"{where}: {pattern!r} is no regular expression: {error}") from error

    @cached_property
    def syntax(self) -> Language:
        """The language of the templates."""
        return LANGUAGES[self.language]

    @property
    def runs_here(self) -> bool:
        """True if the engine can run in this process, and programs of Python on it."""
        return self.runner is None and self.syntax.runs_here

    def command(self, python: str) -> list[str]:
        """Return the command that starts the runner; ``python`` is the interpreter of engines in Python."""
        return self.syntax.command(python) if self.runner is None else list(self.runner.command)

    def dtypes_lacking(self, scenario: Scenario) -> list[str]:
        """Return the dtypes of a scenario that the library lacks. Never float64: the adapter's dtype replaces it."""
        used = {leaf.value.dtype for leaf in scenario.leaves}.intersection(FLOATING)
        offered = {"float64"} if self.double_only & scenario.operators else {"float64", *self.dtypes}
        return sorted(used - (offered - ({"float16", "bfloat16"} if self.no_half & scenario.operators else set())))

    @cached_property
    def features(self) -> frozenset[str]:
        """The features that the templates and declarations provide, without those in ``lacks``."""
        offered = set(self._declared()) if self.scalars_only else {"arrays", *self._declared()}
        offered |= {f"call:{way}" for way in self.ways}
        for _, text, row in templates_of(self):
            used = Template(text).fields if row.gives_by_placeholder else ()
            offered |= {*row.gives, *(feature for name in used for feature in row.gives_by_placeholder.get(name, ()))}
        return frozenset(offered) - self.lacks

    def _declared(self) -> Iterator[str]:
        """Yield the features that do not follow from templates."""
        yield from ()

    def refuses(self, error: str) -> bool:
        """Return True if an error, as ``Type: message``, means that the engine does not offer something."""
        return any(re.search(pattern, error) for pattern in self.refusals)

    def error(self, problem: str) -> AdapterError:
        """Return an error whose message names this engine."""
        return AdapterError(f"adapter {self.name!r}: {problem}")

    def cannot_start(self, kind: str, message: str) -> str:
        """Return the message for an error of the setup. If a module is missing, it names the package to install."""
        text = f"engine {self.name!r} cannot be started: {kind}: {message}"
        package = f'"refgrad[{self.extra}]"' if self.extra else self.distribution
        missing = kind == "ModuleNotFoundError" and package
        return f"{text}; `pip install {package}` installs it" if missing else text


@dataclass(frozen=True, kw_only=True, eq=False)
class TapeAdapter(Adapter):
    """An engine that records a graph while operators run, and leaves gradients in its leaves."""

    backward: str
    recorded_backward: str | None = None
    backward_to: str | None = None
    gradient: str
    gradient_dtype: str | None = None
    gradient_tensor: str | None = None
    scale_gradient: str | None = None
    zero_grad: str | None = None
    zero_grad_to_zeros: str | None = None
    grad: str | None = None
    grads: str | None = None
    backwards: str | None = None
    detach: str | None = None
    no_grad: str | None = None
    no_grad_around: str | None = None
    enable_grad: str | None = None
    set_requires_grad: str | None = None
    in_place: Mapping[str, str] = field(default_factory=dict)
    in_place_at: Mapping[str, str] = field(default_factory=dict)
    hook: str | None = None
    unhook: str | None = None
    retain_grad: str | None = None
    requires_grad: str | None = None
    is_leaf: str | None = None
    recorded: str | None = None
    node: str | None = None
    parents: str | None = None

    def _check_declarations(self) -> None:
        super()._check_declarations()
        if self.hook is not None and not self.syntax.new_list:
            raise self.error(f"hook: leave it out; programs in {self.language} cannot record what a hook receives")

    def _declared(self) -> Iterator[str]:
        """Yield the features of every tape engine, and those that follow from the policy."""
        yield "error:no-graph"
        yield "retain_graph" if self.policy.frees == "never" else "error:freed-graph"
        if self.policy.accumulates == "adds":
            yield "accumulate"
        if self.policy.implicit_seed == "error":
            yield "error:implicit-seed"


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionalAdapter(Adapter):
    """An engine that differentiates functions.

    Each backward of a scenario calls the pullback again. Its cotangents are added up outside of the engine.
    """

    vjp: str
    forward_vjp: str | None = None
    nests: bool = False
    forward_only: bool = False
    display_grad: str | None = None
    display_pull: str | None = None
    display_record: str | None = None
    display_watch: str | None = None
    display_leaf: str | None = None
    display_constant: str | None = None

    def _declared(self) -> Iterator[str]:
        """Yield the features of a pullback: it takes a seed and can be called again, and keeps no gradients."""
        yield from ("seed", "retain_graph", "accumulate", "zero_grad")
        if self.nests:
            yield "double_backward"


NAME: Final = re.compile(r"[^\W_][\w.+-]{0,99}")
NAME_RULE: Final = "letters and digits, behind the first also any of _ . + -, at most 100 characters"
"""Rule for names of engines, which are also names of files."""

AnyAdapter = TapeAdapter | FunctionalAdapter

KINDS: Final[Mapping[str, type[AnyAdapter]]] = MappingProxyType({"tape": TapeAdapter, "functional": FunctionalAdapter})
"""Classes of adapters by the kind of engine, as engine files name it."""


def checked_adapter(candidate: Any, origin: str) -> AnyAdapter:
    """Return the candidate. Raises AdapterError where it is not an adapter, or its name is invalid."""
    if isinstance(candidate, TapeAdapter | FunctionalAdapter):
        name: object = candidate.name
        if not (isinstance(name, str) and NAME.fullmatch(name)):
            raise AdapterError(f"{origin}: its name {plain_line(repr(name), 80)} must be {NAME_RULE}")
        return candidate
    message = f"{origin} is {type(candidate).__name__}, not a refgrad.TapeAdapter or refgrad.FunctionalAdapter"
    raise AdapterError(message)


def no_operator(name: str) -> str:
    """Return the message for an unknown operator, with a similar name if there is one."""
    return f"there is no such operator{suggestion(name, operator_table()) or ';'} see `refgrad list operators`"
