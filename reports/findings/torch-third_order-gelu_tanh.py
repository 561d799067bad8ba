# A finding of refgrad: third_order/gelu_tanh, wrong higher derivative.
# The gradient of `d/da [d/da [gelu_tanh(a)]]` with respect to `a` at a = 800.0 is 0; torch 2.13.0+cpu gives nan.
# Violated (SHOULD): gelu_tanh: its second derivatives can be differentiated, and the third ones are right.
# Found on torch 2.13.0+cpu, Python 3.11.7, Linux x86_64.

import torch

a = torch.tensor(800.0, dtype=torch.float64, requires_grad=True)
b = torch.nn.functional.gelu(a, approximate='tanh')
c = torch.autograd.grad(b, a, None, create_graph=True)[0]
d = torch.autograd.grad(c, a, None, create_graph=True)[0]
d.backward()
got = float(a.grad)
assert abs(got) < 1e-12, f"the gradient of a is {got}, but it should be 0.0"
