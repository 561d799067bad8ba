"""The message about a wrong gradient: what is wrong, where, by how much, what to do, and a program that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

import numpy as np

from refgrad.checking.libraries.trees import Array, Arrays, Kind, as_given
from refgrad.checking.report import entry_text
from refgrad.checking.subject import CheckedFunction, Seeds
from refgrad.native import calls
from refgrad.native.adapter import TapeAdapter
from refgrad.native.languages import Python
from refgrad.native.statements import Expression, Names
from refgrad.oracles import Discrepancy

PYTHON = Python()

PRINTED_ENTRIES = 64
"""Largest number of entries of an array that the program contains; larger ones are left to the reader."""

SHORT_SEED = 12
"""Largest number of entries of a seed that is printed in full."""

SLIGHT = 2.0**-12
"""Largest relative error of a number whose leading digits are right."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A wrong entry, and the seeds and the point at which it is wrong.

    ``missing`` is True if no gradient arrives, not even zeros.
    """

    discrepancy: Discrepancy
    seeds: Seeds
    point: Arrays
    missing: bool = False


def wrong_entry(subject: CheckedFunction, sighting: Sighting, pattern: str, method: str) -> str:
    """Return the whole message about one entry, with the ``pattern`` that explains all entries, if there is one."""
    discrepancy, source = sighting.discrepancy, "certified" if method == "certified" else "by finite differences"
    lines = [
        f"the gradient with respect to {entry_text(discrepancy)} is {discrepancy.severity}",
        f"  output:          {_output_text(sighting.seeds)}",
        f"  backward gives:  {discrepancy.observed!r}{', since no gradient arrives' * sighting.missing}",
        f"  the truth is:    {discrepancy.truth} ({source})",
        f"  it is off by:    {discrepancy.error:.3g}{_sizes(discrepancy)}",
        f"  what to do:      {pattern or advice(discrepancy)}",
        _shown(subject, program(subject, sighting)),
    ]
    return "\n".join(lines)


def _shown(subject: CheckedFunction, lines: Sequence[str]) -> str:
    """Return the lines of a program, with what comes before them, as the end of a message."""
    return "  to see it:\n" + indent(PYTHON.whole(subject.engine.adapter.setup, "\n".join(lines)).rstrip(), "    ")


def _sizes(discrepancy: Discrepancy) -> str:
    """Return the error relative to the truth and to what rounding explains, as far as these are known."""
    relative, explained = discrepancy.relative_error, discrepancy.explained
    text = f", a relative error of {relative:.1e}" if np.isfinite(relative) else ""
    return text + (
        f", {explained:.2g} times what rounding explains" if np.isfinite(explained) and explained > 0 else ""
    )


def given_seeds(seeds: Seeds) -> list[tuple[int, Array]]:
    """Return the numbers of the outputs with a seed, and their seeds."""
    return [(k, seed) for k, seed in enumerate(seeds) if seed is not None]


def _taking_part(seeds: Seeds) -> list[tuple[int, Array]]:
    """Return the outputs with a seed other than 0, or the first that is run backward if there is none."""
    given = given_seeds(seeds)
    return [(k, seed) for k, seed in given if np.any(seed)] or given[:1]


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
        return f"{k}, all entries weighted by a random seed"
    return f"{', '.join(str(k) for k, _ in taking_part)}, all entries weighted by random seeds"


def advice(discrepancy: Discrepancy) -> str:
    """Return the advice that one entry suggests: what all entries have in common is not known."""
    observed, truth = discrepancy.observed, (discrepancy.lower + discrepancy.upper) / 2
    if not np.isfinite(observed):
        return "not a finite number: look for 0 * inf, 0 / 0, or a branch that is computed but not taken"
    if discrepancy.relative_error < SLIGHT:
        return "right in its leading digits only: look for float32, a rounded constant, or a formula that cancels"
    compare = "compare the backward rule with the derivative"
    return f"{compare}; it gives {observed / truth:.10g} times what it should" if truth else compare


def program(subject: CheckedFunction, sighting: Sighting) -> list[str]:
    """Return the lines, below the imports, of a program that prints the entry of ``function``'s gradient."""
    discrepancy, seeds, point = sighting.discrepancy, sighting.seeds, sighting.point
    adapter = subject.engine.adapter
    names, lines = _inputs(subject, point)
    k, seed = _taking_part(seeds)[0]
    whole = subject.spelled(names)
    index = "" if discrepancy.entry is None or sighting.missing else _index(subject, discrepancy)
    kind = subject.output_kinds[k] if subject.output_kinds else Kind(seed.dtype.name)
    cotangent = calls.seed(adapter, Expression(_seed_literal(seed, kind)), subject.library.dtype_code(kind))
    leaf = names[discrepancy.input]
    several = subject.output_places[k] if subject.output_places else f"[{k}]" if len(seeds) > 1 else ""
    if isinstance(adapter, TapeAdapter):
        lines.append(f"outputs = {whole}")
        lines.append(PYTHON.called(calls.backward(adapter, f"outputs{several}", cotangent)))
        lines.append(f"print(({PYTHON.called(calls.gradient(adapter, leaf))}){index})")
        return lines
    checked = [names[i] for i in subject.positions]
    arguments = ", ".join(checked)
    call = calls.vjp(adapter, f"lambda {arguments}: {whole}{several}", Names(tuple(checked)))
    lines.append(f"outputs, pullback = {PYTHON.called(call)}")
    lines.append(f"print(pullback({PYTHON.called(cotangent)})[{checked.index(leaf)}]{index})")
    return lines


def context_program(
    subject: CheckedFunction, code: tuple[str, str], seeds: Seeds, point: Arrays, discrepancy: Discrepancy | None
) -> str:
    """Return a program that calls ``function`` in a context, and prints an entry of the gradient.

    The ``code`` is a statement that may replace the function, and the statements that make ``gradients`` from ``call``,
    which takes the checked inputs, ``primals`` and ``cotangents``.
    """
    adapter, kinds = subject.engine.adapter, subject.output_kinds
    names, lines = _inputs(subject, point)
    checked = ", ".join(names[i] for i in subject.positions)
    given = given_seeds(seeds)
    literals = [
        calls.seed(adapter, Expression(_seed_literal(seed, kinds[k])), subject.library.dtype_code(kinds[k]))
        for k, seed in given
    ]
    shown = "gradients"
    if discrepancy is not None:
        entry = _index(subject, discrepancy)
        shown = f"gradients[{subject.positions.index(discrepancy.input)}]{entry}.item()"
    replacement, statements = code
    lines += [replacement] if replacement else []
    lines += [
        f"def call({checked}):",
        f"    outputs = {subject.spelled(names)}",
        f"    return {', '.join(f'outputs{subject.output_places[k]}' for k, _ in given)},",
        f"primals = [{checked}]",
        f"cotangents = [{', '.join(map(PYTHON.called, literals))}]",
        *statements.splitlines(),
        f"print({shown})",
    ]
    return _shown(subject, lines)


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
    given = subject.inputs[i]
    if given.array is None:
        return subject.library.code(given.given) or f"leaves[{i}]"
    checked = i in subject.positions
    array = as_given(point[subject.positions.index(i)] if checked else given.array, given.kind)
    otherwise = f"inputs[{i}]" if subject.is_flat else f"leaves[{i}]"
    tensor = calls.tensor(
        subject.engine.adapter,
        array=Expression(_literal(array, otherwise)),
        scalar=Expression(repr(array.item()) if array.ndim == 0 else "None"),
        dtype=subject.library.dtype_code(given.kind),
        requires_grad=checked,
    )
    return PYTHON.called(tensor)


def _literal(array: Array, otherwise: str) -> str:
    """Return NumPy code for an array, or the name ``otherwise`` for a large one."""
    if array.size > PRINTED_ENTRIES:
        return otherwise
    text = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({text}{_dtype(array)})"


def _dtype(array: Array) -> str:
    """Return code for the dtype of an array, as the last argument of a call, unless NumPy takes it anyway."""
    return "" if array.dtype in (np.float64, np.complex128) else f", dtype=np.{array.dtype}"


def _seed_literal(seed: Array, kind: Kind) -> str:
    """Return NumPy code for a seed: a row of the unit matrix if a single entry is not 0."""
    nonzero = np.flatnonzero(seed)
    if seed.size <= SHORT_SEED or len(nonzero) != 1 or kind.is_complex:
        return _literal(as_given(seed, kind), "seed")
    weight = float(seed.flat[nonzero[0]])
    factor = "" if weight == 1 else f"{weight!r} * "
    return f"{factor}np.eye(1, {seed.size}, {nonzero[0]}{_dtype(seed)}).reshape({seed.shape})"
