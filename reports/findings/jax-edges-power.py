# A finding of refgrad on jax, version 0.10.2: edges/power is missing.
# power: at its edges the gradient is an element of the subdifferential.
# Found: step 5, `read grad a`: the gradient of a is nan, but the truth is 0: x ** 0 is 1 for every x, 0 ** 0 included
# (IEEE 754-2019, 9.2.1), so its slope in x is 0; in y there is a jump.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import math
import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax
jax.config.update("jax_enable_x64", True)

a = jnp.array(np.array(0.0), dtype=jnp.float64)
b = jnp.array(np.array(0.0), dtype=jnp.float64)

def program_c(a):
    c = a ** b
    return c

output_c, pullback_of_c = jax.vjp(program_c, *[a])
print(pullback_of_c(jnp.array(np.ones_like(np.asarray(output_c)), dtype=jnp.float64)))  # cotangents of a
