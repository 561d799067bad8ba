# A finding of refgrad: edges/power, missing.
# The gradient of `power(a, b)` with respect to `b` at a = 0.0, b = 1.0 is 0; neograd 0.0.4 gives nan.
# Violated (MUST): power: at its edges the gradient is an element of the subdifferential.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import neograd as ng

a = ng.tensor(0.0)
b = ng.tensor(1.0, requires_grad=True)
c = ng.pow(a, b)
c.backward()
got = float(None if b.grad is None or type(b.grad) is float else b.grad)
assert abs(got) < 1e-12, f"the gradient of b is {got}, but it should be 0.0"
