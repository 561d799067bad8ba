# A finding of refgrad on jax, version 0.10.2: second_order/i1 is wrong.
# i1: its gradient can be differentiated, and the second derivatives are right.
# Found: step 5, `read grad a`: the gradient of a is entry (1,): 1.0, but the truth is 0

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import math
import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax
jax.config.update("jax_enable_x64", True)

a = jnp.array(np.array([1.0, -0.0]), dtype=jnp.float64)

def program_c(a):
    b = jax.scipy.special.i1(a)

    def program_b(a):
        b = jax.scipy.special.i1(a)
        return b

    output_b, pullback_of_b = jax.vjp(program_b, *[a])
    c = pullback_of_b(jnp.array(np.array([1.0, 1.0]), dtype=jnp.float64))[0]
    return c

output_c, pullback_of_c = jax.vjp(program_c, *[a])
print(pullback_of_c(jnp.array(np.array([1.0, 1.0]), dtype=jnp.float64)))  # cotangents of a
