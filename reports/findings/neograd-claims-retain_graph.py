# A finding of refgrad: claims/retain_graph, missing.
# At the end of the program, the gradient of `x` is 3; neograd 0.0.4 gives 6.
# Violated (MUST): What the adapter says of retain_graph is so: a graph can be kept for a further backward.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import math
import neograd as ng

x = ng.tensor(2.0, requires_grad=True)
y = ng.tensor(3.0, requires_grad=True)
a = ng.mul(x, y)
a.backward(retain_graph=True)
x.zero_grad()
a.backward()
got = float(None if x.grad is None or type(x.grad) is float else x.grad)
assert math.isclose(got, 3.0, rel_tol=0.001), f"the gradient of x is {got}, but it should be 3.0"
