"""PaddlePaddle 3.3.1 (CPU): a write to a leaf is refused after it has been made.

``add_`` on a leaf that requires grad raises, as it must; but the leaf has its new value by then. Code that catches the
error goes on with another leaf than it had. Nothing of refgrad is imported.
"""

import paddle

x = paddle.to_tensor([1.0, 2.0], dtype="float64", stop_gradient=False)

for name in ("add_", "multiply_"):
    before = x.tolist()
    try:
        getattr(x, name)(paddle.to_tensor([3.0, 3.0], dtype="float64"))
    except ValueError:
        print(f"{name} is refused; the leaf was {before} and is {x.tolist()}")
