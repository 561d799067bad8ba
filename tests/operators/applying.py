"""What is the value of an operator of the table, as plain numpy computes its steps?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from refgrad.interpreter import numpy_forward
from refgrad.operators import operator_table


def applied(name: str, *arrays: Any, **attributes: Any) -> npt.NDArray[Any]:
    """Apply an operator to arrays, with the defaults of its row filled in."""
    operator = operator_table()[name]
    return np.asarray(numpy_forward(operator)(*map(np.asarray, arrays), **operator.bind(attributes)))


def assert_close(actual: Any, expected: Any) -> None:
    """See that shapes agree, and numbers to rounding."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.allclose(actual, expected, rtol=1e-13, atol=1e-14)
