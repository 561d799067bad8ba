"""The table of operators: its rows, formulas, structures and composites."""

from refgrad.operators.expression import Formula, FormulaError
from refgrad.operators.operator import Composite, Operators, RecordedNode, Structure
from refgrad.operators.table import Argument, Attribute, Edge, Operator, OperatorError, load_operators, operator_table
