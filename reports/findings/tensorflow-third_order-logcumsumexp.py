# A finding of refgrad: third_order/logcumsumexp, wrong higher derivative.
# The gradient of `d/da [d/da [multiply(logcumsumexp(a), logcumsumexp(a))]]` with respect to `a` at a = [1.0] in entry
# [0] is 0; tensorflow 2.21.0 gives nan.
# Violated (SHOULD): logcumsumexp: its second derivatives can be differentiated, and the third ones are right.
# Found on tensorflow 2.21.0, Python 3.11.7, Linux x86_64.

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


a = tf.constant(np.array([1.0]), dtype=tf.float64)


def program_c(a):
    b = tf.math.cumulative_logsumexp(a, axis=0)
    return b * b


output_c, pullback_of_c = vjp(program_c, [a])


def program_d(a):
    b = tf.math.cumulative_logsumexp(a, axis=0)
    c = b * b

    def program_c_2(a):
        b = tf.math.cumulative_logsumexp(a, axis=0)
        return b * b
    output_c_2, pullback_of_c_2 = vjp(program_c_2, [a])
    return pullback_of_c_2(tf.constant(np.array([1.0]), dtype=tf.float64))[0]


output_d, pullback_of_d = vjp(program_d, [a])


def program_e(a):
    b = tf.math.cumulative_logsumexp(a, axis=0)
    c = b * b

    def program_c_3(a):
        b = tf.math.cumulative_logsumexp(a, axis=0)
        return b * b
    output_c_3, pullback_of_c_3 = vjp(program_c_3, [a])
    d = pullback_of_c_3(tf.constant(np.array([1.0]), dtype=tf.float64))[0]

    def program_d_2(a):
        b = tf.math.cumulative_logsumexp(a, axis=0)
        c = b * b

        def program_c_4(a):
            b = tf.math.cumulative_logsumexp(a, axis=0)
            return b * b
        output_c_4, pullback_of_c_4 = vjp(program_c_4, [a])
        return pullback_of_c_4(tf.constant(np.array([1.0]), dtype=tf.float64))[0]
    output_d_2, pullback_of_d_2 = vjp(program_d_2, [a])
    return pullback_of_d_2(tf.constant(np.array([1.0]), dtype=tf.float64))[0]


output_e, pullback_of_e = vjp(program_e, [a])
[gradient_of_a] = pullback_of_e(tf.constant(np.array([1.0]), dtype=tf.float64))
got = float(gradient_of_a[0])
assert abs(got) < 1e-12, f"the gradient of a at [0] is {got}, but it should be 0.0"
