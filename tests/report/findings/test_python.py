"""What a program looks at is the tensor itself, and stays what it is."""

from __future__ import annotations

import ast

import pytest

from refgrad.report.findings.python import bare


@pytest.mark.parametrize(
    ("shown", "looked_at"),
    [
        ("as_numpy(a.grad.detach().clone())", "a.grad"),
        ("None if a.grad is None else np.asarray(a.grad)", "a.grad"),
        ("getattr(a.grad, 'dtype', None)", "a.grad.dtype"),
        ("getattr(a, 'f')", "a.f"),
        ("getattr(a, 'f', a)", "getattr(a, 'f', a)"),
        ("getattr(a, 'f', 0.0)", "getattr(a, 'f', 0.0)"),
    ],
)
def test_an_expression_is_told_without_copies(shown: str, looked_at: str) -> None:
    assert ast.unparse(bare(ast.parse(shown, mode="eval").body)) == looked_at
