"""JAX 0.10.2 (CPU): erfcx is 0 between two regions in which it is right, and so is its gradient wrong.

erfcx(x) = exp(x^2) erfc(x) falls like 1 / (x sqrt(pi)) (NIST DLMF 7.12.1). The product is taken until the exponential
overflows, but the other factor is flushed to zero a little earlier. Nothing of refgrad is imported.
"""

from math import pi, sqrt

import jax
import jax.numpy as jnp
from jax.scipy.special import erfcx

jax.config.update("jax_enable_x64", val=True)


def due(x: float) -> float:
    """Return three terms of the expansion for large x, the next of which is below one in ten million."""
    return (1 - 1 / (2 * x**2) + 3 / (4 * x**4)) / (x * sqrt(pi))


for x in (26.5, 26.6, 26.7):
    slope = 2 * x * due(x) - 2 / sqrt(pi)
    print(f"erfcx({x}) = {float(erfcx(x)):.7f} for {due(x):.7f}", end=", ")
    print(f"slope {float(jax.grad(erfcx)(x)):.5f} for {slope:.5f}")
x = jnp.array(9.3, dtype=jnp.float32)
print(f"in float32, erfcx(9.3) = {float(erfcx(x)):.5f} for {due(9.3):.5f}")
