"""TensorFlow 2.21.0: `tf.vectorized_map` drops a `custom_gradient`. Nothing of refgrad is imported."""

import tensorflow as tf


@tf.custom_gradient
def square(x):
    """Return x squared, with another gradient, so that it can be seen whether it is used."""
    return x * x, lambda cotangent: cotangent * tf.cos(x)


x = tf.constant([1.5, -0.5])
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    plain, mapped, one_by_one = square(x), tf.vectorized_map(square, x), tf.map_fn(square, x)
print("gradient by the rule, cos x:", tape.gradient(plain, x).numpy().round(4).tolist())
print("gradient through map_fn:", tape.gradient(one_by_one, x).numpy().round(4).tolist())
print("gradient through vectorized_map, 2 x:", tape.gradient(mapped, x).numpy().round(4).tolist())
