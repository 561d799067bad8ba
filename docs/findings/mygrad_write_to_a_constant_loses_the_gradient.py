"""MyGrad 2.5.0: a tensor that is written to a constant one gets no gradient, and nothing says so.

``buffer`` holds x after the write, but is constant still, so that its backward does nothing. PyTorch's buffers begin to
require grad by such a write. Nothing of refgrad is imported.
"""

import mygrad as mg

x = mg.tensor(2.0)
buffer = mg.zeros(2, constant=True)
buffer[0] = x * x
loss = buffer.sum()
loss.backward()
print(f"buffer = {buffer.data.tolist()}, loss = {loss.item()}, x.grad = {x.grad}, but d loss / dx = 4.0")
