# A finding of refgrad: modes/backward_works_in_a_region, missing.
# At the end of the program, there is a gradient of `exp(x)` with respect to `x`; mygrad 2.5.0 gives none.
# Violated (MUST): A backward in a no_grad region walks what was recorded before it, and adds to the leaves.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import mygrad as mg

x = mg.tensor(1.5)
a = mg.exp(x)
with mg.no_autodiff:
    a.backward()
    got = x.grad
    assert got is not None, 'the gradient of x is missing'
