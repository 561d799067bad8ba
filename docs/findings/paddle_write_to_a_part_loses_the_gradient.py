"""PaddlePaddle 3.3.1 (CPU): ``y[0].multiply_(k)`` changes y, and k gets no gradient for it.

A slice shares its memory with y, but y's history does not learn of the write: x gets what it would without it, and k
nothing. The spelling ``y[0] *= k`` is refused in backward. Nothing of refgrad is imported.
"""

import paddle

x = paddle.to_tensor([1.0, 2.0], dtype="float64", stop_gradient=False)
k = paddle.to_tensor(3.0, dtype="float64", stop_gradient=False)

y = 2 * x
y[0].multiply_(k)
y.sum().backward()
print(f"y = {y.tolist()}; x.grad = {x.grad.tolist()}, due [6.0, 2.0]; k.grad = {k.grad}, due 2.0")

x.clear_gradient(set_to_zero=False)
y = 2 * x
y[0] *= k
try:
    y.sum().backward()
except RuntimeError as error:
    print("y[0] *= k is refused:", str(error).split("Tensor ''")[1].splitlines()[0].split(".")[0].strip())
