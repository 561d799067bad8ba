# A finding of refgrad: operators/erfinv, wrong value.
# `erfinv(a)` at a = -1e-160 is -8.86227e-161; tensorflow 2.21.0 gives 0.
# Violated (MUST): erfinv: value and gradient are right, for any shape, attribute and seed.
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


a = tf.constant(np.array(-1e-160), dtype=tf.float64)
b = tf.math.erfinv(a)


def program_b(a):
    return tf.math.erfinv(a)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(tf.constant(np.array(1.0), dtype=tf.float64))
got = float(b)
assert math.isclose(got, -8.86226925452758e-161, rel_tol=0.001), f"the value of b is {got}, but it should be -8.86226925452758e-161"
