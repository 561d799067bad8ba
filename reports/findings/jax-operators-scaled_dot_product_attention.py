# A finding of refgrad: operators/scaled_dot_product_attention, other rule broken.
# jax 0.10.2: step 5, `read grad a`: the gradient of a is entry (0, 0): -7.3756984908524e-08, but the truth is 0
# (relative error 9.1e+30, 5.76e+06 times what rounding explains).
# Violated (MUST): scaled_dot_product_attention: value and gradient are right, for any shape, attribute and seed.
# Found on jax 0.10.2, Python 3.11.7.

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


def attention(query, key, value, **more):  # JAX has the heads behind the places, and at most one more axis
    if query.ndim > 4 or value.shape[-1] != key.shape[-1]:
        raise NotImplementedError("two axes of heads, or values of another length than keys")
    if query.ndim == 2:
        return jax.nn.dot_product_attention(*(a[:, None] for a in (query, key, value)), **more)[:, 0]
    swapped = (jnp.swapaxes(a, -2, -3) for a in (query, key, value))
    return jnp.swapaxes(jax.nn.dot_product_attention(*swapped, **more), -2, -3)


a = jnp.array([[1.0, 1.0]], dtype=jnp.float64)
b = jnp.array([[1.0, 1.0], [1.0, 2.0]], dtype=jnp.float64)


def program_c(a):
    return attention(a, b, b, is_causal=False)


output_c, pullback_of_c = jax.vjp(program_c, a)
print(pullback_of_c(jnp.array([[1.0, 1.0]], dtype=jnp.float64)))  # cotangents of a
