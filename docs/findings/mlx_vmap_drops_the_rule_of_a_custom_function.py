"""MLX 0.32.4 (CPU): `mx.vmap` drops the vjp of a `custom_function`. Nothing of refgrad is imported."""

import mlx.core as mx

mx.set_default_device(mx.cpu)


@mx.custom_function
def square(x):
    """Return x squared."""
    return x * x


@square.vjp
def with_slope_of_sin(primals, cotangent, _output):
    """Return another gradient than that of a square, so that it can be seen which of the two is used."""
    x = primals[0] if isinstance(primals, (tuple, list)) else primals
    return cotangent * mx.cos(x)


x = mx.array([1.5, -0.5])
plain = mx.grad(lambda x: square(x).sum())(x)
mapped = mx.grad(lambda x: mx.vmap(square)(x).sum())(x)
print("the rule:", mx.cos(x))
print("gradient:", plain)
print("gradient, if the function is mapped:", mapped, "which is 2 x")
assert mx.allclose(plain, mx.cos(x))
assert mx.allclose(mapped, mx.cos(x)), "vmap dropped the rule"
