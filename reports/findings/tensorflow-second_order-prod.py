# A finding of refgrad: second_order/prod, wrong higher derivative.
# The gradient of `d/da [prod(a)]` with respect to `a` at a = [0.0, 1.0] in entry [0] is 1; tensorflow 2.21.0 gives 0.
# Violated (MUST): prod: its gradient can be differentiated, and the second derivatives are right.
# Found on tensorflow 2.21.0, Python 3.11.7, Linux x86_64.

import math
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


a = tf.constant(np.array([0.0, 1.0]), dtype=tf.float64)


def program_b(a):
    return tnp.prod(a)


output_b, pullback_of_b = vjp(program_b, [a])


def program_c(a):
    b = tnp.prod(a)

    def program_b_2(a):
        return tnp.prod(a)
    output_b_2, pullback_of_b_2 = vjp(program_b_2, [a])
    return pullback_of_b_2(tf.constant(np.array(1.0), dtype=tf.float64))[0]


output_c, pullback_of_c = vjp(program_c, [a])
[gradient_of_a] = pullback_of_c(tf.constant(np.array([1.0, 1.0]), dtype=tf.float64))
got = float(gradient_of_a[0])
assert math.isclose(got, 1.0, rel_tol=0.001), f"the gradient of a at [0] is {got}, but it should be 1.0"
