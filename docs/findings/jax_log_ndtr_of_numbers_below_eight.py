"""JAX 0.10.2 (CPU): log_ndtr loses up to all but two digits for arguments from 5 to 8, in float64.

The logarithm of a probability p close to 1 is that of 1 - q, where q is the probability of the other side: log1p(-q)
keeps its digits, log(p) does not. JAX changes over at 8. Nothing of refgrad is imported.
"""

from math import erfc, log1p, sqrt

import jax
from jax.scipy.special import log_ndtr

jax.config.update("jax_enable_x64", val=True)

for x in (2.0, 5.0, 6.0, 7.0, 7.9, 8.1):
    got, due = float(log_ndtr(x)), log1p(-erfc(x / sqrt(2)) / 2)
    print(f"log_ndtr({x}) = {got:.12e} for {due:.12e}: off by {abs(got / due - 1):.0e}")
