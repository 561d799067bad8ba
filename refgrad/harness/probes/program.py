"""How is a program of an engine's library written that is both run and shown?

What a scenario cannot say, because it would be 100,000 steps long or because it watches memory, is a short program in
the words of the adapter. The harness runs its text, and shows the same text as the reproduction.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from textwrap import indent
from typing import Any, Final

import numpy as np

from refgrad.harness.adapter import FunctionalAdapter, TapeAdapter
from refgrad.harness.execution import Engine
from refgrad.harness.reproduction import with_setup
from refgrad.harness.template import Template
from refgrad.operators import operator_table

DTYPE: Final = "float64"
"""What arrays are handed over in; a library that has it not makes its own of them."""


@dataclass(frozen=True, slots=True)
class Words:
    """How an engine's library spells what a program does, with the names of Python variables filled in."""

    engine: Engine

    @property
    def tape(self) -> TapeAdapter | None:
        """The adapter, if it is of an engine that records."""
        adapter = self.engine.adapter
        return adapter if isinstance(adapter, TapeAdapter) else None

    @property
    def functional(self) -> FunctionalAdapter | None:
        """The adapter, if it is of an engine that differentiates functions."""
        adapter = self.engine.adapter
        return adapter if isinstance(adapter, FunctionalAdapter) else None

    def lacks(self, operators: Iterable[str], features: Iterable[str] = ()) -> str:
        """Return the first operator or feature that the engine does not have, if any, as a report names it."""
        missing = [f"operator {name}" for name in operators if name not in self.engine.operators]
        missing += [name for name in features if name not in self.engine.adapter.features]
        return missing[0] if missing else ""

    def apply(self, operator: str, *arguments: str) -> str:
        """Spell an operator, applied to variables; it may have attributes only if they have defaults."""
        row = operator_table()[operator]
        attributes = {name: repr(value) for name, value in row.bind({}).items()}
        operands = dict(zip(row.argument_names, arguments, strict=True))
        return Template(self.engine.operators[operator]).render(operands | attributes)

    def leaf(self, array: str, scalar: str = "None", *, requires_grad: bool = True) -> str:
        """Spell a tensor that is made of ``array``, an expression, or ``scalar``, another of the same number."""
        adapter = self.engine.adapter
        template = adapter.leaf if requires_grad else adapter.constant_text
        fields = {"array": array, "scalar": scalar, "requires_grad": repr(requires_grad)}
        return Template(template).of_dtype(DTYPE).render(fields)

    def value(self, tensor: str) -> str:
        """Spell a tensor's array."""
        return Template(self.engine.adapter.value).render({"x": tensor})

    def backward(self, output: str, *, retain_graph: bool = False) -> str:
        """Spell a backward of a tape engine."""
        assert self.tape is not None
        fields = {"output": output, "seed": "None", "retain_graph": repr(retain_graph)}
        return Template(self.tape.backward).render(fields)

    def gradient(self, leaf: str) -> str:
        """Spell what a tape engine has left in a leaf."""
        assert self.tape is not None
        return Template(self.tape.gradient).render({"leaf": leaf})

    def recorded_gradient(self, output: str, leaf: str) -> str:
        """Spell a gradient that can itself be differentiated."""
        assert self.tape is not None
        assert self.tape.grad is not None
        return Template(self.tape.grad).render({"output": output, "leaf": leaf, "seed": "None"})

    def zero_grad(self, leaf: str) -> str:
        """Spell the reset of a leaf's gradient."""
        assert self.tape is not None
        assert self.tape.zero_grad is not None
        return Template(self.tape.zero_grad).render({"leaf": leaf})

    def vjp(self, function: str, primals: str) -> str:
        """Spell the output and the pullback of a functional engine."""
        assert self.functional is not None
        return Template(self.functional.vjp).render({"function": function, "primals": primals})

    @property
    def one(self) -> str:
        """Spell the seed of a functional engine for a number."""
        assert self.functional is not None
        return Template(self.functional.seed).of_dtype(self.functional.dtype).render({"array": "np.array(1.0)"})

    def run(self, text: str, **names: Any) -> Mapping[str, Any]:
        """Run a program that defines functions in the library's namespace; return what it defined."""
        namespace = {**self.engine.namespace, **names}
        exec(compile(text, f"<program for {self.engine.adapter.name}>", "exec"), namespace)
        return namespace

    def shown(self, *parts: str) -> str:
        """Return a program as somebody without refgrad can run it."""
        return with_setup(self.engine.adapter, "\n".join(parts).strip())


def function(head: str, lines: Iterable[str]) -> str:
    """Return the text of a function."""
    return f"def {head}:\n" + indent("\n".join(lines), "    ") + "\n"


@contextmanager
def recording(engine: Engine) -> Iterator[None]:
    """Run something with recording switched on, whatever mode was left behind before, and warnings not shown."""
    template = getattr(engine.adapter, "enable_grad", None)
    region: AbstractContextManager[Any] = nullcontext() if template is None else engine.run(template)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"), region:
        yield
