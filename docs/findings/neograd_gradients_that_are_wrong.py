"""neograd 0.0.4: gradients that are wrong, with what is due. Nothing of refgrad is imported."""

import neograd as ng

x = ng.tensor(3.0, requires_grad=True)
y = x * 2.0
y.backward(retain_graph=True)
y.backward(retain_graph=True)
print("2 x, two backward calls on one graph, x.grad:", float(x.grad), "due 4.0")
x = ng.tensor(3.0, requires_grad=True)
try:
    (x * x).backward()
except KeyError as error:
    print("x * x, backward: KeyError", error)
x = ng.tensor(3.0, requires_grad=True)
try:
    x.backward()
except AttributeError as error:
    print("a leaf, backward:", error)
