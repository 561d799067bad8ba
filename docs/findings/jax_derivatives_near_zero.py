"""JAX 0.10.2 (CPU): near 0 the derivatives of sinc are wrong, and so is the second one of the Bessel function i1.

sinc(x) = 1 - (pi x)^2 / 6 + ... and I1(x) = x / 2 + x^3 / 16 + ... (NIST DLMF 10.25), so for x of 1e-7 and less the
slope of sinc is -pi^2 x / 3, its second derivative -pi^2 / 3, and that of I1 is 3 x / 8, all to more than ten digits.
Nothing of refgrad is imported.
"""

from math import pi

import jax
import jax.numpy as jnp
from jax.scipy import special

jax.config.update("jax_enable_x64", val=True)

slope, bend = jax.grad(jnp.sinc), jax.grad(jax.grad(jnp.sinc))
print(f"slope of jax.numpy.sinc at 1e-9: {float(slope(1e-9)):.4g} for {-(pi**2) * 1e-9 / 3:.4g}")
print(f"second derivative of jax.numpy.sinc at 1e-10: {float(bend(1e-10)):.4g} for {-(pi**2) / 3:.4g}")
bend = jax.grad(jax.grad(special.i1))
print(f"second derivative of jax.scipy.special.i1 at 1e-9: {float(bend(1e-9)):.4g} for {3 * 1e-9 / 8:.4g}")
