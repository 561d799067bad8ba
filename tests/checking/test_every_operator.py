"""A check of any operator of an engine ends with a verdict on the engine, and not with a mistake of the check."""

from __future__ import annotations

import pytest

from refgrad import check_gradients
from refgrad.checking import FAILED
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import start
from tests.checking.operator_functions import function_of

pytestmark = pytest.mark.engines


@pytest.mark.parametrize("name", ["torch", "autograd", "mygrad", pytest.param("jax", marks=pytest.mark.whole)])
def test_no_check_of_an_operator_fails_by_itself(name: str) -> None:
    pytest.importorskip(name, reason=f"needs refgrad[{name}]")
    engine = start(find_adapter(name))
    failed = []
    for operator in engine.operators:
        function, inputs = function_of(engine, operator)
        report = check_gradients(function, tuple(inputs), name, raise_exception=False, strict=False)
        failed += [operator] if FAILED in str(report) else []
    assert failed == []
