# A finding of refgrad: release/additions_keep_no_operands, other rule broken.
# tensorflow 2.21.0: of a chain of additions, the rule of which needs no operand, 16 arrays of a graph of 16 arrays
# are still held.
# Violated (SHOULD): A chain of additions keeps none of its intermediate values.
# Found on tensorflow 2.21.0, Python 3.11.7, Linux x86_64.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import numpy as np
import tensorflow as tf
import ctypes
import gc
import resource


def vjp(function, primals):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(primals)
        output = function(*primals)
    def pullback(seed):
        found = tape.gradient(output, primals, seed, tf.UnconnectedGradients.ZERO)
        return [tf.convert_to_tensor(each) for each in found]  # slices of a gradient are one as well
    return output, pullback


def held():
    gc.collect()
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # give back what is free
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def function(y):
    for _ in range(16):
        y = tf.add(y, y)
    return tf.reduce_sum(y, axis=None, keepdims=False)


def attempt(_=0):
    size = 524288
    x = tf.constant(np.ones(size), dtype=tf.float64)
    before = held()
    loss, pullback = vjp(function, [x])
    loss.numpy().astype(np.float32) if loss.dtype == tf.bfloat16 else loss.numpy()  # wait for it
    graph = held() - before
    return graph, held() - before


graph, got = attempt()
assert got * 4 <= graph, f"of the {graph} bytes of the graph, {got} are still held"
