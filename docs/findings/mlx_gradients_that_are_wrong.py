"""MLX 0.32.4 (CPU): gradients and values that are wrong, with what is due. Nothing of refgrad is imported."""

import subprocess
import sys

import mlx.core as mx
from mlx import nn

mx.set_default_device(mx.cpu)


def float64(number):
    """Return a number of float64."""
    return mx.array(number, dtype=mx.float64)


def product(a, b):
    """Return (a b) squared."""
    c = a * b
    return c * c


def pulled(function, primals, *, forward_first):
    """Return the gradients of a function, which is called once more, in vain, if so told."""
    if forward_first:
        function(*primals)
    return mx.vjp(lambda *x: [function(*x)], primals, [mx.array(1.0)])[1]


def third(forward_first):
    """Return the third derivatives, by a, b and each, of the product at (1, 2)."""

    def first(a, b):
        return pulled(lambda a: product(a, b), [a], forward_first=forward_first)[0]

    def second(a, b):
        return pulled(lambda b: first(a, b), [b], forward_first=forward_first)[0]

    return [each.item() for each in pulled(second, [mx.array(1.0), mx.array(2.0)], forward_first=forward_first)]


def thrice(function, x):
    """Return the third derivative."""
    return mx.grad(mx.grad(mx.grad(function)))(mx.array(x)).item()


print("third derivatives of (a b)^2 at (1, 2), forward computed in vain:", third(True), "due [8.0, 4.0]")
print("third derivatives of (a b)^2 at (1, 2):", third(False), "due [8.0, 4.0]")
print(f"2 ** x, third derivative at 1: {thrice(lambda x: mx.power(mx.array(2.0), x), 1.0):.6f} due 0.666049")
print("nn.elu, slope at 1000:", mx.grad(nn.elu)(mx.array(1000.0)).item(), "due 1.0")
print("nn.selu, slope at 1000:", mx.grad(nn.selu)(mx.array(1000.0)).item(), "due 1.0507")
print("nn.celu, slope at 0:", mx.grad(nn.celu)(mx.array(0.0)).item(), "due 1.0")
print("tanh, second derivative at 1000:", mx.grad(mx.grad(mx.tanh))(mx.array(1000.0)).item(), "due 0.0")
print(f"exp(1) in float64: {mx.exp(float64(1.0)).item():.15f} due 2.718281828459045")
print(f"sin(pi) in float64: {mx.sin(float64(3.141592653589793)).item():.3e} due 1.225e-16")
print(f"log10, slope at 1 in float64: {mx.grad(mx.log10)(float64(1.0)).item():.15f} due 0.434294481903252")

CRASH = (
    "import mlx.core as mx; mx.set_default_device(mx.cpu); "
    "print(mx.grad(lambda w: mx.take(w, mx.array([0]), axis=0).sum())(mx.zeros((2, 0))))"
)
done = subprocess.run([sys.executable, "-c", CRASH], capture_output=True, check=False)
print("gradient of a take of rows without entries, exit status:", done.returncode, "due 0")
