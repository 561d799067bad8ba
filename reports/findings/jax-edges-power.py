# A finding of refgrad: edges/power, missing.
# jax 0.10.2: step 5, `read grad a`: the gradient of a is nan, but the truth is 0: x ** 0 is 1 for every x, 0 ** 0
# included (IEEE 754-2019, 9.2.1), so its slope in x is 0; in y there is a jump..
# Violated (MUST): power: at its edges the gradient is an element of the subdifferential.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array(0.0, dtype=jnp.float64)
b = jnp.array(0.0, dtype=jnp.float64)


def program_c(a):
    return a ** b


output_c, pullback_of_c = jax.vjp(program_c, a)
print(pullback_of_c(jnp.array(np.ones_like(np.asarray(output_c)), dtype=jnp.float64)))  # cotangents of a
