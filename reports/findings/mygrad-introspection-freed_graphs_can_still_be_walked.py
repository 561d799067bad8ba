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
node_1 = x
a = mg.multiply(x, x)
node_2 = a
b = mg.add(a, x)
node_3 = b
b.backward(None)
nodes = {'x': node_1, 'a': node_2, 'b': node_3}
names = {id(node): name for name, node in nodes.items()}
for name, node in nodes.items():
    parents = [None if v.constant else v for v in node.creator.variables] if node.creator else []
    print(name, [names.get(id(parent), parent) for parent in parents])

print("no error was raised")
