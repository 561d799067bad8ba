# A finding of refgrad: operators/log_ndtr, inaccurate.
# jax 0.10.2: step 4, `read value b`: the value of b is -0.00033698603909466544, but the truth is
# -0.00033698603909469126 (relative error 7.7e-14, 12.6 times what rounding explains).
# Violated (MUST): log_ndtr: value and gradient are right, for any shape, attribute and seed.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array(3.4, dtype=jnp.float64)
b = jax.scipy.special.log_ndtr(a)
print(np.asarray(b))  # value of b


def program_b(a):
    return jax.scipy.special.log_ndtr(a)


output_b, pullback_of_b = jax.vjp(program_b, a)
print(pullback_of_b(jnp.array(np.ones_like(np.asarray(output_b)), dtype=jnp.float64)))  # cotangents of a
