"""All functions of PyTorch that are checked."""

from __future__ import annotations

from tests.checking.functions import (
    torch_graphs,
    torch_higher_orders,
    torch_inner_gradients,
    torch_modules,
    torch_precisions,
    torch_rules,
    torch_tutorials,
)
from tests.checking.functions.case import Case

CASES: tuple[Case, ...] = (
    *torch_rules.CASES,
    *torch_graphs.CASES,
    *torch_inner_gradients.CASES,
    *torch_modules.CASES,
    *torch_precisions.CASES,
    *torch_higher_orders.CASES,
    *torch_tutorials.CASES,
)
