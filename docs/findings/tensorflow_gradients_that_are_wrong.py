"""TensorFlow 2.21.0 (CPU): wrong gradients and values in float64, with what is due. Nothing of refgrad is imported."""

import tensorflow as tf
import tensorflow.experimental.numpy as tnp


def gradient(function, *numbers, order=1):
    """Return the gradient by the first number; of higher order, by that again."""
    first, *others = (tf.constant(number, dtype=tf.float64) for number in numbers)
    if order == 0:
        return function(first, *others).numpy().tolist()

    def differentiated(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, *others)
        return tape.gradient(y, x)

    if order == 1:
        return differentiated(first).numpy().tolist()
    with tf.GradientTape() as outer:
        outer.watch(first)
        slope = differentiated(first)
    return outer.gradient(slope, first).numpy().tolist()


print("tnp.logaddexp(x, y), slope in x at (1, 1):", gradient(tnp.logaddexp, 1.0, 1.0), "due 0.5")
print("tnp.logaddexp2(x, y), slope in x at (1, 1):", gradient(tnp.logaddexp2, 1.0, 1.0), "due 0.5")
print("tf.math.xlogy(x, y), slope in x at (0, 2):", gradient(tf.math.xlogy, 0.0, 2.0), "due 0.6931471805599453")
print("tf.math.xlog1py(x, y), slope in x at (0, 1):", gradient(tf.math.xlog1py, 0.0, 1.0), "due 0.6931471805599453")
print("tf.math.bessel_i1, slope at 0:", gradient(tf.math.bessel_i1, 0.0), "due 0.5")
print("tf.math.cumprod, gradient at [0, 3]:", gradient(tf.math.cumprod, [0.0, 3.0]), "due [4.0, 0.0]")
print("tnp.vander(x, 2), gradient at [0]:", gradient(lambda x: tnp.vander(x, 2), [0.0]), "due [1.0]")
print("tnp.sinc, slope at 0:", gradient(tnp.sinc, 0.0), "due 0.0")
print("tf.nn.leaky_relu(x, 0.01), slope at -1:", gradient(lambda x: tf.nn.leaky_relu(x, 0.01), -1.0), "due 0.01")
print("x ** 1, second derivative at 0:", gradient(lambda x: x**1, 0.0, order=2), "due 0.0")
print("tf.math.erf(inf):", gradient(tf.math.erf, float("inf"), order=0), "due 1.0")
print("tf.math.erfinv(1e-160):", gradient(tf.math.erfinv, 1e-160, order=0), "due 8.86e-161")
