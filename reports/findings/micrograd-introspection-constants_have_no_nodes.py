# A finding of refgrad on micrograd, version 0.1.0: introspection/constants_have_no_nodes is wrong.
# No edge leads to a constant, nor to what was computed from constants alone.
# Found: the node of a leads to [x, something else], not to [x]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x = Value(1.5)
node_1 = x
c = Value(2.0)
a = x * c
node_2 = a
b = c + a
node_3 = b
nodes = {'x': node_1, 'a': node_2, 'b': node_3}
names = {id(node): name for name, node in nodes.items()}
for name, node in nodes.items():
    parents = list(node._prev)
    print(name, [names.get(id(parent), parent) for parent in parents])
