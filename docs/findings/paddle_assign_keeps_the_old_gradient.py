"""PaddlePaddle 3.3.1 (CPU): what ``paddle.assign(constant, output=y)`` has overwritten keeps its old gradient.

y is a constant by then, so that nothing is due to x. ``y[:] = constant`` does it right. Nothing of refgrad is imported.
"""

import paddle

constant = paddle.to_tensor([5.0, 5.0], dtype="float64")

x = paddle.to_tensor([1.0, 2.0], dtype="float64", stop_gradient=False)
y = x * x
paddle.assign(constant, output=y)
y.sum().backward()
print(f"y = {y.tolist()}; x.grad after assign: {x.grad.tolist()}")

x = paddle.to_tensor([1.0, 2.0], dtype="float64", stop_gradient=False)
y = x * x
y[:] = constant
y.sum().backward()
print(f"y = {y.tolist()}; x.grad after y[:] = ...: {x.grad.tolist()}")
