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
print("gradient by the rule, cos x:", mx.round(plain, 4).tolist())
print("gradient of the mapped function, 2 x:", mx.round(mapped, 4).tolist())
