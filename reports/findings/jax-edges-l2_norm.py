# A finding of refgrad: edges/l2_norm, missing.
# jax 0.10.2: step 4, `read grad a`: the gradient of a is nan, but the truth is in [-1, 1].
# Violated (MUST): l2_norm: at its edges the gradient is an element of the subdifferential.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
a = jnp.array(-0.0, dtype=jnp.float64)


def program_b(a):
    return jnp.linalg.vector_norm(a, ord=2, axis=None, keepdims=False)


output_b, pullback_of_b = jax.vjp(program_b, a)
print(pullback_of_b(jnp.array(np.ones_like(np.asarray(output_b)), dtype=jnp.float64)))  # cotangents of a
