# A finding of refgrad: introspection/each_use_is_an_edge, other rule broken.
# micrograd 0.1.0: the node of a leads to [x], not to [x, x].
# Violated (SHOULD): An operand that is used twice is led to twice.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

from micrograd.engine import Value

x = Value(1.5)
node_1 = x
a = x * x
node_2 = a
b = a + a
node_3 = b
nodes = {'x': node_1, 'a': node_2, 'b': node_3}
names = {id(node): name for name, node in nodes.items()}
node = nodes['a']
got = [names.get(id(parent)) for parent in (list(node._prev))]
assert sorted(map(str, got)) == ['x', 'x'], f"the node of a leads to {got}, but it should lead to ['x', 'x']"
