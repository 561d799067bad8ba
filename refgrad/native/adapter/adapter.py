"""Adapters: descriptions of engines, each with code templates in the engine's own language and declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from refgrad.errors import UserError, suggestion
from refgrad.lifecycle import ErrorKind, Policy
from refgrad.native.adapter import fields as values
from refgrad.native.adapter.fields import FEATURES, code, given_templates, optional, plain, rows
from refgrad.native.languages import LANGUAGES, Language
from refgrad.native.languages.language import Template, TemplateError
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from refgrad.scenario.formats import FORMATS
from refgrad.scenario.steps.kinds import WRITES


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

    name: str = field(metadata=plain(values.TEXT, "The engine's name in reports.", '"mine"'))
    setup: str = field(
        metadata=plain(
            values.TEXT,
            "Imports and small functions, run once; a reproduction shows as much of it as it uses. `np` is numpy.",
            '"import my_engine as me"',
        )
    )
    language: str = field(
        default="python",
        metadata=plain(values.LANGUAGE, "The language of the templates, which decides what runs them.", '"javascript"'),
    )
    runner: OutsideRunner | None = field(
        default=None,
        metadata=plain(
            values.RUNNER,
            "A runner of your own: `command` is the program that answers the requests of "
            "[the protocol](runner-protocol.md), in which parts that begin with `./` or `../` are paths relative to "
            "the engine file. `printer` is the language of the templates, in which programs are printed, in place of "
            '`language`; or `"none"`, if it is not among these.',
            '{ command = ["lua", "./runner.lua"], printer = "none" }',
        ),
    )
    distribution: str | None = optional(
        plain(values.TEXT, "The installed package whose version is reported.", '"my-engine"')
    )
    extra: str | None = optional(
        plain(values.TEXT, "The extra of refgrad that installs the engine; told where it is missing.", '"jax"')
    )
    leaf: str = field(
        metadata=code(
            "array scalar shape requires_grad dtype",
            "A tensor.",
            "me.Tensor({array}, requires_grad={requires_grad})",
        )
    )
    constant: str | None = optional(
        code(
            "array scalar shape requires_grad dtype",
            "A tensor that needs no gradient, boolean ones among them; if not given, `leaf` makes it.",
            "me.Tensor({array})",
        )
    )
    value: str = field(
        default="",
        metadata=code(
            "x",
            "A tensor as a numpy array; if not given, `np.asarray({x})` in Python, and `{x}` in other languages.",
            "{x}.numpy()",
        ),
    )
    value_dtype: str | None = optional(
        code("x", "The dtype of a tensor, where its array does not tell it.", "{x}.dtype")
    )
    seed: str = field(
        default="{array}",
        metadata=code("array shape dtype", "A cotangent or a tangent.", "me.Tensor({array}, dtype=me.{dtype})"),
    )
    jvp: str | None = optional(
        code(
            "function primals tangents",
            "A pair: the output of `{function}`, and its tangent. Nothing is recorded of the tangent.",
            "me.jvp({function}, {primals}, {tangents})",
            gives="forward_mode",
        )
    )
    operators: Mapping[str, str] = field(
        default_factory=dict,
        metadata=plain(
            values.SPELLINGS,
            "One row an operator: its spelling, or several, the main one first. Each application in a scenario uses "
            "one of them; the first, where it matters what is saved for a backward. In Python the field holds the "
            "first alone.",
            '{ add = ["me.add({x}, {y})", "{x} + {y}"] }',
        ),
    )
    aliases: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata=plain(None, "In Python, the further spellings of operators, behind those of `operators` or `alike`."),
    )
    alike: tuple[str, ...] = field(
        default=(),
        metadata=plain(
            values.WORDS,
            "Modules whose functions bear the table's own names: elementwise operators without attributes that one of "
            "them has need no row. A function under several names has one spelling, several functions have one each.",
            '["me", "me.nn"]',
        ),
    )
    unlike: frozenset[str] = field(
        default=frozenset(),
        metadata=plain(
            values.WORDS,
            "Operators whose name means something else in these modules, or has no gradient there.",
            '["ldexp"]',
        ),
    )
    scalars_only: bool = field(
        default=False, metadata=plain(values.FLAG, "The engine has scalars, and no arrays (feature `arrays`).", "true")
    )
    least_axes: int = field(
        default=0,
        metadata=plain(
            values.COUNT,
            "The fewest axes that a tensor has, up to 2; what is due with fewer has axes of length one in front.",
            "1",
        ),
    )
    threads: bool = field(
        default=False,
        metadata=plain(
            values.FLAG, "The library documents that threads may differentiate graphs of their own at once.", "true"
        ),
    )
    dtype: str = field(default="float64", metadata=plain(values.DTYPE, "What it computes in at best.", '"float32"'))
    dtypes: tuple[str, ...] = field(
        default=(),
        metadata=plain(
            values.DTYPES, "All dtypes that tensors may have; if not given, `dtype` alone.", '["float64", "float32"]'
        ),
    )
    coarser: Mapping[str, str] = field(
        default_factory=dict,
        metadata=plain(
            values.COARSER,
            "The operators that the engine computes in a coarser dtype than their operands by design. What is as right "
            "as that dtype allows is a `convention`.",
            '{ scaled_dot_product_attention = "float32" }',
        ),
    )
    policy: Policy = field(
        default_factory=Policy,
        metadata=plain(
            values.POLICY,
            "Where the engine differs by design: see [the lifecycle](lifecycle.md#policies).",
            '{ frees = "never", implicit_seed = "ones" }',
        ),
    )
    errors: Mapping[ErrorKind, str] = field(
        default_factory=dict,
        metadata=plain(
            values.ERRORS,
            "For each kind of error a regular expression that is searched in `Type: message`.",
            '{ freed-graph = "RuntimeError: .*second time" }',
        ),
    )
    refusals: tuple[str, ...] = field(
        default=(),
        metadata=plain(
            values.WORDS,
            "Regular expressions that are searched in `Type: message`: errors by which the engine says that it does "
            "not offer something, as others do by a `NotImplementedError`. What was asked for is `unsupported`.",
            '["ValueError: .*no gradient is defined"]',
        ),
    )
    lacks: frozenset[str] = field(
        default=frozenset(),
        metadata=plain(
            values.SOME_FEATURES, "Features that the templates offer and the engine lacks.", '["error:no-graph"]'
        ),
    )
    forget: str | None = optional(
        code(
            "",
            "Run after every fifty scenarios: releases what the engine keeps of shapes that do not come again.",
            "me.clear_caches()",
        )
    )
    preload: tuple[str, ...] = field(
        default=(),
        metadata=plain(
            values.WORDS,
            "Modules that the library imports at its first use; imported with the engine, each fork has them.",
            '["me.lazy"]',
        ),
    )
    inventory: str | None = optional(
        plain(
            values.TEXT,
            "A function, as `module:function`, that lists the engine's own differentiable operators: a sequence of "
            "`refgrad.native.adapter.Inventory`.",
            '"my_adapter:inventories"',
        )
    )

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
        elif self.language not in values.LANGUAGE["enum"]:
            raise self.error(f"language: {self.language!r} is not among {values.LANGUAGE['enum']}")

    def _check_spellings(self) -> None:
        table = operator_table()
        for where, name, text in self._spellings():
            if name not in table:
                raise self.error(f"{where}[{name!r}]: {no_operator(name)}")
            self._check(f"{where}[{name!r}]", text, {*table[name].argument_names, *table[name].attribute_names})

    def _spellings(self) -> Iterator[tuple[str, str, str]]:
        """Yield the field, the operator and the text of every spelling."""
        yield from (("operators", name, text) for name, text in self.operators.items())
        for name, texts in self.aliases.items():
            if not isinstance(texts, tuple):
                raise self.error(f"aliases[{name!r}]: {texts!r} is not a tuple of texts")
            yield from (("aliases", name, text) for text in texts)

    def _check_templates(self) -> None:
        for where, text, row in given_templates(self):
            self._check(where, text, set(row.placeholders or ()))
        for name, row in rows(self).items():
            given = getattr(self, name)
            if row.needs and given is not None and getattr(self, row.needs) is None:
                raise self.error(f"{row.needs}: missing; {name} needs it")
            if row.writes and given and set(given) != set(WRITES):
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
        for dtype in sorted({self.dtype, *self.dtypes} - FORMATS.keys()):
            raise self.error(f"dtypes: {dtype!r} is not among {sorted(FORMATS)}")
        if self.dtype not in self.dtypes:
            raise self.error(f"dtypes: {self.dtype!r}, which is dtype, is not among {list(self.dtypes)}")
        for name, dtype in self.coarser.items():
            if name not in operator_table():
                raise self.error(f"coarser[{name!r}]: {no_operator(name)}")
            if dtype not in FORMATS:
                raise self.error(f"coarser[{name!r}]: {dtype!r} is not among {sorted(FORMATS)}")
        for feature in sorted(self.lacks - FEATURES.keys()):
            raise self.error(f"lacks {feature!r}, which is not a feature; there are {sorted(FEATURES)}")
        self._check_patterns()
        if self.inventory is not None and not all(self.inventory.partition(":")):
            raise self.error(f"inventory: {self.inventory!r} is not of the form module:function")

    def _check_patterns(self) -> None:
        for kind, pattern in self.errors.items():
            self._check_kind(kind)
            self._check_pattern(f"errors[{kind!r}]", pattern)
        for number, pattern in enumerate(self.refusals):
            self._check_pattern(f"refusals[{number}]", pattern)
            if re.search(pattern, "Error: "):
                raise self.error(f"refusals[{number}]: {pattern!r} fits errors that say nothing")

    def _check_kind(self, kind: str) -> None:
        if kind not in values.ERRORS["properties"]:
            raise self.error(f"errors[{kind!r}]: no kind of error; there are {list(values.ERRORS['properties'])}")

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

    @property
    def constant_text(self) -> str:
        """The template for tensors that need no gradient."""
        return self.leaf if self.constant is None else self.constant

    def dtypes_lacking(self, scenario: Scenario) -> list[str]:
        """Return the dtypes of a scenario that the library lacks. Never float64: the adapter's dtype replaces it."""
        used = {leaf.value.dtype for leaf in scenario.leaves} & FORMATS.keys()
        return sorted(used - {"float64", *self.dtypes})

    @cached_property
    def features(self) -> frozenset[str]:
        """The features that the templates and declarations provide, without those in ``lacks``."""
        offered = set(self._declared()) if self.scalars_only else {"arrays", *self._declared()}
        for _, text, row in given_templates(self):
            used = Template(text).fields if row.gives_by_placeholder else ()
            offered |= {*row.gives, *(feature for name in used for feature in row.gives_by_placeholder.get(name, ()))}
        return frozenset(offered) - self.lacks

    def _declared(self) -> Iterator[str]:
        """Yield the features that do not follow from templates."""
        yield from ()

    def refuses(self, said: str) -> bool:
        """Return True if an error, as ``Type: message``, means that the engine does not offer something."""
        return any(re.search(pattern, said) for pattern in self.refusals)

    def error(self, problem: str) -> AdapterError:
        """Return an error whose message names this engine."""
        return AdapterError(f"adapter {self.name!r}: {problem}")

    def cannot_start(self, kind: str, message: str) -> str:
        """Return the message for an error of the setup. If a module is missing, it names the package to install."""
        said = f"engine {self.name!r} cannot be started: {kind}: {message}"
        package = f'"refgrad[{self.extra}]"' if self.extra else self.distribution
        missing = kind == "ModuleNotFoundError" and package
        return f"{said}; `pip install {package}` installs it" if missing else said


def no_operator(name: str) -> str:
    """Return the message for an unknown operator, with a similar name if there is one."""
    return f"there is no such operator{suggestion(name, operator_table()) or ';'} see `refgrad list operators`"
