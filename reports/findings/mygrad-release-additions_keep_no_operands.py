# A finding of refgrad on mygrad, version 2.5.0: release/additions_keep_no_operands is wrong.
# A chain of additions keeps none of its intermediate values.
# Found: of a chain of additions, the rule of which needs no operand, 16 arrays of a graph of 16 arrays are still held

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

import gc
import tracemalloc


def held():
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def function(y):
    for _ in range(16):
        y = mg.add(y, y)
    return mg.sum(y, axis=None, keepdims=False)


def attempt(_=0):
    size = 131072
    x = mg.tensor(np.ones(size), constant=not True)
    before = held()
    loss = function(x)
    np.asarray(loss)  # wait for it
    graph = held() - before
    return graph, held() - before


tracemalloc.start()


print(attempt())
