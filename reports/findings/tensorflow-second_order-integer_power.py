# A finding of refgrad: second_order/integer_power, wrong higher derivative.
# The gradient of `d/da [integer_power(a, n=1)]` with respect to `a` at a = -5e-324 is 0; tensorflow 2.21.0 gives nan.
# Violated (MUST): integer_power: its gradient can be differentiated, and the second derivatives are right.
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


a = tf.constant(np.array(-5e-324), dtype=tf.float64)


def program_b(a):
    return a ** 1


output_b, pullback_of_b = vjp(program_b, [a])


def program_c(a):
    b = a ** 1

    def program_b_2(a):
        return a ** 1
    output_b_2, pullback_of_b_2 = vjp(program_b_2, [a])
    return pullback_of_b_2(tf.constant(np.array(1.0), dtype=tf.float64))[0]


output_c, pullback_of_c = vjp(program_c, [a])
[gradient_of_a] = pullback_of_c(tf.constant(np.array(1.0), dtype=tf.float64))
got = float(gradient_of_a)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
