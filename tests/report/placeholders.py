"""What the placeholders of code templates are filled with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from refgrad.operators import Argument
from refgrad.operators.table import AttributeType

PLACEHOLDERS: Final[Mapping[str, str]] = MappingProxyType({
    "array": "a numpy array, `np.array([1.0, 2.0])`; numpy has no bfloat16, so that such arrays are of float32",
    "scalar": "the same number as a Python number, `2.5`, if the array has no axes; `None` if it has some",
    "shape": "the array's shape, for languages in which an array does not tell it, `(2, 3)`",
    "requires_grad": "`True` or `False`",
    "dtype": "the array's dtype as a bare word of code, `float32`: write `me.{dtype}`",
    "x": "a tensor",
    "y": "a tensor, which fits `{x}` or the part of it at `{index}`",
    "index": "a tuple of integers and slices with positive steps, `(0, slice(1, 3, None))`",
    "output": "the tensor that is differentiated",
    "seed": "what `seed` has made of the cotangent; `None` if there is none",
    "retain_graph": "`True` or `False`",
    "leaf": "the tensor whose gradient is meant",
    "outputs": "a list of tensors that are differentiated, `[x, y]`",
    "backward": "a function that returns a list with the gradient of each input, or `None`",
    "saved": "a tuple of positions among the inputs and the result, which comes last, `(0, 1)`",
    "count": "a number of repetitions, `3`",
    "inputs": "a list of tensors that a function is called with, `[x, y]`",
    "factor": "a number that a gradient is multiplied by, `2.0`",
    "leaves": "a list of tensors whose gradients are meant, `[x, y]`; one may be there twice",
    "seeds": "a list of tensors that `seed` has made, one for each of `{outputs}`",
    "function": "a function of tensors, with as many arguments as there are `{primals}`; of `hook`, of a gradient; of "
    "`no_grad_around`, with any arguments",
    "primals": "a list of tensors, `[x, y]`",
    "tangents": "a list of tensors that `seed` has made, as many as there are `{primals}`, of the same shapes",
    "at": "the position of an argument that is differentiated, `0`, or a tuple of several, `(0, 1)`",
    "tape": "what `display_record` has given",
    "handle": "what `hook` has given",
    "node": "what `node` has given, or one of what `parents` has given",
})
"""The placeholders of the templates that are fields of adapters."""


@dataclass(frozen=True, slots=True)
class PlaceholderFormat:
    """The Python value that an attribute's placeholder is filled with, and two such values, as they are printed."""

    meaning: str
    examples: str


def argument_format(argument: Argument) -> str:
    """Return what the placeholder of an operator's argument is filled with."""
    kind = "boolean tensor, made by `constant`" if argument.dtype == "bool" else "tensor"
    return f"a list of {kind}s, `[x, y]`" if argument.variadic else f"a {kind}"


ATTRIBUTE_FORMATS: Final[Mapping[AttributeType, PlaceholderFormat]] = MappingProxyType({
    "axis": PlaceholderFormat("an axis, from the end if it is negative", "`0`, `-1`"),
    "new_axis": PlaceholderFormat("the place of a new axis in the result", "`0`, `-1`"),
    "unit_axis": PlaceholderFormat("an axis of length one", "`0`, `-1`"),
    "axes": PlaceholderFormat("all axes (`None`), an axis, or some in any order", "`None`, `(0, -1)`"),
    "bool": PlaceholderFormat("a truth value", "`True`, `False`"),
    "float": PlaceholderFormat("a number from the range of the operands", "`1.6`, `-2.25`"),
    "shape": PlaceholderFormat("a shape of as many entries; one length may be -1", "`()`, `(2, -1)`"),
    "broadcast_shape": PlaceholderFormat("a shape to which the tensor can be broadcast", "`(2, 3, 1)`, `(3,)`"),
    "any_shape": PlaceholderFormat("a shape", "`(4, 5)`, `(6,)`"),
    "permutation": PlaceholderFormat("the reverse order (`None`), or all axes in some order", "`None`, `(1, -3, -1)`"),
    "index": PlaceholderFormat(
        "a tuple of integers and slices, or of tuples of integers, which stand for arrays of indices",
        "`(-1, slice(None, 0, -1))`, `((0, 1, 1), (0, 0, -1))`",
    ),
    "indices": PlaceholderFormat("an integer, or nested tuples of integers", "`-1`, `((0, -1), (1, 1))`"),
    "classes": PlaceholderFormat("a class for each row: nested tuples of integers", "`0`, `(2, 1, 2)`"),
    "int": PlaceholderFormat("an integer", "`0`, `3`"),
    "real": PlaceholderFormat("a number", "`1.5`, `-0.2`"),
    "option": PlaceholderFormat("one of the options of the operator's row", "`'mean'`, `2`"),
    "flat_axis": PlaceholderFormat("an axis, or all entries in a row (`None`)", "`None`, `-1`"),
    "scalar_axis": PlaceholderFormat("an axis; 0 or -1 for a tensor without axes too", "`0`, `-1`"),
    "axis_list": PlaceholderFormat("an axis, or some in any order", "`0`, `(1, -2)`"),
    "matching_axes": PlaceholderFormat("as many axes as the other attribute has", "`0`, `(2, -2)`"),
    "axis_pair": PlaceholderFormat("two different axes", "`(0, 1)`, `(-1, -2)`"),
    "new_axis_pair": PlaceholderFormat("the places of two axes in the result", "`(0, 1)`, `(2, -3)`"),
    "shifts": PlaceholderFormat("how far; one for each axis, if there are several", "`-3`, `(1, 2)`"),
    "pad_width": PlaceholderFormat(
        "for each axis, how many entries before and behind", "`((2, 1),)`, `((1, 0), (2, 1))`"
    ),
    "repeats": PlaceholderFormat("how often, for each of any number of axes", "`(2,)`, `(3, 0, 2)`"),
    "counts": PlaceholderFormat("how often, for each entry along the axis", "`(0, 2, 0)`, `(1,)`"),
    "factors": PlaceholderFormat("lengths whose product is that of the axis; one may be -1", "`(-1, 2)`, `(4,)`"),
    "expanded_shape": PlaceholderFormat("a shape to broadcast to; -1 keeps a length", "`(3, -1)`, `(2, 3)`"),
    "points": PlaceholderFormat("where to cut, in increasing order", "`(1,)`, `(0, 3, 3)`"),
    "position": PlaceholderFormat("an index along the axis", "`0`, `-2`"),
    "places": PlaceholderFormat("indices along the axis, nested to the tensor's rank", "`(1, 0)`, `((0, 2),)`"),
    "rows": PlaceholderFormat("indices along the axis", "`(1, 0, 0)`, `(2,)`"),
    "flat_places": PlaceholderFormat("indices into all entries in a row", "`(0, -2)`, `()`"),
    "mask": PlaceholderFormat("nested tuples of truth values", "`(True, False)`, `((True,), (False,))`"),
    "writing_index": PlaceholderFormat(
        "as `index`, and no entry is met twice", "`(slice(0, 2, None), 1)`, `((1, 0),)`"
    ),
})
"""What the placeholder of an operator's attribute is filled with, by the attribute's type."""
