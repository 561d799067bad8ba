"""Does the program in a message, run as it is printed, print the number that the message tells?"""

from __future__ import annotations

import re
from typing import Any

import pytest

from refgrad import check_gradients
from refgrad.checking.libraries.trees import tree_of
from tests.checking.functions.case import Case

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

from tests.checking.functions.torch_table import CASES  # noqa: E402 (only where it is installed)

pytestmark = [pytest.mark.engines, pytest.mark.turns(2)]

WRONG = [case for case in CASES if not case.right and not case.options]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_the_program_shows_the_fault(case: Case) -> None:
    inputs = case.inputs()
    message = check_gradients(case.function, inputs, raise_exception=False).message
    if "  to see it:\n" not in message:
        assert "\n" not in message
        return
    head, program = message.split("  to see it:\n")
    shown: list[Any] = []
    leaves = tree_of(tuple(inputs), lambda value: isinstance(value, torch.Tensor)).leaves
    names = {"function": case.function, "inputs": inputs, "leaves": leaves, "print": shown.append}
    exec(program.replace("\n    ", "\n").strip(), names)
    told = re.search(r"backward gives: +([^\s,]+)(, since no gradient arrives)?", head)
    assert told is not None
    if told[2]:
        assert shown == [None]
        return
    assert float(shown[0]) == pytest.approx(float(told[1]), rel=1e-12, nan_ok=True)
