"""The message about a wrong gradient: what is wrong, where, by how much, what to do, and a program that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from types import MappingProxyType
from typing import Any

import numpy as np

from refgrad.checking.libraries.trees import Array, Arrays, Kind, from_real
from refgrad.checking.patterns import FEW
from refgrad.checking.report import entry_text
from refgrad.checking.subject import CheckedFunction, Seeds
from refgrad.native import calls
from refgrad.native.adapter import TapeAdapter
from refgrad.native.languages import Python
from refgrad.native.statements import Call, Expression, Names
from refgrad.oracles import Discrepancy
from refgrad.oracles.screening import HALF

PYTHON = Python()

PRINTED_ENTRIES = 64
"""Largest number of entries of an array that the program contains; larger ones are taken from the inputs or drawn."""

DRAWN = f"""def drawn(state, inc, width, shape):
    bits = np.random.PCG64()
    bits.state |= {{"state": {{"state": state, "inc": inc}}}}
    x = np.random.Generator(bits).uniform(-width, width, shape)
    return x + np.copysign({HALF}, x)

"""
"""Function of programs that draws a large seed again, as ``random_signed`` does."""

CHANGED: Mapping[str, Callable[[Array], Array]] = MappingProxyType({
    "{}": np.asarray,
    "abs({})": np.abs,
    "2 * {}": lambda x: 2 * x,
    "-2 * {}": lambda x: -2 * x,
    "-{} / 2": lambda x: -x / 2,
})
"""Code of seeds that are changes of drawn ones, each with the function of the change."""

CONSTANT = "1"
"""Name of the regressor that is the same everywhere."""

SHORT_SEED = 12
"""Largest number of entries of a seed that is printed in full."""

SLIGHT = FEW**2
"""Largest relative error of a number whose leading digits are right."""


def wrong_entry(  # noqa: PLR0913 (each is a line of the message)
    subject: CheckedFunction,
    discrepancy: Discrepancy,
    seeds: Seeds,
    point: Arrays,
    method: str,
    *,
    hint: str = "",
    missing: bool = False,
) -> str:
    """Return the message about a wrong entry of the gradient, for these seeds and this point.

    ``hint`` is advice that fits all entries of the gradient; ``missing`` is True if the gradient is None.
    """
    source = "certified" if method == "certified" else "by finite differences"
    index = "" if discrepancy.entry is None or missing else _index(subject, discrepancy)
    lines = [
        f"the gradient with respect to {entry_text(discrepancy)} is {discrepancy.severity}",
        f"  output:          {_output_text(seeds)}",
        f"  backward gives:  {discrepancy.observed!r}{', since no gradient arrives' * missing}",
        f"  the truth is:    {discrepancy.truth} ({source})",
        f"  it is off by:    {discrepancy.error:.3g}{_sizes(discrepancy)}",
        f"  what to do:      {hint or advice(discrepancy)}",
        program(subject, seeds, point, discrepancy.input, f"{{}}{index}"),
    ]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class WrongEntries:
    """Entries of the gradient of a checked input that are wrong together, under some seeds.

    A number shows it: one entry, the norm of the ``entries``, or, if there is a ``regressor``, the sum of their
    products with it. ``gradients`` are the observed and the true one.
    """

    text: str
    seeds: Seeds
    input: int
    entries: tuple[int | slice, ...]
    gradients: tuple[Array, Array]
    regressor: str = ""
    array: Array | None = None

    def message(self, subject: CheckedFunction) -> str:
        """Return the message."""
        index = f"[{spelled(self.entries)}]" * bool(self.entries)
        words, printed, array = "", f"{{}}{index}", self.array
        numbers: list[Any] = [np.asarray(each[self.entries]) for each in self.gradients]
        if array is not None:
            each = "these entries" if self.regressor == CONSTANT else f"gradient * {self.regressor}"
            words, printed = f", the sum of {each}", f"np.sum({self.code(subject)}{printed})"
            numbers = [np.sum(each * array[self.entries]) for each in numbers]
        elif slice(None) in self.entries:
            words, printed = ", the norm of these entries", f"np.linalg.norm({printed})"
            numbers = [np.linalg.norm(each) for each in numbers]
        return "\n".join([
            self.text,
            f"  output:          {_output_text(self.seeds)}",
            f"  backward gives:  {numbers[0]:.6g}{words}",
            f"  the truth is:    {numbers[1]:.6g}",
            program(subject, self.seeds, subject.point, subject.positions[self.input], printed),
        ])

    def code(self, subject: CheckedFunction) -> str:
        """Return code that multiplies what follows by the regressor."""
        if self.regressor == CONSTANT:
            return ""
        names = {f"input {name}": f"x{i}" for name, i in zip(subject.names, subject.positions, strict=True)}
        names |= {f"output {k}": f"outputs{path}" for k, path in enumerate(subject.output_paths)}
        calls_of_seeds = _cotangents(subject, present_seeds(self.seeds))
        names |= {f"the cotangent of output {k}": PYTHON.called(call) for k, call in calls_of_seeds}
        array = PYTHON.called(calls.value(subject.engine.adapter, names[self.regressor]))
        return f"{array}[{spelled(self.entries)}] * "


def spelled(entries: Sequence[int | slice]) -> str:
    """Return code for an index."""
    return ", ".join(":" if isinstance(each, slice) else str(each) for each in entries)


def _listing(subject: CheckedFunction, lines: Sequence[str]) -> str:
    """Return the lines of a program, after definitions that they use, as the end of a message."""
    text = "\n".join(lines)
    text = DRAWN * ("drawn(" in text) + "# inputs is the tuple of all inputs\n" * ("inputs[" in text) + text
    return "  to see it:\n" + indent(PYTHON.whole(subject.engine.adapter.setup, text).rstrip(), "    ")


def _sizes(discrepancy: Discrepancy) -> str:
    """Return the error relative to the truth and to what rounding explains, as far as these are known."""
    relative, explained = discrepancy.relative_error, discrepancy.explained
    text = f", a relative error of {relative:.1e}" if np.isfinite(relative) else ""
    return text + (
        f", {explained:.2g} times what rounding explains" if np.isfinite(explained) and explained > 0 else ""
    )


def present_seeds(seeds: Seeds) -> list[tuple[int, Array]]:
    """Return the numbers of the outputs with a seed, and their seeds."""
    return [(k, seed) for k, seed in enumerate(seeds) if seed is not None]


def _taking_part(seeds: Seeds) -> list[tuple[int, Array]]:
    """Return the outputs with a nonzero seed, or the first output with a seed if all seeds are zero."""
    present = present_seeds(seeds)
    return [(k, seed) for k, seed in present if np.any(seed)] or present[:1]


def _output_text(seeds: Seeds) -> str:
    taking_part = _taking_part(seeds)
    if len(taking_part) == 1:
        k, seed = taking_part[0]
        if not seed.size:
            return f"{k}, which has no entries"
        entries = np.argwhere(seed)
        if len(entries) == 1:
            entry = tuple(int(i) for i in entries[0])
            return f"{k}" + (f", entry {entry}" if entry else "")
        weight = "a random seed" if np.ptp(seed) else f"{seed.flat[0]:g}"
        return f"{k}, all entries weighted by {weight}"
    return f"{', '.join(str(k) for k, _ in taking_part)}, all entries weighted by random seeds"


def advice(discrepancy: Discrepancy) -> str:
    """Return advice about a single wrong entry, for which no pattern of all entries was found."""
    observed, truth = discrepancy.observed, (discrepancy.lower + discrepancy.upper) / 2
    if not np.isfinite(observed):
        return "not a finite number: look for 0 * inf, 0 / 0, or a branch that is computed but not taken"
    if discrepancy.relative_error < SLIGHT:
        return "right in its leading digits only: look for float32, a rounded constant, or a formula that cancels"
    compare = "compare the backward rule with the derivative"
    return f"{compare}; it gives {observed / truth:.10g} times what it should" if truth else compare


def program(subject: CheckedFunction, seeds: Seeds, point: Arrays, position: int, printed: str) -> str:
    """Return a program that prints the expression ``printed``, in which ``{}`` is the gradient of the input."""
    adapter = subject.engine.adapter
    names, lines = _inputs(subject, point)
    whole, leaf = subject.spelled(names), names[position]
    *others, (k, cotangent) = _cotangents(subject, _taking_part(seeds))
    several = subject.output_paths or [f"[{n}]" if len(seeds) > 1 else "" for n in range(len(seeds))]
    if isinstance(adapter, TapeAdapter):
        lines.append(f"outputs = {whole}")
        for n, each in others:
            lines.append(PYTHON.called(calls.backward(adapter, f"outputs{several[n]}", each, retain_graph=True)))
        lines.append(PYTHON.called(calls.backward(adapter, f"outputs{several[k]}", cotangent)))
        gradient = f"({PYTHON.called(calls.gradient(adapter, leaf))})"
    else:
        checked = [names[i] for i in subject.positions]
        call = calls.vjp(adapter, f"lambda {', '.join(checked)}: {whole}{several[k]}", Names(tuple(checked)))
        lines.append(f"outputs, pullback = {PYTHON.called(call)}")
        gradient = f"pullback({PYTHON.called(cotangent)})[{checked.index(leaf)}]"
    return _listing(subject, [*lines, f"print({printed.format(gradient)})"])


def _cotangents(subject: CheckedFunction, seeds: Sequence[tuple[int, Array]]) -> list[tuple[int, Call]]:
    """Return, for each output with a seed, its number and the call that creates its cotangent."""
    kinds = dict(enumerate(subject.output_kinds)) or {k: Kind(seed.dtype.name) for k, seed in seeds}
    literals = [(k, _seed_literal(subject, seed, kinds[k]), subject.library.dtype_code(kinds[k])) for k, seed in seeds]
    return [(k, calls.seed(subject.engine.adapter, Expression(text), dtype)) for k, text, dtype in literals]


def context_program(
    subject: CheckedFunction, code: tuple[str, str], seeds: Seeds, point: Arrays, discrepancy: Discrepancy | None
) -> str:
    """Return a program that calls ``function`` in a context, and prints an entry of the gradient.

    The ``code`` is a statement that may replace the function, and the statements that make ``gradients`` from ``call``,
    which takes the checked inputs, ``primals`` and ``cotangents``.
    """
    names, lines = _inputs(subject, point)
    checked = ", ".join(names[i] for i in subject.positions)
    cotangents = _cotangents(subject, present_seeds(seeds))
    printed = "gradients"
    if discrepancy is not None:
        printed = f"gradients[{subject.positions.index(discrepancy.input)}]{_index(subject, discrepancy)}.item()"
    replacement, statements = code
    lines += [replacement] if replacement else []
    lines += [
        f"def call({checked}):",
        f"    outputs = {subject.spelled(names)}",
        f"    return {', '.join(f'outputs{subject.output_paths[k]}' for k, _ in cotangents)},",
        f"primals = [{checked}]",
        f"cotangents = [{', '.join(PYTHON.called(each) for _, each in cotangents)}]",
        *statements.splitlines(),
        f"print({printed})",
    ]
    return _listing(subject, lines)


def _inputs(subject: CheckedFunction, point: Arrays) -> tuple[list[str], list[str]]:
    """Return the names of the inputs, and the lines that make them."""
    names = [f"x{i}" for i in range(len(subject.inputs))]
    return names, [f"{name} = {_leaf(subject, i, point)}" for i, name in enumerate(names)]


def _index(subject: CheckedFunction, discrepancy: Discrepancy) -> str:
    """Return code for the index of an entry, with the attribute of its part if it is complex."""
    entry = list(discrepancy.entry or ())
    part = ""
    if subject.inputs[discrepancy.input].kind.is_complex:
        part = (".real", ".imag")[entry.pop()]
    return (str(entry) if entry else "") + part


def _leaf(subject: CheckedFunction, i: int, point: Arrays) -> str:
    each = subject.inputs[i]
    if each.array is None:
        return subject.library.code(each.original) or _taken_from_inputs(subject, i)
    checked = i in subject.positions
    array = from_real(point[subject.positions.index(i)] if checked else each.array, each.kind)
    tensor = calls.tensor(
        subject.engine.adapter,
        array=Expression(_literal(array, _taken_from_inputs(subject, i))),
        scalar=Expression(repr(array.item()) if array.ndim == 0 else "None"),
        dtype=subject.library.dtype_code(each.kind),
        requires_grad=checked,
    )
    return PYTHON.called(tensor)


def _taken_from_inputs(subject: CheckedFunction, i: int) -> str:
    """Return code for a leaf of the inputs of the check, or a parameter of its module."""
    paths = subject.arguments_tree.paths
    if i < len(paths):
        return f"inputs{paths[i]}"
    return f"dict(function.named_parameters())[{[*subject.parameters][i - len(paths)]!r}]"


def _literal(array: Array, otherwise: str) -> str:
    """Return NumPy code for an array. A large one with different entries is replaced by ``otherwise``."""
    dtype = "" if array.dtype in (np.float64, np.complex128) else f", dtype=np.{array.dtype}"
    if array.size > PRINTED_ENTRIES:
        same = bool(np.all(array == array.flat[0]))
        return f"np.full({array.shape}, {array.flat[0].item()!r}{dtype})" if same else otherwise
    text = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({text}{dtype})"


def is_printed(seed: Array | None) -> bool:
    """Return True if a seed is small or sparse enough to be written out in a program."""
    return seed is None or seed.size <= PRINTED_ENTRIES or int(np.count_nonzero(seed)) <= 1


def _seed_literal(subject: CheckedFunction, seed: Array, kind: Kind) -> str:
    """Return NumPy code for a seed: a row of the unit matrix if a single entry is not 0, or how it was drawn."""
    nonzero = np.flatnonzero(seed)
    if len(nonzero) == 1 and seed.size > SHORT_SEED and not kind.is_complex:
        weight = float(seed.flat[nonzero[0]])
        factor = "" if weight == 1 else f"{weight!r} * "
        dtype = "" if seed.dtype == np.float64 else f", dtype=np.{seed.dtype}"
        return f"{factor}np.eye(1, {seed.size}, {nonzero[0]}{dtype}).reshape({seed.shape})"
    for array, code in subject.drawn if seed.size > PRINTED_ENTRIES and not kind.is_complex else ():
        for form, changed in CHANGED.items():
            if np.array_equal(changed(array), seed):
                return form.format(code)
    return _literal(from_real(seed, kind), "seed")
