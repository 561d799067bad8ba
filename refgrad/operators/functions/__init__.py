"""The functions that formulas may call: one row per function (``rows``), one column per number system.

| module | number system | used by |
|---|---|---|
| ``python_floats`` | Python's floats | constants of formulas, which are computed once |
| ``arrays`` | numpy's real floats | the interpreter, the reference engine |
| ``balls`` | FLINT's balls | the certified oracle |
| ``series`` | FLINT's power series | the certified oracle of higher derivatives |

The columns of mpmath's floats and intervals, numpy's complex numbers and SymPy's expressions, which only tests use, are
in ``tests/operators/functions/``.

A new function needs a row, and an entry in each column that cannot use the row's definition. Importing this package
imports only the rows and ``python_floats``, since the libraries of the other columns are slow to import.
"""

from refgrad.operators.functions.rows import CONSTANTS, FUNCTIONS, FormulaFunction

__all__ = ["CONSTANTS", "FUNCTIONS", "FormulaFunction"]
