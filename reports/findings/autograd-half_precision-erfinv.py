# A finding of refgrad: half_precision/erfinv, other rule broken.
# `erfinv(a)` of float16 is of float16; autograd 1.9.1 gives float32.
# Violated (SHOULD): erfinv: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np
from autograd.scipy import special

a = np.zeros((0,), dtype=np.float16)
b = special.erfinv(a)


def program_b(a):
    return special.erfinv(a)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.zeros((0,), dtype=np.float16))
got = b.dtype
assert got == np.float16, f"the value of b has the dtype {got}, but it should be float16"
