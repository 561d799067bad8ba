# A finding of refgrad: contracts/seeds_stay_as_they_are, wrong first derivative.
# At the end of the program, the gradient of `x`, added up over 2 backwards, in entry [1] is -4; neograd 0.0.4 gives
# -6.
# Violated (MUST): A backward does not write to its seed, and no later one does.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import math
import numpy as np
import neograd as ng

x = ng.tensor([1.5, -0.5], requires_grad=True)
a = ng.reshape(x, (2, 1))
a.backward(np.array([[1.0], [-2.0]]), retain_graph=True)
a.backward(np.array([[1.0], [-2.0]]))
got = float((None if x.grad is None or type(x.grad) is float else x.grad)[1])
assert math.isclose(got, -4.0, rel_tol=0.001), f"the gradient of x at [1] is {got}, but it should be -4.0"
