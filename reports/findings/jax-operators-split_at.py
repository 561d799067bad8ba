# A finding of refgrad on jax, version 0.10.2: operators/split_at is unexpected-error.
# split_at: value and gradient are right, for any shape, attribute and seed.
# Found: step 2, `b = split_at a axis=0 part=0 points=(0, 0, 2)`: raised ValueError: Sizes passed to split must be
# nonnegative, got [np.int64(0), np.int64(0), np.int64(2), np.int64(-1)]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import math
import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax import lax
jax.config.update("jax_enable_x64", True)

a = jnp.array(np.array([1.0]), dtype=jnp.float64)

def program_b(a):
    b = jnp.split(a, list((0, 0, 2)), 0)[0]
    return b

output_b, pullback_of_b = jax.vjp(program_b, *[a])
print(pullback_of_b(jnp.array(np.zeros((0,)), dtype=jnp.float64)))  # cotangents of a
