# A finding of refgrad: edges/xlogy, missing.
# jax 0.10.2: step 5, `read grad b`: the gradient of b is nan, but the truth is 0: 0 * log(y) is 0 for every y > 0, so
# its slope in y is 0, though 0 / 0 is not a number; in x there is no slope..
# Violated (MUST): xlogy: at its edges the gradient is an element of the subdifferential.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array(0.0, dtype=jnp.float64)
b = jnp.array(0.0, dtype=jnp.float64)


def program_c(b):
    return jax.scipy.special.xlogy(a, b)


output_c, pullback_of_c = jax.vjp(program_c, b)
print(pullback_of_c(jnp.array(np.ones_like(np.asarray(output_c)), dtype=jnp.float64)))  # cotangents of b
