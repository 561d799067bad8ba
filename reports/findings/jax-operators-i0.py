# A finding of refgrad: operators/i0, other rule broken.
# jax 0.10.2: step 4, `read grad a`: the gradient of a is entry (0, 1): 1.0, but the truth is 0.
# Violated (MUST): i0: value and gradient are right, for any shape, attribute and seed.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array([[2.0, -0.0]], dtype=jnp.float64)


def program_b(a):
    return jax.scipy.special.i0(a)


output_b, pullback_of_b = jax.vjp(program_b, a)
print(pullback_of_b(jnp.array([[1.0, 1.0]], dtype=jnp.float64)))  # cotangents of a
