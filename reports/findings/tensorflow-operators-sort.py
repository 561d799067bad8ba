# A finding of refgrad: operators/sort, wrong error.
# `sort(a)` has a gradient at a = []; tensorflow 2.21.0 raises InvalidArgumentError: {{function_node
# __wrapped__Range_device_/job:localhost/replica:0/task:0/device:CPU:0}} Requires delta != 0: 0 [Op:Range] name: .
# Violated (MUST): sort: value and gradient are right, for any shape, attribute and seed.
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


a = tf.constant(np.zeros((0,)), dtype=tf.float64)


def program_b(a):
    return tf.sort(a, axis=-1, direction='ASCENDING')


output_b, pullback_of_b = vjp(program_b, [a])
[gradient_of_a] = pullback_of_b(tf.constant(np.zeros((0,)), dtype=tf.float64))
