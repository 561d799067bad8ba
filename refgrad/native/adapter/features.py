"""The features that an engine may offer, with the meaning of each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

STATEFUL_FEATURES: Final[Mapping[str, str]] = MappingProxyType({
    "detach": "a tensor can be cut off from what it was computed from",
    "no_grad": "recording can be switched off for a region",
    "enable_grad": "recording can be switched on again within such a region",
    "set_requires_grad": "a leaf can start and stop to require grad",
    "in_place": "a tensor can be overwritten: added to, multiplied, copied onto",
    "in_place_at_index": "a part of a tensor can be overwritten",
    "hooks": "a function can see, and replace, the gradient of a tensor",
    "unhook": "such a function can be taken away again",
    "retain_grad": "a computed tensor can keep its gradient",
    "zero_grad_to_zeros": "a leaf's gradient can be made zeros",
    "read_requires_grad": "a tensor tells whether it requires grad",
    "read_is_leaf": "a tensor tells whether it is a leaf",
    "read_recorded": "a tensor tells whether a recorded operation made it",
    "error:modified-in-place": "a backward that needs a value that was overwritten is an error",
    "error:leaf-in-place": "a recorded write to a leaf that requires grad is an error",
    "error:write-shape": "a write that does not fit its tensor is an error",
    "error:hook-on-constant": "a hook on something that needs no gradient is an error",
    "error:retain-grad-on-constant": "asking something that needs no gradient to keep it is an error",
    "error:requires-grad-of-non-leaf": "making a constant of a computed tensor is an error",
})
"""Features of stateful scenarios, in which tensors or graphs change."""

FEATURES: Final[Mapping[str, str]] = MappingProxyType({
    "arrays": "tensors of any shape, not scalars alone",
    "seed": "a backward may be given the cotangent of its output",
    "retain_graph": "a graph can be kept for a further backward",
    "accumulate": "gradients of several backward calls add up in the leaves",
    "zero_grad": "a leaf's gradient can be reset",
    "double_backward": "a gradient can itself be differentiated",
    "forward_mode": "a directional derivative can be had without a backward",
    "error:freed-graph": "a backward through a freed graph is an error",
    "error:implicit-seed": "a backward from a non-scalar without a seed is an error",
    "error:seed-shape": "a seed of another shape than its output is an error",
    "error:no-graph": "a backward from something that needs no gradient is an error",
    "graph": "the nodes that were recorded can be walked",
    **STATEFUL_FEATURES,
})
