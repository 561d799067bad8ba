# A finding of refgrad: claims/error_freed_graph, missing.
# `multiply(multiply(x, y), z)` has a gradient at x = 2.0, y = 3.0, z = 5.0; neograd 0.0.4 raises KeyError:
# Tensor(36.0, requires_grad=True).
# Violated (MUST): What the adapter says of error:freed-graph is so: a backward through a freed graph is an error.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import neograd as ng

x = ng.tensor(2.0, requires_grad=True)
y = ng.tensor(3.0, requires_grad=True)
z = ng.tensor(5.0, requires_grad=True)
a = ng.mul(x, y)
l = ng.mul(a, z)
m = ng.mul(a, a)
l.backward()
m.backward()
