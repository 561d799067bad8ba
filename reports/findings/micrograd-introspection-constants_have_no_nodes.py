# A finding of refgrad: introspection/constants_have_no_nodes, other rule broken.
# micrograd 0.1.0: the node of a leads to [x, something else], not to [x].
# Violated (SHOULD): No edge leads to a constant, nor to what was computed from constants alone.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

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
node = nodes['a']
got = [names.get(id(parent)) for parent in (list(node._prev))]
assert sorted(map(str, got)) == ['x'], f"the node of a leads to {got}, but it should lead to ['x']"
