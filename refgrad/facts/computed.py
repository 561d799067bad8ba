"""What a scenario computes up to a step, as expressions, and at which point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from refgrad.documents import parsed_toml
from refgrad.operators import operator_table
from refgrad.scenario import Scenario, kinds
from refgrad.scenario.formats import FORMATS
from refgrad.specification import shipped_path

TEXTS: Final = parsed_toml(shipped_path("texts", "facts.toml"))
"""Texts of messages and sentences, by table and name."""

LONGEST: Final = 90
"""Largest number of characters of an expression that is written out."""

MOST_VALUES: Final = 3
"""Largest number of leaves whose values are printed, and of entries of an array of which one matters."""

MOST_ENTRIES: Final = 4
"""Largest number of entries of an array that is printed if all entries matter."""

DEFAULT: Final = "float64"
"""Precision that texts do not mention."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The array that a fact is about: a tensor's value, its gradient, or what a hook received in ``call``, from 1."""

    of: Literal["value", "gradient", "hook"]
    name: str
    call: int = 0

    @property
    def text(self) -> str:
        """The name of the array in a message."""
        return f"what {self.name} saw in call {self.call}" if self.of == "hook" else f"the {self.of} of {self.name}"


class Computed:
    """What a scenario computes up to a step, as expressions."""

    def __init__(self, scenario: Scenario, step: int) -> None:
        """Read the steps up to one, counted from 1."""
        self.steps = scenario.steps[:step]
        self.texts: dict[str, str] = {}
        self.leaves: dict[str, kinds.Leaf] = {}
        self.pushed: dict[str, kinds.Jvp] = {}
        for each in self.steps:
            self._read(each)

    def _read(self, step: object) -> None:
        match step:
            case kinds.Leaf(name=name):
                self.texts[name] = name
                self.leaves[name] = step
            case kinds.Apply(name=name, operator=operator, arguments=arguments, attributes=attributes):
                parts = [self.texts.get(each, each) for each in arguments]
                settings = [f"{key}={value!r}" for key, value in attributes]
                self.texts[name] = _short(
                    name,
                    [
                        f"{operator}({', '.join([*parts, *settings])})",
                        f"{operator}({', '.join(parts)}{', …' if settings else ''})",
                        f"{operator}({', '.join(arguments)}{', …' if settings else ''})",
                    ],
                )
            case kinds.Grad(name=name, output=output, leaf=leaf):
                self.texts[name] = _short(name, [f"d/d{leaf} [{self.texts.get(output, output)}]"])
            case kinds.Jvp(name=name, output=output):
                self.texts[name] = _short(name, [f"jvp [{self.texts.get(output, output)}]"])
                self.pushed[name] = step

    @property
    def outputs(self) -> list[str]:
        """The output of each backward."""
        return [step.output for step in self.steps if isinstance(step, kinds.Backward)]

    @property
    def output(self) -> str:
        """The output of the last backward, as an expression."""
        return self.texts.get(self.outputs[-1], self.outputs[-1]) if self.outputs else "the output"

    @property
    def plain(self) -> bool:
        """True if the scenario has only one computation and one backward."""
        return len(self.outputs) <= 1 and all(
            isinstance(s, kinds.Leaf | kinds.Apply | kinds.Backward | kinds.Read | kinds.Grad | kinds.Jvp)
            for s in self.steps
        )

    @property
    def dtypes(self) -> str:
        """The dtypes of the leaves, as `` of float32``."""
        dtypes = sorted({leaf.value.dtype for leaf in self.leaves.values()})
        return f" of {' and '.join(dtypes)}" if dtypes else ""

    @property
    def before(self) -> str:
        """Text before a subject if there is more than one computation, or another precision."""
        precisions = {leaf.value.dtype for leaf in self.leaves.values()} & FORMATS.keys()
        precision = "" if len(precisions) != 1 or DEFAULT in precisions else f"in {min(precisions)}, "
        return precision if self.plain else f"at the end of the program, {precision}"

    def point(self, index: Sequence[int] = (), *, seeded: bool = False) -> str:
        """Return the values of the leaves as `` at x = 1.5``, or a reference to the program for those left out.

        Return an empty text if there are no leaves, or if more than one computation is shown. ``index`` selects entries
        of large leaves of elementwise programs. With ``seeded`` the seed is included, unless it is one.
        """
        if not self.plain or not self.leaves:
            return ""
        at = index if self._elementwise else ()  # elsewhere all entries may decide
        arrays = [s.seed.to_numpy() for s in self.steps if isinstance(s, kinds.Backward) and s.seed is not None]
        operands = list(self._operands(index, at))
        seeds = [_values("seed", seed, at) for seed in arrays if seeded and not (seed == 1).all()]
        omitted = [*([] if operands else ["operands"]), *([] if all(seeds) else ["seed"])]
        left = f"the {' and the '.join(omitted)} of the program"
        values = ", ".join([*operands, *(each for part in seeds for each in part)])
        return f" at {values or left}{f' with {left}' if values and omitted else ''}"

    def _operands(self, index: Sequence[int], at: Sequence[int]) -> Sequence[str]:
        """Return the texts of the leaves' values, or none if those would leave out what matters."""
        values = {leaf.name: leaf.value.to_numpy() for leaf in self.leaves.values()}
        texts = [_values(name, array, at) for name, array in values.items()]
        known = all(texts) or self._elementwise or any(map(_has_nonfinite, values.values()))
        if not known or (len(values) > MOST_VALUES and not index):
            return []
        return [each for part in texts for each in part][:MOST_VALUES]

    @property
    def _elementwise(self) -> bool:
        table = operator_table()
        rows = [table.get(step.operator) for step in self.steps if isinstance(step, kinds.Apply)]
        return all(row is not None and row.formula is not None for row in rows)

    def subject(self, subject: Subject) -> str:
        """Return the name of an array: the expression that computes it."""
        text = self.texts.get(subject.name, subject.name)
        if subject.of == "gradient":
            backwards, resets = len(self.outputs), any(isinstance(step, kinds.ZeroGrad) for step in self.steps)
            added = "" if backwards <= 1 or resets else f", added up over {backwards} backwards,"
            return f"{self.slope(subject.name)}{self.modes}{added}"
        if subject.name in self.pushed:
            return self.derivative(self.pushed[subject.name])
        if subject.of == "value" and text != subject.name:
            return f"`{text}`"
        return replace(subject, name=f"`{subject.name}`").text

    def slope(self, name: str) -> str:
        """Return the name of the gradient of a tensor, with the output if there is only one."""
        one = len({*self.outputs}) <= 1
        return f"the gradient of `{self.output}` with respect to `{name}`" if one else f"the gradient of `{name}`"

    @property
    def modes(self) -> str:
        """The modes of the derivatives, the last first, as ``, in reverse mode over forward mode,``.

        The text is empty if all are in reverse mode.
        """
        forward = [step.forward for step in self.steps if isinstance(step, kinds.Backward | kinds.Grad)]
        names = ["forward mode" if each else "reverse mode" for each in reversed(forward)]
        return f", in {' over '.join(names)}," if any(forward) else ""

    def derivative(self, pushed: kinds.Jvp) -> str:
        """Return the name of a directional derivative."""
        moved = [f"`{leaf}` moves{_by(tangent.to_numpy())}" for leaf, tangent in pushed.tangents]
        output = self.texts.get(pushed.output, pushed.output)
        return f"the forward-mode derivative of `{output}` as {' and '.join(moved)}"

    @property
    def possible(self) -> str:
        """What the last step requires of an engine."""
        point = self.point()
        match self.steps[-1] if self.steps else None:
            case kinds.Apply(name=name) | kinds.Read(what="value", name=name):
                return f"`{self.texts[name]}` can be computed{point}"
            case kinds.Jvp(output=output):
                return f"`{self.texts.get(output, output)}` has a forward-mode derivative{point}"
            case kinds.Grad(output=output, leaf=leaf):
                return f"`{self.texts.get(output, output)}` has a gradient with respect to `{leaf}`{point}"
            case kinds.Backward() | kinds.Read(what="grad") | None if self.outputs or not self.steps:
                return f"`{self.output}` has a gradient{point}"
        return f"{self.action} is possible{point}"

    @property
    def action(self) -> str:
        """What the last step does."""
        last = self.steps[-1]
        if isinstance(last, kinds.Read) and last.what != "hook":
            part = "the gradient" if last.what == "grad" else f"`{last.what}`"
            return f"reading {part} of `{self.texts.get(last.name, last.name)}`"
        return str(TEXTS["actions"].get(type(last).__name__, "`{text}`").format(step=last, text=last.to_text()))


def _short(name: str, texts: Sequence[str]) -> str:
    """Return the first of some texts that is not too long, or a name."""
    return next((text for text in texts if len(text) <= LONGEST), name)


def _by(tangent: npt.NDArray[np.generic]) -> str:
    return f" by {tangent.tolist()}" if tangent.size <= MOST_VALUES else ""


def _values(name: str, array: npt.NDArray[np.generic], index: Sequence[int]) -> list[str]:
    """Return the texts of the printed entries of a leaf, or of a seed."""
    if not array.size:
        return [f"{name} of the shape {array.shape}"]
    if array.size <= (MOST_VALUES if index else MOST_ENTRIES):
        return [f"{name} = {array.tolist()}"]
    return [f"{name}[{', '.join(map(str, each))}] = {array[each]}" for each in _indices(array, tuple(index))]


def _indices(array: npt.NDArray[np.generic], index: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the indices of the printed entries of a large array: ``index``, and those that are no number."""
    if index and len(index) == array.ndim and all(at < length for at, length in zip(index, array.shape, strict=True)):
        yield index
    if _has_nonfinite(array):
        nonfinite = [tuple(map(int, each)) for each in np.argwhere(~np.isfinite(array))]
        yield from (each for each in nonfinite if each != index)


def _has_nonfinite(array: npt.NDArray[np.generic]) -> bool:
    """Return True if an array holds NaN or infinities."""
    return array.dtype.kind == "f" and not np.isfinite(array).all()
