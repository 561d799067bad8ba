"""Norms are recorded as the operator table's rows, and those of no positive order are not."""

from __future__ import annotations

from typing import Any

import pytest

from refgrad.checking.tracing.aten import AtenCalls
from refgrad.checking.tracing.recorder import Untraceable


class Rows:
    """A translator that notes the rows that are recorded."""

    def row(self, name: str, _x: str, **attributes: Any) -> str:
        return f"{name} {attributes.get('order', '')}".strip()


@pytest.mark.parametrize(
    ("order", "row"),
    [(2, "l2_norm"), (1, "l1_norm"), (float("inf"), "max_norm"), (3, "vector_norm 3.0")],
)
def test_a_norm_is_the_row_of_its_order(order: Any, row: str) -> None:
    translator: Any = Rows()
    assert AtenCalls.norm(translator, "x", order) == row


@pytest.mark.parametrize("order", [0, -1])
def test_a_norm_of_another_order_is_not_recorded(order: Any) -> None:
    translator: Any = Rows()
    with pytest.raises(Untraceable, match="norm with the order"):
        AtenCalls.norm(translator, "x", order)
