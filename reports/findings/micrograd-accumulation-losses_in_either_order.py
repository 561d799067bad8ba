# A finding of refgrad: accumulation/losses_in_either_order, wrong first derivative.
# At the end of the program, the gradient of `x`, added up over 2 backwards, is -0.148148; micrograd 0.1.0 gives
# -0.740741.
# Violated (MUST): Two losses over a shared part give the same gradient in either order.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import math
from micrograd.engine import Value

x = Value(1.5)
s = x ** -1
a = s ** 2
b = -s
a.backward()
b.backward()
got = float(x.grad)
assert math.isclose(got, -0.14814814814814814, rel_tol=0.001), f"the gradient of x is {got}, but it should be -0.14814814814814814"
