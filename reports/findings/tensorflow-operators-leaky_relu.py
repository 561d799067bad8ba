# A finding of refgrad: operators/leaky_relu, inaccurate.
# The gradient of `leaky_relu(a)` with respect to `a` at a = -1.0 is 0.01; tensorflow 2.21.0 gives
# 0.009999999776482582.
# Violated (SHOULD): leaky_relu: value and gradient are right, for any shape, attribute and seed.
# Found on tensorflow 2.21.0, Python 3.11.7, Linux x86_64.

import math
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import numpy as np
import tensorflow as tf


def vjp(function, primals):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(primals)
        output = function(*primals)
    def pullback(seed):
        found = tape.gradient(output, primals, seed, tf.UnconnectedGradients.ZERO)
        return [tf.convert_to_tensor(each) for each in found]  # slices of a gradient are one as well
    return output, pullback


a = tf.constant(np.array(-1.0), dtype=tf.float64)


def program_b(a):
    return tf.nn.leaky_relu(a, alpha=0.01)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(tf.constant(np.array(1.0), dtype=tf.float64))
got = float(gradient_of_a)
assert math.isclose(got, 0.01, rel_tol=1e-09), f"the gradient of a is {got}, but it should be 0.01"
