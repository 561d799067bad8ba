# A finding of refgrad: operators/mvlgamma, inaccurate.
# jax 0.10.2: step 4, `read value b`: the value of b is -0.11259222030639648, but the truth is -0.11259176269155008
# (relative error 4.1e-06, 4.93 times what rounding explains).
# Violated (MUST): mvlgamma: value and gradient are right, for any shape, attribute and seed.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array(1.600000023841858, dtype=jnp.float32)
b = jax.scipy.special.multigammaln(a, 1)
print(np.asarray(b), np.asarray(np.asarray(b)).dtype)  # value of b


def program_b(a):
    return jax.scipy.special.multigammaln(a, 1)


output_b, pullback_of_b = jax.vjp(program_b, a)
print(pullback_of_b(jnp.array(np.ones_like(np.asarray(output_b)), dtype=jnp.float32)))  # cotangents of a
