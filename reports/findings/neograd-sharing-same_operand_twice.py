# A finding of refgrad: sharing/same_operand_twice, wrong error.
# `multiply(x, x)` has a gradient at x = 1.5; neograd 0.0.4 raises KeyError: Tensor(2.25, requires_grad=True).
# Violated (MUST): An operator that is given the same tensor as both operands sends it both contributions.
# Found on neograd 0.0.4, Python 3.11.7, Linux x86_64.

import neograd as ng

x = ng.tensor(1.5, requires_grad=True)
l = x * x
l.backward()
