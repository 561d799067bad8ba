# A finding of refgrad: half_precision/digamma, other rule broken.
# `digamma(a)` of float16 is of float16; autograd 1.9.1 gives float64.
# Violated (SHOULD): digamma: in float16 and bfloat16, as far as it is offered in them, value and gradient are right.
# Found on autograd 1.9.1, Python 3.11.7, Linux x86_64.

import autograd
import autograd.numpy as np
from autograd.scipy import special

a = np.array(1.0, dtype=np.float16)
b = special.digamma(a)


def program_b(a):
    return special.digamma(a)


pullback_of_b, output_b = autograd.make_vjp(program_b, (0,))(a)
[gradient_of_a] = pullback_of_b(np.array(1.0, dtype=np.float16))
got = b.dtype
assert got == np.float16, f"the value of b has the dtype {got}, but it should be float16"
