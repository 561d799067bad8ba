"""Reads the expressions that printed programs look at: the tensor itself, without what copies it for NumPy."""

from __future__ import annotations

import ast
from typing import Final

from refgrad.report.findings.tidying.folding import last_name

COPIES: Final = frozenset({"as_numpy", "asarray", "array", "numbers"})
"""Functions that make an array of NumPy of a tensor."""

METHODS: Final = frozenset({"clone", "numpy"})


def bare(shown: ast.expr) -> str:
    """Return the expression of a tensor that is looked at; its dtype stays a dtype."""
    return ast.unparse(_bare(_unmasked(shown)))


def unmasked(shown: ast.expr) -> str:
    """Return an expression without the question whether it is None."""
    return ast.unparse(_unmasked(shown))


def _unmasked(shown: ast.expr) -> ast.expr:
    if isinstance(shown, ast.IfExp):
        return shown.orelse
    return shown


def _bare(shown: ast.expr) -> ast.expr:
    match shown:
        case ast.Call(
            func=ast.Name(id="getattr"),
            args=[inner, ast.Constant(value=str(name))]
            | [inner, ast.Constant(value=str(name)), ast.Constant(value=None)],
        ):
            return ast.Attribute(_bare(inner), name, ast.Load())
        case ast.Attribute(value=inner, attr="dtype"):
            return ast.Attribute(_bare(inner), "dtype", ast.Load())
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=[]) if method in METHODS:
            return _bare(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="detach"), args=[]):
            found = _bare(inner)
            return found if isinstance(found, ast.Attribute) and found.attr == "grad" else shown
        case ast.Call(args=[inner], keywords=[]) if last_name(shown.func) in COPIES:
            return _bare(inner)
    return shown
