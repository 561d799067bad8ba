# A finding of refgrad: operators/split_at, wrong error.
# jax 0.10.2: step 2, `b = split_at a axis=0 part=0 points=(0, 0, 2)`: raised ValueError: Sizes passed to split must
# be nonnegative, got [np.int64(0), np.int64(0), np.int64(2), np.int64(-1)].
# Violated (MUST): split_at: value and gradient are right, for any shape, attribute and seed.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array([1.0], dtype=jnp.float64)


def program_b(a):
    return jnp.split(a, [0, 0, 2], 0)[0]


output_b, pullback_of_b = jax.vjp(program_b, a)
print(pullback_of_b(jnp.array(np.zeros((0,)), dtype=jnp.float64)))  # cotangents of a
