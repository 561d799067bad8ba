# A finding of refgrad: retain_graph/retained_graph_works_again, wrong first derivative.
# At the end of the program, the gradient of `x` is -0.592593; micrograd 0.1.0 gives -1.18519.
# Violated (MUST): A graph that was kept can be walked again and gives the same gradient.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

import math
from micrograd.engine import Value

x = Value(1.5)
a = x ** -1
l = a ** 2
l.backward()
x.grad = 0
l.backward()
got = float(x.grad)
assert math.isclose(got, -0.5925925925925926, rel_tol=0.001), f"the gradient of x is {got}, but it should be -0.5925925925925926"
