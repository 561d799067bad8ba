# A finding of refgrad on jax, version 0.10.2: edges/std is missing.
# std: at its edges the gradient is an element of the subdifferential.
# Found: step 4, `read grad a`: the gradient of a is nan, but the truth is in [-2, 2]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import math
import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax
jax.config.update("jax_enable_x64", True)

a = jnp.array(np.array(1.0), dtype=jnp.float64)

def program_b(a):
    b = jnp.nanstd(a, axis=None, ddof=0, keepdims=False)
    return b

output_b, pullback_of_b = jax.vjp(program_b, *[a])
print(pullback_of_b(jnp.array(np.ones_like(np.asarray(output_b)), dtype=jnp.float64)))  # cotangents of a
