# A finding of refgrad: seeds/seeds_differ_between_calls, wrong first derivative.
# At the end of the program, the gradient of `v` in entry [0] is 0; neograd 0.0.4 gives 4.48169.
# Violated (MUST): A kept graph can be walked again with another seed.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import numpy as np
import neograd as ng

v = ng.tensor([1.5, -0.5, 2.5], requires_grad=True)
a = ng.exp(v)
a.backward(np.array([1.0, 0.0, 0.0]), retain_graph=True)
v.zero_grad()
a.backward(np.array([0.0, -1.5, 0.0]))
got = float((None if v.grad is None or type(v.grad) is float else v.grad)[0])
assert abs(got) < 0.001, f"the gradient of v at [0] is {got}, but it should be 0.0"
