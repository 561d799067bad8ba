"""Tensors as text, as PyTorch prints them with float64 as the default dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from refgrad.engine.graph.tensor import Tensor

DIGITS = 4
LINE_WIDTH = 80
THRESHOLD = 1000  # number of entries above which only the first and last of an axis are printed
EDGE = 3
LARGE, SMALL, RATIO = 1e8, 1e-4, 1000.0  # PyTorch's limits for fixed-point notation
UNSAID = frozenset({"float64", "int64", "bool"})


def printed(tensor: Tensor) -> str:
    """Return the text ``tensor(…)`` with aligned entries, and with dtype and history where they are not the default."""
    array = np.asarray(tensor.array)
    suffixes = _suffixes(tensor, array)
    prefix = "tensor("
    layout = _layout(_visible(array))
    text = prefix + (layout.nested(array, len(prefix), summarize=array.size > THRESHOLD) if array.size else "[]")
    for suffix in suffixes:
        last_line = len(text) - text.rfind("\n") - 1
        fits = last_line + len(suffix) + 4 <= LINE_WIDTH  # PyTorch counts one character more than it prints
        text += f", {suffix}" if fits else f",\n{' ' * len(prefix)}{suffix}"
    return text + ")"


def _suffixes(tensor: Tensor, array: np.ndarray[Any, Any]) -> list[str]:
    suffixes = []
    if not array.size and array.shape != (0,):
        suffixes.append(f"size={array.shape}")
    if array.dtype.name not in UNSAID:
        suffixes.append(f"dtype=torch.{array.dtype.name}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def _visible(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the entries that will be printed; only these determine the notation."""
    if array.size <= THRESHOLD:
        return array.ravel()
    edges = [np.r_[:EDGE, n - EDGE : n] if n > 2 * EDGE else np.arange(n) for n in array.shape]
    return np.ravel(array[np.ix_(*edges)])


def _layout(entries: np.ndarray[Any, Any]) -> _Layout:
    """Return the notation and the width for ``entries``; zeros, infinities and NaN among floats are disregarded."""
    one: Callable[[Any], str] = str
    deciding = entries
    if entries.dtype.kind == "f":
        deciding = entries[np.isfinite(entries) & (entries != 0)]
        one = _float_format(deciding)
    return _Layout(one, max((len(one(entry)) for entry in deciding.tolist()), default=1))


def _float_format(deciding: np.ndarray[Any, Any]) -> Callable[[float], str]:
    """Return the notation for floats, given those that are neither zero nor infinite nor NaN."""
    sizes = np.abs(deciding).astype(np.float64)
    largest, smallest = sizes.max(initial=0.0), sizes.min(initial=np.inf)
    whole = bool(np.all(sizes == np.ceil(sizes)))
    wide = largest / smallest > RATIO or largest > LARGE
    if wide or (not whole and smallest < SMALL):
        return lambda entry: f"{entry:.{DIGITS}e}"
    if whole:
        return lambda entry: f"{entry:.0f}." if np.isfinite(entry) else str(entry)
    return lambda entry: f"{entry:.{DIGITS}f}"


@dataclass(frozen=True, slots=True)
class _Layout:
    """The format of an array: nested brackets, one row a line, continued lines indented below the first entry."""

    show: Callable[[Any], str]
    width: int

    def nested(self, array: np.ndarray[Any, Any], indent: int, *, summarize: bool) -> str:
        """Return the text of an array whose bracket opens ``indent`` characters into the line."""
        if array.ndim == 0:
            return self.show(array.item())
        if array.ndim == 1:
            return self.row(array, indent, summarize=summarize)
        parts = [self.nested(part, indent + 1, summarize=summarize) for part in _edges(array, summarize=summarize)]
        if summarize and len(array) > 2 * EDGE:
            parts.insert(EDGE, "...")
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"

    def row(self, array: np.ndarray[Any, Any], indent: int, *, summarize: bool) -> str:
        """Return the text of a vector, in as many lines as it needs."""
        values = np.asarray(_edges(array, summarize=summarize)).tolist()
        entries = [self.show(entry).rjust(self.width) for entry in values]
        if summarize and len(array) > 2 * EDGE:
            entries.insert(EDGE, " ...")
        in_line = max(1, (LINE_WIDTH - indent) // (self.width + 2))
        lines = [", ".join(entries[i : i + in_line]) for i in range(0, len(entries), in_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _edges(array: np.ndarray[Any, Any], *, summarize: bool) -> Any:
    if summarize and len(array) > 2 * EDGE:
        return [*array[:EDGE], *array[-EDGE:]]
    return list(array)
