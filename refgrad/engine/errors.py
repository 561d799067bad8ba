"""Error messages of the engine: what went wrong, and a remedy.

Most messages for errors that PyTorch has too begin with PyTorch's wording, which users search for. A description of the
problem and a remedy follow.
"""

from __future__ import annotations

Shape = tuple[int, ...]

NO_GRAD_FN = (
    "element 0 of tensors does not require grad and does not have a grad_fn: nothing that led to this tensor was "
    "recorded. Make the inputs that you want gradients of with requires_grad=True, and compute outside of no_grad() "
    "and detach()."
)
NOT_DIFFERENTIABLE = (
    "Only Tensors of floating point and complex dtype can require gradients, not those of {dtype}: make it from "
    "floats, as in tensor([1., 2.], requires_grad=True), or convert it with .double()."
)
FREED = (
    "Trying to backward through the graph a second time (or to use what it saved after it was freed): {node} gave up "
    "its saved values when an earlier backward passed it. Compute the part that both share again before this backward, "
    "or say retain_graph=True in every backward before the last."
)
OVERWRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: {node} needs "
    "{what}, which was overwritten after the node was recorded and is now at version {version}. Compute out of place "
    "there (x = x + 1 instead of x += 1), or write to a clone()."
)
LEAF_IN_PLACE = (
    "a leaf Variable that requires grad is being used in an in-place operation. What was computed from it so far would "
    "no longer belong to its value. Update it inside of `with no_grad():`, or compute out of place."
)
DETACH_IN_PLACE_LEAF = (
    "you can only change requires_grad flags of leaf variables: this tensor was computed from others. "
    "Use y.detach() to get its value without its history."
)
NUMPY_REQUIRES_GRAD = (
    "Can't call numpy() on Tensor that requires grad: numpy would not record what you compute. "
    "Use tensor.detach().numpy() instead."
)
HOOK_WITHOUT_GRAD = (
    "cannot register a hook on a tensor that doesn't require gradient: no gradient will ever pass here. "
    "Set requires_grad=True before computing with it."
)
RETAIN_WITHOUT_GRAD = (
    "can't retain_grad on Tensor that has requires_grad=False: no gradient will ever pass here. "
    "Set requires_grad=True before computing with it."
)
INPUT_WITHOUT_GRAD = (
    "One of the differentiated Tensors does not require grad: input {position} is a constant of the recorded graph. "
    "Set requires_grad=True on it before computing the outputs."
)
INPUT_UNUSED = (
    "The differentiated Tensor at index {position} appears to not have been used in the graph: no path leads from the "
    "outputs to it. Set allow_unused=True if None is the answer that you want for it."
)
NOT_REPLAYABLE = (
    "a function that is being recorded {what} a tensor that depends on its inputs ({dtype}{shape}): when it is "
    "replayed on others, that would still be as it was in the recording. Choose between values with where(condition, "
    "x, y), compute out of place, ask the recording for gradients, or run the function without record()."
)
CAPTURED = (
    "a function that is being recorded uses a tensor that requires grad and is not among its inputs ({dtype}{shape}): "
    "its value would stay as it is now, and it would get no gradient. Give it to the function as an argument, or "
    "detach() it."
)
OTHER_RECORDING = (
    "a tensor outlived the recording that it belongs to: it has no value outside of it. Return it from the recorded "
    "function."
)
RANDOM = (
    "a function that is being recorded draws random numbers: when it is replayed, they would be the same. Draw them "
    "outside, and give them to the function as an argument."
)
REPLAY_INPUT = (
    "input {position} is {got}, and was {wanted} when the function was recorded: only values may differ. Record it "
    "once for every shape and dtype: record(f)."
)
REPLAY_COUNT = "the function was recorded with {wanted} inputs and is given {got}: give it as many, or record it again."
REPLAY_OUTPUT = (
    "a recorded function has to return a tensor, or a tuple or list of tensors, not {kind}: return what you need of it "
    "as tensors."
)
TOO_LARGE_TO_DRAW = (
    "the graph has {count:,} nodes, and more than {limit:,} are no picture: draw what leads to an earlier tensor, use "
    "print_graph(tensor), or give draw() another limit."
)
NO_GRAPHVIZ = (
    "drawing needs Graphviz, and its program dot was not found: install Graphviz (https://graphviz.org/download), or "
    "give the text .dot to any program that reads the DOT language."
)


def not_scalar(shape: Shape) -> str:
    """Return the message for a backward whose seed is missing."""
    return (
        f"grad can be implicitly created only for scalar outputs, and this one has shape {list(shape)}. Reduce it to "
        "one number first, such as with .sum(), or pass gradient=, a tensor of the same shape with the weight of every "
        "entry."
    )


def seed_mismatch(position: int, seed: Shape, output: Shape) -> str:
    """Return the message for a seed whose shape differs from its output's."""
    return (
        f"Mismatch in shape: grad_output[{position}] has a shape of {list(seed)} and output[{position}] has a shape of "
        f"{list(output)}. The seed needs one weight for every entry of the output: give it exactly that shape."
    )


def grad_mismatch(what: str, got: object, wanted: object) -> str:
    """Return the message for a gradient, from a hook or assigned, whose shape or dtype differs from its tensor's."""
    return f"{what} is {got} where the tensor is {wanted}: a gradient has the shape and dtype of what it belongs to."


def overwritten(node: str, name: str, version: int) -> str:
    """Return the message for a saved value that was overwritten."""
    what = "its own output" if name == "out" else f"its argument {name}"
    return OVERWRITTEN.format(node=node, what=what, version=version)


def write_shape(shape: Shape, result: Shape) -> str:
    """Return the message for an in-place operator whose result has another shape than the tensor."""
    return (
        f"output with shape {list(shape)} doesn't match the broadcast shape {list(result)}: an in-place operator "
        "cannot change the shape of its tensor. Compute out of place, as in x = x + y."
    )


def write_dtype(dtype: object, result: object) -> str:
    """Return the message for an in-place operator whose result cannot be cast to the dtype of the tensor."""
    return (
        f"result type {result} can't be cast to the desired output type {dtype}: the tensor would lose what was "
        "computed. Compute out of place, or convert the tensor first."
    )
