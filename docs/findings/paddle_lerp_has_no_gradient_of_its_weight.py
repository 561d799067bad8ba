"""PaddlePaddle 3.3.1 (CPU): ``paddle.lerp(x, y, weight)`` gives its weight no gradient, and no error.

d(x + weight * (y - x)) / d weight is y - x. If nothing but the weight requires grad, the result does not. Nothing of
refgrad is imported.
"""

import paddle

x = paddle.to_tensor([1.0, 2.0], dtype="float64", stop_gradient=False)
y = paddle.to_tensor([3.0, 5.0], dtype="float64", stop_gradient=False)
weight = paddle.to_tensor([0.25, 0.5], dtype="float64", stop_gradient=False)

paddle.lerp(x, y, weight).sum().backward()
print(f"x.grad = {x.grad.tolist()}, y.grad = {y.grad.tolist()}, weight.grad = {weight.grad}, due {(y - x).tolist()}")
print("requires grad by its weight alone:", not paddle.lerp(x.detach(), y.detach(), weight).stop_gradient)
