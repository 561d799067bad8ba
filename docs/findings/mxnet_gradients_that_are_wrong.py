"""Apache MXNet 1.9.1 (CPU): gradients and values that are wrong, with what is due. Nothing of refgrad is imported."""

from mxnet import autograd, np, npx

npx.set_np()


def gradient(function, *numbers):
    """Return the gradients of the sum of what a function gives."""
    leaves = [np.array(each, dtype="float64") for each in numbers]
    for leaf in leaves:
        leaf.attach_grad()
    with autograd.record():
        y = function(*leaves)
    found = autograd.grad([y], leaves, [np.ones(y.shape, dtype="float64")])
    return [each.asnumpy().round(6).tolist() for each in found]


def number(x):
    """Return numbers as Python's."""
    return x.asnumpy().tolist()


ROWS, COLUMNS = [[[[1.0, 1.0]]], [[[1.0, 1.0]]]], [[[1.0], [1.0]], [[1.0], [2.0]]]
print("var, gradient at [1, 2, 4]:", gradient(np.var, [1.0, 2.0, 4.0]), "due [[-0.888889, -0.222222, 1.111111]]")
print("atleast_1d, gradient at 2:", gradient(np.atleast_1d, 2.0), "due [1.0]")
print("prod, gradient at [0, 3]:", gradient(np.prod, [0.0, 3.0]), "due [[3.0, 0.0]]")
print("prod of nothing:", number(np.prod(np.array([]))), "due 1.0")
print(
    "det, gradient at diag(1, 0):", gradient(np.linalg.det, [[1.0, 0.0], [0.0, 0.0]]), "due [[[0.0, 0.0], [0.0, 1.0]]]"
)
print("max, gradient at [1, 1]:", gradient(np.max, [1.0, 1.0]), "due entries that sum to 1")
print(
    "matmul, gradient of stretched rows:", gradient(np.matmul, ROWS, COLUMNS)[0], "due [[[[2.0, 3.0]]], [[[2.0, 3.0]]]]"
)
print("where(True, x, 0.0), slope at 3:", gradient(lambda x: np.where(np.array([True]), x, 0.0), [3.0]), "due [[1.0]]")
print(
    "elu, slope at -1:", gradient(lambda x: npx.leaky_relu(x, act_type="elu", slope=-1.0), [-1.0]), "due [[-0.367879]]"
)
print("selu, slope at -1:", gradient(lambda x: npx.leaky_relu(x, act_type="selu"), [-1.0]), "due [[0.646769]]")
padded = np.pad(np.array([[1.0]]), ((0, 0), (1, 1)), "constant", constant_values=1.0)
print("pad with ones:", number(padded), "due [[1.0, 1.0, 1.0]]")
