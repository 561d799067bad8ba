# A finding of refgrad: lifecycles/random, wrong first derivative.
# At the end of the program, the gradient of `a`, added up over 2 backwards, is 2; micrograd 0.1.0 gives 1.
# Violated (MUST): Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step
# shows what it must, and fails where it must.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import math
from micrograd.engine import Value

a = Value(1.0)
a.backward()
a.backward()
got = float(a.grad)
assert math.isclose(got, 2.0, rel_tol=0.001), f"the gradient of a is {got}, but it should be 2.0"
