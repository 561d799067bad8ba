# A finding of refgrad: operators/lgamma, inaccurate.
# jax 0.10.2: step 4, `read value b`: the value of b is -0.00419552908878984, but the truth is -0.0041955290887916687
# (relative error 4.4e-13, 5.73 times what rounding explains).
# Violated (MUST): lgamma: value and gradient are right, for any shape, attribute and seed.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array(1.99, dtype=jnp.float64)
b = jax.scipy.special.gammaln(a)
print(np.asarray(b))  # value of b


def program_b(a):
    return jax.scipy.special.gammaln(a)


output_b, pullback_of_b = jax.vjp(program_b, a)
print(pullback_of_b(jnp.array(np.ones_like(np.asarray(output_b)), dtype=jnp.float64)))  # cotangents of a
