# A finding of refgrad: edges/hypot, missing.
# The gradient of `hypot(a, a)` with respect to `a` at a = 0.0 is between -2 and 2; tensorflow 2.21.0 gives nan.
# Violated (MUST): hypot: at its edges the gradient is an element of the subdifferential.
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


a = tf.constant(np.array(0.0), dtype=tf.float64)


def program_b(a):
    return tnp.hypot(a, a)


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(tf.constant(np.array(1.0), dtype=tf.float64))
got = float(gradient_of_a)
assert -2.0 <= got <= 2.0, f"the gradient of a is {got}, but it should be between -2.0 and 2.0"
