# A finding of refgrad: forward_mode/qr_r, wrong first derivative.
# `jvp [qr_r(a)]` in entry [1, 0] is 0; tensorflow 2.21.0 gives 1.11022e-16.
# Violated (SHOULD): qr_r: forward mode gives its directional derivatives, whichever operands move.
# Found on tensorflow 2.21.0, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import numpy as np
import tensorflow as tf


def jvp(function, primals, tangents):
    with tf.autodiff.ForwardAccumulator(primals, tangents) as accumulator:
        output = function(*primals)
    return output, accumulator.jvp(output, tf.UnconnectedGradients.ZERO)


def positive_qr(x):  # LAPACK leaves the signs of R's diagonal open
    q, r = tf.linalg.qr(x)
    signs = tf.stop_gradient(tf.sign(tf.linalg.diag_part(r)))
    return q * signs[..., tf.newaxis, :], r * signs[..., tf.newaxis]


a = tf.constant(np.array([[1.0, 1.0], [2.0, 2.0], [5.0, 1.0]]), dtype=tf.float64)


def function_of_c(a):
    return positive_qr(a)[1]


tangent_of_a = tf.constant(np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]), dtype=tf.float64)
output, c = jvp(function_of_c, [a], [tangent_of_a])
got = float(c[1, 0])
assert abs(got) < 1e-19, f"the value of c at [1, 0] is {got}, but it should be 0.0"
