# A finding of refgrad: introspection/freed_graphs_can_still_be_walked, other rule broken.
# mygrad 2.5.0: the node of a leads to [], not to [x, x].
# Violated (MAY): After a backward that frees what was saved, nodes and edges are still there to look at.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import mygrad as mg

x = mg.tensor(1.5)
node_1 = x
a = mg.multiply(x, x)
node_2 = a
b = mg.add(a, x)
node_3 = b
b.backward()
nodes = {'x': node_1, 'a': node_2, 'b': node_3}
names = {id(node): name for name, node in nodes.items()}
node = nodes['a']
got = [names.get(id(parent)) for parent in ([None if v.constant else v for v in node.creator.variables] if node.creator else [])]
assert sorted(map(str, got)) == ['x', 'x'], f"the node of a leads to {got}, but it should lead to ['x', 'x']"
