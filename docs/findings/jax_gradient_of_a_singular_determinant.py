"""JAX 0.10.2 (CPU): the gradient of the determinant of a singular matrix of four rows is zero where it is not.

The gradient of a determinant is the matrix of its cofactors, here 6 at the zero of the diagonal: the determinant is
6 t if t stands there. JAX finds cofactors from an LU factorization that may have a zero in the last place of U only;
with partial pivoting this one has it in the third. Up to three rows have a formula of their own, which is right.
Nothing of refgrad is imported.
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", val=True)

x = jnp.diag(jnp.array([1.0, 2.0, 0.0, 3.0]))
slope = (jnp.linalg.det(x.at[2, 2].set(0.5)) - jnp.linalg.det(x)) / 0.5

print("det(x) =", float(jnp.linalg.det(x)), "and grows by", float(slope), "for each unit of x[2, 2]")
print("gradient at x[2, 2]:", float(jax.grad(jnp.linalg.det)(x)[2, 2]))
print("any of the gradient is not zero:", bool(jnp.any(jax.grad(jnp.linalg.det)(x))))
