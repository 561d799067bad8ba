# A finding of refgrad: retain_graph/reused_products_fail_in_the_second_iteration, other rule broken.
# At the end of the program, `backward k` is an error: the graph was freed; mygrad 2.5.0 raises none.
# Violated (MUST): A result that was computed once, before a loop, fails in the second iteration's backward.
# Found on mygrad 2.5.0, Python 3.11.7, Linux x86_64.

import mygrad as mg

t = mg.tensor([[3.0, 1.0], [0.5, -1.0]], constant=True)
v = mg.tensor([1.5, -0.5])
y = mg.matmul(t, v)
a = mg.square(y)
l = mg.sum(a)
l.backward()
b = mg.negative(y)
k = mg.sum(b)
try:
    k.backward()
except Exception:
    pass
else:
    raise AssertionError('no error was raised, though the graph was freed')
