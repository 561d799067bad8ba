# A finding of refgrad: second_order/conv2d, missing.
# There is a gradient of `d/da [conv2d(a, b, c)]` with respect to `b`; tensorflow 2.21.0 gives none, but raises
# AttributeError: 'NoneType' object has no attribute 'decode'.
# Violated (MUST): conv2d: its gradient can be differentiated, and the second derivatives are right.
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


def batched(function, x, axes):  # a batch is no choice in windows of TensorFlow, and channels come last
    many = len(x.shape) == axes + 2
    x = x if many else x[tf.newaxis]
    order = [0, *range(2, axes + 2), 1]
    found = function(tf.transpose(x, order))
    found = tf.transpose(found, [0, axes + 1, *range(1, axes + 1)])
    return found if many else found[0]


def convolution(x, weight, bias, strides, padding, dilation):
    axes = len(strides)
    if x.shape[-axes - 1] != weight.shape[1]:
        raise NotImplementedError("groups of channels have no gradient on a CPU")
    order = [*range(2, axes + 2), 1, 0]
    pads = [[0, 0], *[[p, p] for p in padding], [0, 0]]
    def function(x):
        return tf.nn.convolution(tf.pad(x, pads), tf.transpose(weight, order), strides, "VALID", dilations=dilation) + bias
    return batched(function, x, axes)


a = tf.constant(np.array([[[1.0]]]), dtype=tf.float64)
b = tf.constant(np.array([[[[1.0]]]]), dtype=tf.float64)
c = tf.constant(np.array([1.0]), dtype=tf.float64)


def program_d(a):
    return convolution(a, b, c, (1, 1), (0, 0), 1)


output_d, pullback_of_d = vjp(program_d, [a])


def program_e(a, b):
    d = convolution(a, b, c, (1, 1), (0, 0), 1)

    def program_d_2(a):
        return convolution(a, b, c, (1, 1), (0, 0), 1)
    output_d_2, pullback_of_d_2 = vjp(program_d_2, [a])
    return pullback_of_d_2(tf.constant(np.array([[[1.0]]]), dtype=tf.float64))[0]


output_e, pullback_of_e = vjp(program_e, [a, b])
gradient_of_a, gradient_of_b = pullback_of_e(tf.constant(np.array([[[1.0]]]), dtype=tf.float64))
