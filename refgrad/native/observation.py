"""Observations of the steps of a program, and of how a runner without an answer ended."""

from __future__ import annotations

import struct
from base64 import b64decode
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.native.process import FREED, UNWRITTEN, Ending
from refgrad.native.statements import Wire
from refgrad.native.text import plain_line, plain_text, repeatable_text
from refgrad.scenario.constants import ELEMENT_TYPES, FLOATING, Constant

Array = npt.NDArray[Any]

EXHAUSTION: Final = frozenset({"MemoryError", "RecursionError"})
"""Classes of errors that mean that memory or the stack was used up."""

UNSUPPORTED: Final = "NotImplementedError"
"""Class of errors that mean that something is not supported."""


UNWRITTEN_NUMBERS: Final = frozenset({
    abs(float(Constant(dtype, (), bytes([byte]) * struct.calcsize(ELEMENT_TYPES[dtype].code)).to_numpy()))
    for byte in (UNWRITTEN, FREED)
    for dtype in FLOATING
})
"""Magnitudes of the numbers in memory that nothing was written to, or that was freed, in each format."""


class ProtocolError(Exception):
    """Raised if an answer of a runner does not follow the protocol; the message quotes it."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An error that an engine raised: its class, its message, and the names of all classes that it belongs to."""

    type: str
    message: str
    bases: tuple[str, ...]

    @property
    def text(self) -> str:
        """``Type: message``."""
        return f"{self.type}: {self.message}"

    @property
    def is_exhaustion(self) -> bool:
        """Return True if the engine used up its memory or its stack."""
        return not EXHAUSTION.isdisjoint(self.bases)

    @property
    def is_unsupported(self) -> bool:
        """Return True if it means not implemented: by its class or, as in PyTorch, by the end of its message."""
        return UNSUPPORTED in self.bases or self.message.rstrip(".").endswith("is not implemented")


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """The observation of a step: an array, no gradient (None), an error, or only that it ran.

    ``dtype`` is the name of the array's dtype in the library, since NumPy has no bfloat16. ``changed`` describes the
    seeds of this and earlier backward calls that were written to. ``arrays`` are those of a step that shows several.
    ``data`` is the result of a measurement, which took ``seconds`` of processor time, and ``graph`` that of a
    traversal. ``ending`` is set for the step in which the engine's process ended. ``masked`` counts the entries that
    the library has masked.
    """

    array: Array | None = None
    error: Raised | None = None
    dtype: str = ""
    changed: tuple[str, ...] = ()
    arrays: tuple[Array, ...] = ()
    data: Any = None
    seconds: float = 0.0
    graph: Graph | None = None
    ending: Ending | None = None
    masked: int = 0

    @property
    def error_text(self) -> str:
        """The error as ``Type: message``."""
        return "" if self.error is None else self.error.text


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph of numbered nodes: the numbers of named nodes, and for each node those that it leads to, in order."""

    named: dict[str, int]
    parents: tuple[tuple[int, ...], ...]


def is_unwritten(number: float) -> bool:
    """Return True if a number or its negative is one that unwritten or freed memory holds."""
    return abs(number) in UNWRITTEN_NUMBERS


def read_answer(answer: Any) -> Observation:
    """Return the observation of one step's answer. Raises ProtocolError for a malformed answer."""
    try:
        return _read(answer)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProtocolError(f"the answer {str(answer)[:200]} is malformed: {error}") from error


def _read(answer: dict[str, Any]) -> Observation:  # noqa: PLR0911 (one return for each kind of answer)
    if not answer or "none" in answer:
        return Observation()
    if "array" in answer:
        form = answer["array"]
        return Observation(
            read_array(form), dtype=str(form.get("dtype_told", form["dtype"])), masked=int(form.get("masked", 0))
        )
    if "error" in answer:
        error = answer["error"]
        message = plain_text(repeatable_text(str(error["message"])))
        return Observation(error=Raised(plain_line(str(error["type"])), message, tuple(map(str, error["bases"]))))
    if "flag" in answer:
        return Observation(np.asarray(bool(answer["flag"])))
    if "arrays" in answer:
        return Observation(arrays=tuple(map(read_array, answer["arrays"])))
    if "data" in answer:
        return Observation(data=read_data(answer["data"]), seconds=float(answer.get("seconds", 0.0)))
    if "graph" in answer:
        graph = answer["graph"]
        named = {str(name): int(number) for name, number in graph["named"].items()}
        return Observation(graph=Graph(named, tuple(tuple(map(int, each)) for each in graph["parents"])))
    raise ProtocolError(f"the answer {str(answer)[:200]} has none of the members that an answer can have")


def read_array(form: Wire) -> Array:
    """Return the array of a JSON form. An array without numbers that can be sent becomes one of None."""
    shape = tuple(map(int, form["shape"]))
    stored = str(form.get("stored", form["dtype"]))
    if stored == "none":
        return np.full(shape, None, dtype=object)
    dtype = np.dtype(stored)
    return np.frombuffer(b64decode(form["data"]), dtype.newbyteorder("<")).reshape(shape).astype(dtype)


def read_data(value: Any) -> Any:
    """Return nested data with its floats and arrays decoded."""
    if isinstance(value, list):
        return [read_data(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, body),) = value.items()
    if kind == "float":
        return float.fromhex(body)
    if kind == "array":
        return read_array(body)
    return {name: read_data(item) for name, item in body.items()} if kind == "object" else value
