# A finding of refgrad: graphs/double_backward, wrong higher derivative.
# The gradient of `d/da [multiply(squared_error(logcumsumexp(a), logcumsumexp(a)), d)]` with respect to `d` at a =
# [1.0], d = 1.0 is 0; tensorflow 2.21.0 gives nan.
# Violated (MUST): Gradients of random graphs' gradients are right.
# Found on tensorflow 2.21.0, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp


def vjp(function, primals):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(primals)
        output = function(*primals)
    def pullback(seed):
        found = tape.gradient(output, primals, seed, tf.UnconnectedGradients.ZERO)
        return [tf.convert_to_tensor(each) for each in found]  # slices of a gradient are one as well
    return output, pullback


a = tf.constant(np.array([1.0]), dtype=tf.float64)
d = tf.constant(np.array(1.0), dtype=tf.float64)


def program_e(a):
    b = tf.math.cumulative_logsumexp(a, axis=0)
    c = tf.math.squared_difference(b, b)
    return tnp.multiply(c, d)


output_e, pullback_of_e = vjp(program_e, [a])


def program_f(a, d):
    b = tf.math.cumulative_logsumexp(a, axis=0)
    c = tf.math.squared_difference(b, b)
    e = tnp.multiply(c, d)

    def program_e_2(a):
        b = tf.math.cumulative_logsumexp(a, axis=0)
        c = tf.math.squared_difference(b, b)
        return tnp.multiply(c, d)
    output_e_2, pullback_of_e_2 = vjp(program_e_2, [a])
    return pullback_of_e_2(tf.constant(np.array([1.0]), dtype=tf.float64))[0]


output_f, pullback_of_f = vjp(program_f, [a, d])
gradient_of_a, gradient_of_d = pullback_of_f(tf.constant(np.array([1.0]), dtype=tf.float64))
got = float(gradient_of_d)
assert abs(got) < 1e-12, f"the gradient of d is {got}, but it should be 0.0"
