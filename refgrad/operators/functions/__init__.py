"""The functions that formulas may call: one row a function (``rows``), one column a number system.

| module | number system | used by |
|---|---|---|
| ``python_floats`` | Python's floats | constants of formulas, which are computed once |
| ``arrays`` | numpy's real floats | the interpreter, the reference engine |
| ``balls`` | FLINT's balls | the certified oracle |
| ``series`` | FLINT's power series | the certified oracle of higher derivatives |

The columns of mpmath's floats and intervals, numpy's complex numbers and SymPy's expressions, which only tests read,
are in ``tests/operators/functions/``.

A new function is a row, and an entry in each column that cannot do with the row's definition. Only the rows and
``python_floats`` are loaded with this package: the libraries of the columns take long.
"""

from refgrad.operators.functions.rows import CONSTANTS, FUNCTIONS, Function

__all__ = ["CONSTANTS", "FUNCTIONS", "Function"]
