"""What a step of a scenario can show, as data: an array, an error, or nothing but having run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy.typing as npt

Array = npt.NDArray[Any]

LONGEST_MESSAGE: Final = 2000
"""Characters that are kept of an error's message: some libraries print whole arrays in it."""

EXHAUSTION: Final = frozenset({"MemoryError", "RecursionError"})
"""The errors that say that memory or the stack was used up."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An error that an engine raised: its class, what it says, and the names of all classes that it is of."""

    type: str
    message: str
    bases: tuple[str, ...]

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """Describe an error. Its own ``__str__`` may fail, or return what no file can hold."""
        try:
            message = str(error)
        except (Exception, SystemExit) as failure:  # noqa: BLE001 (it is the engine's)
            message = f"its message cannot be read: {type(failure).__name__}"
        readable = message[:LONGEST_MESSAGE].encode("utf-8", "backslashreplace").decode("utf-8")
        ending = " ..." if len(message) > LONGEST_MESSAGE else ""
        return cls(type(error).__name__, readable + ending, tuple(base.__name__ for base in type(error).__mro__))

    @property
    def text(self) -> str:
        """``Type: message``."""
        return f"{self.type}: {self.message}"

    @property
    def is_exhaustion(self) -> bool:
        """Whether the engine used up its memory or its stack."""
        return not EXHAUSTION.isdisjoint(self.bases)

    @property
    def is_refusal(self) -> bool:
        """Whether it says that something is not implemented, by its class or, as PyTorch's, in its last words."""
        return "NotImplementedError" in self.bases or self.message.rstrip(".").endswith("is not implemented")


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What a step showed: an array, no gradient (None), an error, or nothing but having run.

    ``dtype`` is what the library says of the array, by its name: numpy has no array of bfloat16. ``changed`` says of
    each seed of this backward and earlier ones what it has written to it.
    """

    array: Array | None = None
    error: Raised | None = None
    dtype: str = ""
    changed: tuple[str, ...] = ()

    @property
    def error_text(self) -> str:
        """The error as ``Type: message``."""
        return "" if self.error is None else self.error.text
