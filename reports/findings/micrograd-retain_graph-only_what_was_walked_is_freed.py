# A finding of refgrad: retain_graph/only_what_was_walked_is_freed, wrong first derivative.
# At the end of the program, the gradient of `x`, added up over 2 backwards, is -1.18519; micrograd 0.1.0 gives
# -1.77778.
# Violated (MUST): A backward frees what it walked, and nothing beside it.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import math
from micrograd.engine import Value

x = Value(1.5)
s = -x
a = s ** 2
b = a ** -1
d = s ** -1
l = d ** 2
b.backward()
l.backward()
got = float(x.grad)
assert math.isclose(got, -1.1851851851851851, rel_tol=0.001), f"the gradient of x is {got}, but it should be -1.1851851851851851"
