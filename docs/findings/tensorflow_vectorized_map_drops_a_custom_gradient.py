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
print("the rule:", tf.cos(x).numpy())
print("gradient:", tape.gradient(plain, x).numpy())
print("gradient through map_fn:", tape.gradient(one_by_one, x).numpy())
print("gradient through vectorized_map:", tape.gradient(mapped, x).numpy(), "which is 2 x")
assert tape.gradient(mapped, x).numpy().tolist() == tf.cos(x).numpy().tolist(), "vectorized_map dropped the gradient"
