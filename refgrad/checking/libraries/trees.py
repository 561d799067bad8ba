"""Arguments and results as trees of tuples, lists, dictionaries and dataclasses, and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from operator import setitem
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.scenario.formats import FORMATS, numpy_dtype


@dataclass(frozen=True, slots=True)
class Tree:
    """The leaves of a value, the index of each in it (``['w'][0]``), and a function that builds the value from leaves.

    ``code`` returns Python code for the value from names of the leaves, and ``spell`` code for each of its parts.
    """

    leaves: tuple[Any, ...]
    paths: tuple[str, ...]
    build: Callable[[Sequence[Any]], Any]
    code: Callable[[Sequence[str]], str]
    spell: Callable[[Sequence[str]], list[str]]


def tree_of(value: Any, is_leaf: Callable[[Any], bool]) -> Tree:
    """Return the tree of a value. Its leaves are the objects that are no containers, or that ``is_leaf`` accepts."""
    parts = None if is_leaf(value) else _parts(value)
    if parts is None:
        return Tree((value,), ("",), lambda leaves: leaves[0], lambda names: names[0], list)
    names, children, join = parts
    trees = [tree_of(child, is_leaf) for child in children]
    leaves = tuple(leaf for tree in trees for leaf in tree.leaves)
    paths = tuple(name + path for name, tree in zip(names, trees, strict=True) for path in tree.paths)

    def shared(own_leaves: Sequence[Any]) -> Iterator[tuple[Tree, Sequence[Any]]]:
        """Yield each subtree with those of the given leaves that belong to it."""
        remaining = iter(own_leaves)
        return ((tree, list(islice(remaining, len(tree.leaves)))) for tree in trees)

    def spelled(own_leaves: Sequence[str]) -> list[str]:
        return [tree.code(own) for tree, own in shared(own_leaves)]

    return Tree(
        leaves,
        paths,
        lambda own_leaves: join([tree.build(own) for tree, own in shared(own_leaves)]),
        lambda own_leaves: _code(value, names, spelled(own_leaves)),
        spelled,
    )


def _parts(value: Any) -> tuple[list[str], list[Any], Callable[[list[Any]], Any]] | None:
    """Return the names and the values of a container's parts, and a function that builds it from other values."""
    if isinstance(value, tuple | list):
        return [f"[{i}]" for i in range(len(value))], list(value), lambda parts: _sequence(value, parts)
    if isinstance(value, Mapping):
        keys = list(value)
        return [f"[{key!r}]" for key in keys], list(value.values()), lambda parts: _filled(value, keys, parts, setitem)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        parts = [getattr(value, name) for name in names]
        return [f".{name}" for name in names], parts, lambda parts: _filled(value, names, parts, object.__setattr__)
    return None


def _code(value: Any, names: Sequence[str], parts: Sequence[str]) -> str:
    """Return code for a container from the code of its parts."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(value, parts, strict=True)) + "}"
    if type(value) is list:
        return f"[{', '.join(parts)}]"
    if type(value) is tuple:
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    fields = getattr(value, "_fields", None) or [name.removeprefix(".") for name in names]
    return f"{type(value).__name__}({', '.join(f'{n}={part}' for n, part in zip(fields, parts, strict=True))})"


def _sequence(value: Any, parts: list[Any]) -> Any:
    if type(value) in (tuple, list):
        return type(value)(parts)
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _filled(value: Any, names: list[Any], parts: list[Any], store: Callable[[Any, Any, Any], None]) -> Any:
    """Return a copy of a container with other parts."""
    result = copy(value)
    for name, part in zip(names, parts, strict=True):
        store(result, name, part)
    return result


Array = npt.NDArray[Any]
Arrays = tuple[Array, ...]

COMPLEX_PARTS = {"complex64": "float32", "complex128": "float64"}
"""Dtype of the two parts of a complex number."""

NEARBY_TOLERANCE: Mapping[str, float] = MappingProxyType({
    "float64": 1e-10,
    "float32": 1e-4,
    "float16": 3e-2,
    "bfloat16": 0.2,
    "float8_e4m3fn": 0.5,
    "float8_e5m2": 0.5,
})
"""Relative tolerance for two computations of one value: far more than rounding, far less than a missed value causes."""

CANCELLED = 2.0**-10
"""Smallest relative size that an entry has for its tolerance: small entries may be differences of large ones."""


def half_digits(dtype: str) -> float:
    """Return the largest relative difference between two ways to compute a number: half of the format's digits."""
    return 2.0 ** -(FORMATS[dtype].bits // 2)


@dataclass(frozen=True, slots=True)
class Kind:
    """The dtype of a tensor, its strides if its memory is not in order, and its device if that is not the CPU."""

    dtype: str
    strides: tuple[int, ...] | None = None
    device: str = ""

    @property
    def is_complex(self) -> bool:
        """Return True if each entry is a pair of numbers."""
        return self.dtype in COMPLEX_PARTS

    @property
    def floating(self) -> bool:
        """Return True if tensors of this kind can be differentiated by."""
        return self.is_complex or self.dtype in FORMATS

    @property
    def part(self) -> str:
        """Floating dtype of an entry, or of the parts of a complex one."""
        return COMPLEX_PARTS.get(self.dtype, self.dtype)


def is_numeric(dtype: Any) -> bool:
    """Return True if a dtype holds numbers: no objects, strings, times, records or random keys."""
    if not isinstance(dtype, np.dtype):
        return False
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void)  # V: bfloat16 and its like


def as_real(array: Array) -> Array:
    """Return a copy in which a complex array has one more axis, for the real and the imaginary part."""
    if array.dtype.kind != "c":
        return np.array(array)
    return np.stack([array.real, array.imag], axis=-1)


def from_real(array: Array, kind: Kind) -> Array:
    """Return an array of a kind from its real form; it stays float32 or float64 if the kind has 16 bits."""
    if kind.is_complex:
        return np.asarray((array[..., 0] + 1j * array[..., 1]).astype(kind.dtype))
    return array.astype(numpy_dtype(kind.dtype), copy=False) if kind.dtype in FORMATS else array


def numeric(array: Array) -> Array:
    """Return booleans as numbers, which can be subtracted."""
    return array.astype(np.float64) if array.dtype.kind == "b" else array


def near(output: Array, value: Array, tolerance: float) -> bool:
    """Return True if finite entries agree within a relative tolerance, which is larger for small entries."""
    output, value = numeric(output), numeric(value)
    with np.errstate(all="ignore"):
        sizes = np.where(np.isfinite(output), np.abs(output), 0.0)
        size = np.maximum(sizes, float(np.max(sizes, initial=0.0)) * max(CANCELLED, tolerance))
        return bool(np.all((np.abs(output - value) <= tolerance * size) | ~np.isfinite(output)))


def furthest(value: Array, expected: Array) -> tuple[float, tuple[int, ...]]:
    """Return the largest difference from a finite entry, infinite if it is not a finite number, and its index."""
    if not expected.size:
        return -1.0, ()
    differences = np.where(np.isfinite(expected), np.abs(numeric(value) - numeric(expected)).astype(np.float64), 0.0)
    differences[~np.isfinite(differences)] = np.inf
    index = np.unravel_index(int(np.argmax(differences)), differences.shape)
    return float(differences[index]), tuple(map(int, index))


def furthest_of(values: Sequence[Array], expected: Sequence[Array]) -> tuple[int, tuple[int, ...], float]:
    """Return the number and the index of the entry that differs most among several arrays, and its difference."""
    distances = list(map(furthest, values, expected))
    n = max(range(len(distances)), key=lambda n: distances[n][0])
    return n, distances[n][1], distances[n][0]
