# A finding of refgrad on jax, version 0.10.2: operators/log_ndtr is inaccurate.
# log_ndtr: value and gradient are right, for any shape, attribute and seed.
# Found: step 4, `read value b`: the value of b is -0.00033698603909466544, but the truth is -0.00033698603909469126
# (relative error 7.7e-14, 12.6 times what rounding explains)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import math
import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax
jax.config.update("jax_enable_x64", True)

a = jnp.array(np.array(3.4), dtype=jnp.float64)
b = jax.scipy.special.log_ndtr(a)
print(np.asarray(b))  # value of b

def program_b(a):
    b = jax.scipy.special.log_ndtr(a)
    return b

output_b, pullback_of_b = jax.vjp(program_b, *[a])
print(pullback_of_b(jnp.array(np.ones_like(np.asarray(output_b)), dtype=jnp.float64)))  # cotangents of a
