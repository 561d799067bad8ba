# A finding of refgrad on mygrad, version 2.5.0: retain_graph/carried_states_meet_the_freed_graph is wrong.
# A state that is carried on from step to step leads every backward into the graph of the steps before, which is
# freed.
# Found: step 8, `backward k`: carried on silently where an error is due (freed-graph)

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

w = mg.tensor(np.array(-2.5), constant=not True)
h = np.array(3.0) if np.array(3.0).dtype == bool else mg.tensor(np.array(3.0), constant=True)
a = mg.multiply(h, w)
l = mg.square(a)
l.backward(None)
b = mg.multiply(a, w)
k = mg.square(b)
k.backward(None)

print("no error was raised")
