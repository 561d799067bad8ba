# A finding of refgrad: retain_graph/nothing_saved_nothing_freed, wrong first derivative.
# At the end of the program, the gradient of `x`, added up over 2 backwards, is 2; micrograd 0.1.0 gives 3.
# Violated (MAY): A graph whose rules saved nothing can be walked again, kept or not.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import math
from micrograd.engine import Value

x = Value(1.5)
a = -x
l = -a
l.backward()
l.backward()
got = float(x.grad)
assert math.isclose(got, 2.0, rel_tol=0.001), f"the gradient of x is {got}, but it should be 2.0"
