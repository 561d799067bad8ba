# A finding of refgrad on mygrad, version 2.5.0: introspection/freed_graphs_can_still_be_walked is wrong.
# After a backward that frees what was saved, nodes and edges are still there to look at.
# Found: the node of a leads to [], not to [x, x]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import math
import numpy as np
import mygrad as mg
from mygrad.nnet import activations
from mygrad.nnet.layers import batchnorm

x = mg.tensor(np.array(1.5), constant=not True)
a = x * x
b = mg.add(a, x)
b.backward(None)

nodes = {'x': x, 'a': a, 'b': b}
names = {id(node): name for name, node in nodes.items()}
for name, node in nodes.items():
    parents = [None if v.constant else v for v in node.creator.variables] if node.creator else []
    print(name, [names.get(id(parent), parent) for parent in parents])

print("no error was raised")
