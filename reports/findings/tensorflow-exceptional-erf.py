# A finding of refgrad: exceptional/erf, wrong value.
# `erf(x1)` in entry [0, 1] is 1; tensorflow 2.21.0 gives nan.
# Violated (MUST): erf: NaN and infinities reach what depends on them and nothing else; subnormals, the largest number
# and -0.0 are numbers like others.
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


x1 = tf.constant(np.array([[0.068, 1.7976931348623157e+308, 1.703], [-1.18, -0.14, 0.5]]), dtype=tf.float64)
a1 = tf.math.erf(x1)


def program_a1(x1):
    return tf.math.erf(x1)


output_a1, pullback_of_a1 = vjp(program_a1, [x1])
[gradient_of_x1] = pullback_of_a1(tf.constant(np.array([[1.535, 0.71, -1.497], [2.459, 2.897, 1.862]]), dtype=tf.float64))
got = float(a1[0, 1])
assert math.isclose(got, 1.0, rel_tol=1e-06), f"the value of a1 at [0, 1] is {got}, but it should be 1.0"
