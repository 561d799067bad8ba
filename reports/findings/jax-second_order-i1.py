# A finding of refgrad: second_order/i1, other rule broken.
# jax 0.10.2: step 5, `read grad a`: the gradient of a is entry (1,): 1.0, but the truth is 0.
# Violated (MUST): i1: its gradient can be differentiated, and the second derivatives are right.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array([1.0, -0.0], dtype=jnp.float64)


def program_c(a):
    b = jax.scipy.special.i1(a)

    def program_b(a):
        return jax.scipy.special.i1(a)
    output_b, pullback_of_b = jax.vjp(program_b, a)
    return pullback_of_b(jnp.array([1.0, 1.0], dtype=jnp.float64))[0]


output_c, pullback_of_c = jax.vjp(program_c, a)
print(pullback_of_c(jnp.array([1.0, 1.0], dtype=jnp.float64)))  # cotangents of a
