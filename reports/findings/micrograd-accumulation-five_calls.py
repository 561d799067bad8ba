# A finding of refgrad: accumulation/five_calls, wrong first derivative.
# At the end of the program, the gradient of `x`, added up over 2 backwards, is -1.18519; micrograd 0.1.0 gives
# -1.77778.
# Violated (MUST): The n-th backward through a retained graph adds the same gradient once more, never the total so
# far.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import math
from micrograd.engine import Value

x = Value(1.5)
a = x ** -1
l = a ** 2
l.backward()
l.backward()
got = float(x.grad)
assert math.isclose(got, -1.1851851851851851, rel_tol=0.001), f"the gradient of x is {got}, but it should be -1.1851851851851851"
