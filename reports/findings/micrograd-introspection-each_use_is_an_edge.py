# A finding of refgrad on micrograd, version 0.1.0: introspection/each_use_is_an_edge is wrong.
# An operand that is used twice is led to twice.
# Found: the node of a leads to [x], not to [x, x]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x = Value(1.5)
node_1 = x
a = x * x
node_2 = a
b = a + a
node_3 = b
nodes = {'x': node_1, 'a': node_2, 'b': node_3}
names = {id(node): name for name, node in nodes.items()}
for name, node in nodes.items():
    parents = list(node._prev)
    print(name, [names.get(id(parent), parent) for parent in parents])
