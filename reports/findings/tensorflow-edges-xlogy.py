# A finding of refgrad: edges/xlogy, wrong first derivative.
# The gradient of `xlogy(a, b)` with respect to `a` at a = -0.0, b = 2.0 is 0.693147; tensorflow 2.21.0 gives 0.
# Violated (MUST): xlogy: at its edges the gradient is an element of the subdifferential.
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


a = tf.constant(np.array(-0.0), dtype=tf.float64)
b = tf.constant(np.array(2.0), dtype=tf.float64)


def program_c(a):
    return tf.math.xlogy(a, b)


output_c, pullback_of_c = vjp(program_c, [a])
[gradient_of_a] = pullback_of_c(tf.constant(np.array(1.0), dtype=tf.float64))
got = float(gradient_of_a)
assert math.isclose(got, 0.6931471805599453, rel_tol=0.001), f"the gradient of a is {got}, but it should be 0.6931471805599453"
