# A finding of refgrad: edges/maximum, wrong first derivative.
# Moving `a` by 1 changes `maximum(a, a)` by 1; according to the gradient that mygrad 2.5.0 gives, by 0.
# Violated (MUST): maximum: at its edges the gradient is an element of the subdifferential.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import mygrad as mg

a = mg.tensor(1.0)
b = mg.maximum(a, a)
b.backward()
got = float(a.grad)
assert abs(got - 1.0) < 1e-6, f"moving a by 1 changes the output by 1.0, but by {got} according to the gradient"
