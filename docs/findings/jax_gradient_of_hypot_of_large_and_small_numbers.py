"""JAX 0.10.2 (CPU): the value of hypot is right for large and small numbers, its gradient is not.

The slope of the length of (x, y) in x is x over that length, the same for all multiples of a vector. For numbers whose
squares overflow (from some 1e154 upward, in float32 from 1e19) JAX answers half as much again, silently, and for those
whose squares are too small an infinite slope. Nothing of refgrad is imported.
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", val=True)

for scale in (1.0, 1e200, 1e-200):
    x = jnp.array(scale)
    print(f"hypot({scale:g}, {scale:g}) / {scale:g} = {float(jnp.hypot(x, x) / scale):.6f}", end=", ")
    print(f"slope in x: {float(jax.grad(jnp.hypot)(x, x)):.6f}")

x = jnp.array(1e20, dtype=jnp.float32)
print(f"slope at (1e20, 1e20) in float32: {float(jax.grad(jnp.hypot)(x, x)):.6f}")
