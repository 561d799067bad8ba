# A finding of refgrad: retain_graph/carried_states_meet_the_freed_graph, other rule broken.
# At the end of the program, `backward k` is an error: the graph was freed; mygrad 2.5.0 raises none.
# Violated (MUST): A state that is carried on from step to step leads every backward into the graph of the steps
# before, which is freed.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import mygrad as mg

w = mg.tensor(-2.5)
h = mg.tensor(3.0, constant=True)
a = mg.multiply(h, w)
l = mg.square(a)
l.backward()
b = mg.multiply(a, w)
k = mg.square(b)
try:
    k.backward()
except Exception:
    pass
else:
    raise AssertionError('no error was raised, though the graph was freed')
