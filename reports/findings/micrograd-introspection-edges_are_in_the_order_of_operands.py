# A finding of refgrad on micrograd, version 0.1.0: introspection/edges_are_in_the_order_of_operands is wrong.
# Edges come in the order of the operands.
# Found: the node of a leads to [y, x], not to [x, y]

import numpy

numpy.set_printoptions(floatmode="unique")  # every digit

import numpy as np
from micrograd.engine import Value

x = Value(1.5)
y = Value(2.0)
a = x * y
b = y * a
c = b + x
d = x + b
e = d * c
f = a + e
g = f * b
h = x + g
i = h * y
j = y + i
k = j * f
l = g + k
m = l * e
n = d + m
o = n * c
p = a + o
q = p * j
r = k + q
s = r * n
t = m + s

nodes = {'x': x, 'y': y, 'a': a, 'b': b, 'c': c, 'd': d, 'e': e, 'f': f, 'g': g, 'h': h, 'i': i, 'j': j, 'k': k, 'l': l, 'm': m, 'n': n, 'o': o, 'p': p, 'q': q, 'r': r, 's': s, 't': t}
names = {id(node): name for name, node in nodes.items()}
for name, node in nodes.items():
    parents = list(node._prev)
    print(name, [names.get(id(parent), parent) for parent in parents])
