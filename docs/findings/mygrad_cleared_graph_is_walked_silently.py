"""MyGrad 2.5.0: what is computed from a tensor whose graph was cleared has no gradient, and says nothing.

A backward clears the graph. If ``y`` is used again, a backward from there ends at y: the gradient of x is the old one,
where x is due another, or an error, as MyGrad raises it (InvalidBackprop) where ``z`` was made before the first
backward. Nothing of refgrad is imported.
"""

import mygrad as mg

x = mg.tensor(2.0)
y = x * x
z = 5.0 * y
y.backward()
try:
    z.backward()
except Exception as error:  # noqa: BLE001 (it is MyGrad's own)
    print(f"z made before y.backward(): {type(error).__name__}")

x = mg.tensor(2.0)
y = x * x
y.backward()
z = 5.0 * y
z.backward()
print(f"z made after it: no error, x.grad = {x.grad}, but dz/dx = 20.0")
