"""JAX 0.10.2 (CPU): derivatives of the modified Bessel functions at 0 are wrong, and each by another rule.

I0(x) = 1 + x^2 / 4 + ... and I1(x) = x / 2 + x^3 / 16 + ... (NIST DLMF 10.25), so at 0 the slope of I0 is 0, its second
derivative 1 / 2, and the second derivative of I1 is 0. Nothing of refgrad is imported.
"""

import jax
import jax.numpy as jnp
from jax.scipy import special

jax.config.update("jax_enable_x64", val=True)

for name, function in (("jax.numpy.i0", jnp.i0), ("jax.scipy.special.i0", special.i0)):
    slope, bend = jax.grad(function), jax.grad(jax.grad(function))
    print(f"{name} at 0: slope {float(slope(0.0))} for 0, second derivative {float(bend(0.0))} for 0.5")

bend = jax.grad(jax.grad(special.i1))
print(f"jax.scipy.special.i1 at 0: second derivative {float(bend(0.0))} for 0")
