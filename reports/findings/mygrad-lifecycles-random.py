# A finding of refgrad: lifecycles/random, other rule broken.
# At the end of the program, `backward b seed float64[2, 2] {0x1p+0 0x1p+0 0x1p+0 0x1p+0}` is an error: the graph was
# freed; mygrad 2.5.0 raises none.
# Violated (MUST): Whatever is built, freed, detached, overwritten, hooked and switched in whatever order, every step
# shows what it must, and fails where it must.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import numpy as np
import mygrad as mg

a = mg.tensor([[1.0, 1.0], [1.0, 1.0]])
b = mg.tensor([[1.0, 1.0], [1.0, 1.0]], constant=True)
c = mg.add(a, a)
b[...] = c
c.backward(np.array([[1.0, 1.0], [1.0, 1.0]]))
try:
    b.backward(np.array([[1.0, 1.0], [1.0, 1.0]]))
except Exception:
    pass
else:
    raise AssertionError("no error was raised, though the graph was freed")
