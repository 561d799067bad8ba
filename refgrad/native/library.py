"""Expressions of an engine's library, as text, for the programs of measurements.

A measurement that no scenario can express, because it would be 100,000 steps long or because it observes memory, is a
short program with functions of its own. Its lines are composed of the same calls as the statements of scenarios.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import indent
from typing import Final

from refgrad.native import calls
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter
from refgrad.native.calls import call
from refgrad.native.engine import Engine
from refgrad.native.languages import Python
from refgrad.native.observation import Observation, Raised
from refgrad.native.process import EndingError
from refgrad.native.program import Program
from refgrad.native.statements import Argument, Call, Code, Expression, Name, Show, Value
from refgrad.operators import operator_table

DTYPE: Final = "float64"
"""Dtype of the arrays that are passed to a library. A library without it converts them to its own."""

LANGUAGE: Final = Python()


class HangingError(Exception):
    """Raised if a measurement is not taken, because the named operator is known to give no answer."""


class RaisedError(Exception):
    """Raised if the engine raises an exception in a measurement."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(f"{raised.type}: {raised.message}")
        self.raised = raised


@dataclass(frozen=True, slots=True)
class Library:
    """Expressions of an engine's library, with the names of variables filled in."""

    engine: Engine

    @property
    def tape(self) -> TapeAdapter | None:
        """The adapter of an engine that records, or None."""
        adapter = self.engine.adapter
        return adapter if isinstance(adapter, TapeAdapter) else None

    @property
    def forward_only(self) -> bool:
        """Return True if the engine records nothing, and carries tangents forward for one leaf at a time."""
        adapter = self.engine.adapter
        return isinstance(adapter, FunctionalAdapter) and adapter.forward_only

    def lacks(self, operators: Iterable[str], features: Iterable[str] = ()) -> str:
        """Return the first operator or feature that the engine lacks, as a report names it, or an empty string.

        Raises HangingError if it lacks none and one of the operators is known to give no answer.
        """
        if not self.engine.adapter.runs_here:
            return f"measurements in {self.engine.adapter.language}"
        missing = [f"operator {name}" for name in operators if name not in self.engine.operators]
        missing += [name for name in features if name not in self.engine.adapter.features]
        if not missing and (hanging := [name for name in operators if self.engine.hangs(frozenset({name}))]):
            raise HangingError(hanging[0])
        return missing[0] if missing else ""

    def apply(self, operator: str, *arguments: str) -> str:
        """Return the expression of an operator applied to variables. Its attributes have their defaults."""
        row = operator_table()[operator]
        fields: dict[str, Argument] = {name: Value(value) for name, value in row.bind({}).items()}
        fields |= {name: Expression(text) for name, text in zip(row.argument_names, arguments, strict=True)}
        return LANGUAGE.called(call(self.engine.operators[operator], **fields))

    def leaf(self, array: str, scalar: str = "None", *, requires_grad: bool = True) -> str:
        """Return the expression of a tensor made of ``array`` or ``scalar``, expressions of the same number."""
        tensor = calls.tensor(
            self.engine.adapter,
            array=Expression(array),
            scalar=Expression(scalar),
            dtype=DTYPE,
            requires_grad=requires_grad,
        )
        return LANGUAGE.called(tensor)

    def template(self, name: str, /, **fields: str) -> str:
        """Return the code of a template of the adapter, which must have it, with its fields filled with expressions.

        The ``name`` of an entry of a mapping has two parts, such as ``in_place.add``.
        """
        field, _, entry = name.partition(".")
        template = getattr(self.engine.adapter, field)
        text: str | None = template[entry] if entry else template
        return LANGUAGE.called(call(text, **{field: Expression(code) for field, code in fields.items()}))

    def value(self, tensor: str) -> str:
        """Return the expression of a tensor's array."""
        return self.template("value", x=tensor)

    def backward(self, output: str, seed: str = "None", *, retain_graph: bool = False) -> str:
        """Return the code of a backward of a tape engine."""
        return self.template("backward", output=output, seed=seed, retain_graph=str(retain_graph))

    def gradient(self, leaf: str) -> str:
        """Return the expression of the gradient that a tape engine stored in a leaf."""
        return self.template("gradient", leaf=leaf)

    def recorded_gradient(self, output: str, leaf: str) -> str:
        """Return the expression of a gradient that can itself be differentiated."""
        return self.template("grad", output=output, leaf=leaf, seed="None")

    def seed(self, array: str) -> str:
        """Return the expression of a cotangent."""
        return LANGUAGE.called(calls.seed(self.engine.adapter, Expression(array), self.engine.adapter.dtype))

    def zero_grad(self, leaf: str) -> str:
        """Return the code that resets a leaf's gradient."""
        return self.template("zero_grad", leaf=leaf)

    def vjp(self, function: str, primals: str) -> str:
        """Return the expression of the output and the pullback of a functional engine."""
        return self.template("vjp", function=function, primals=primals)

    @property
    def one(self) -> str:
        """Expression of the seed 1 of a functional engine, for a scalar output."""
        return self.seed("np.array(1.0)")

    def run(self, text: str, *sizes: int | tuple[float, ...], after: str = "", timed: bool = True) -> list[Observation]:
        """Run code that defines a function ``attempt``, and call it with each size or tuple of arguments, or once.

        The observation of each call is returned. If it is ``timed``, it has the processor time that the call took after
        a garbage collection. ``after`` is code that runs at the end.

        Raises RaisedError if the engine raises an exception, and EndingError if its runner ends.
        """
        attempts = []
        for size in sizes or ((),):
            arguments = Value(size if isinstance(size, tuple) else (size,))
            attempt = Call("{attempt}(*{arguments})", {"attempt": Name("attempt"), "arguments": arguments})
            attempts.append((Show("attempt", attempt, "data", timed=timed),))
        around = None if self.tape is None else calls.optional(self.tape.enable_grad)
        seen = self.engine.run(Program(((Code(text),), *attempts, (Code(after),)), around))
        for each in seen:
            if each.ending is not None:
                raise EndingError(each.ending)
            if each.error is not None:
                raise RaisedError(each.error)
        return list(seen[1:-1])

    def program(self, *parts: str) -> str:
        """Return code as a program that runs without refgrad."""
        return LANGUAGE.whole(self.engine.adapter.setup, "\n".join(parts).strip())


def function(head: str, lines: Iterable[str]) -> str:
    """Return the text of a function."""
    return f"def {head}:\n" + indent("\n".join(lines), "    ") + "\n"
