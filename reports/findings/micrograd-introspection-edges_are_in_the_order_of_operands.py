# A finding of refgrad: introspection/edges_are_in_the_order_of_operands, other rule broken.
# micrograd 0.1.0: the node of a leads to [y, x], not to [x, y].
# Violated (SHOULD): Edges come in the order of the operands.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

from micrograd.engine import Value

x = Value(1.5)
node_1 = x
y = Value(2.0)
node_2 = y
a = x * y
node_3 = a
b = y * a
node_4 = b
c = b + x
node_5 = c
d = x + b
node_6 = d
e = d * c
node_7 = e
f = a + e
node_8 = f
g = f * b
node_9 = g
h = x + g
node_10 = h
i = h * y
node_11 = i
j = y + i
node_12 = j
k = j * f
node_13 = k
l = g + k
node_14 = l
m = l * e
node_15 = m
n = d + m
node_16 = n
o = n * c
node_17 = o
p = a + o
node_18 = p
q = p * j
node_19 = q
r = k + q
node_20 = r
s = r * n
node_21 = s
t = m + s
node_22 = t
nodes = {'x': node_1, 'y': node_2, 'a': node_3, 'b': node_4, 'c': node_5, 'd': node_6, 'e': node_7, 'f': node_8, 'g': node_9, 'h': node_10, 'i': node_11, 'j': node_12, 'k': node_13, 'l': node_14, 'm': node_15, 'n': node_16, 'o': node_17, 'p': node_18, 'q': node_19, 'r': node_20, 's': node_21, 't': node_22}
names = {id(node): name for name, node in nodes.items()}
due = {'a': ['x', 'y'], 'b': ['y', 'a'], 'c': ['b', 'x'], 'd': ['x', 'b'], 'e': ['d', 'c'], 'f': ['a', 'e'], 'g': ['f', 'b'], 'h': ['x', 'g'], 'i': ['h', 'y'], 'j': ['y', 'i'], 'k': ['j', 'f'], 'l': ['g', 'k'], 'm': ['l', 'e'], 'n': ['d', 'm'], 'o': ['n', 'c'], 'p': ['a', 'o'], 'q': ['p', 'j'], 'r': ['k', 'q'], 's': ['r', 'n'], 't': ['m', 's']}
got = {name: [names.get(id(parent)) for parent in (list(node._prev))] for name, node in nodes.items() if name in due}
assert got == due, f"the nodes lead to {got}, but they should lead to {due}"
