# A finding of refgrad: graphs/several_backwards, wrong first derivative.
# At the end of the program, the gradient of `a`, added up over 2 backwards, is 0; micrograd 0.1.0 gives -1.
# Violated (MUST): Random graphs with several losses and kept graphs have the right gradients.
# Found on micrograd 0.1.0, Python 3.11.7, Linux x86_64.

from micrograd.engine import Value

a = Value(1.0)
b = -a
c = -b
b.backward()
c.backward()
got = float(a.grad)
assert abs(got) < 0.001, f"the gradient of a is {got}, but it should be 0.0"
