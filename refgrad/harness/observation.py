"""What can a step of a scenario show?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What a step showed: an array, no gradient (None), an error, or nothing but having run.

    ``dtype`` is what the library says of the array, by its name: numpy has no array of bfloat16. ``changed`` says of
    each seed of this backward and earlier ones what it has written to it.
    """

    array: Array | None = None
    error: BaseException | None = None
    dtype: str = ""
    changed: tuple[str, ...] = ()

    @property
    def error_text(self) -> str:
        """The error as ``Type: message``."""
        return "" if self.error is None else f"{type(self.error).__name__}: {self.error}"
