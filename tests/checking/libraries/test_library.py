"""What a library does not offer is said, in words that name the engine."""

from __future__ import annotations

import pytest

from refgrad.checking.libraries.library import Library, UnsupportedError
from refgrad.native.engine import start
from tests.native.reference import ADAPTER


def test_second_derivatives_are_refused_where_nothing_is_known_of_them() -> None:
    with pytest.raises(UnsupportedError, match="second derivatives of refgrad are not checked"):
        Library(start(ADAPTER)).gradient_function(lambda x: x, 1)
