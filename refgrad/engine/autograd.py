"""Functions that compute gradients: ``backward`` adds them to the leaves, ``grad`` returns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from refgrad.engine import errors
from refgrad.engine.graph.node import AccumulateGrad, GraphNode, Watch
from refgrad.engine.graph.sweep import RECORDING, BackwardPass, Cotangents
from refgrad.engine.graph.tensor import Tensor

Tensors = Tensor | Sequence[Tensor]


def backward(
    tensors: Tensors,
    grad_tensors: Tensors | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of ``tensors``, weighted by ``grad_tensors``, to ``.grad`` of the leaves (or ``inputs``).

    An entry of ``grad_tensors``, the seed of a tensor, has that tensor's shape; for a tensor with a single entry it may
    be omitted, and is then one. If ``create_graph``, the gradients can be differentiated again. Saved values are freed
    unless ``retain_graph``, which defaults to ``create_graph``.

    Raises:
        RuntimeError: nothing was recorded, a seed is missing or of another shape, or a node needs a value that was
            freed or overwritten. No gradient is changed then.

    """
    targets = None if inputs is None else [_node(tensor, i) for i, tensor in enumerate(_listed(inputs))]
    sweep = _swept(_listed(tensors), _seeds(grad_tensors), retain_graph, create_graph, targets)
    reached = [node for node in sweep.arrived if (_is_open_leaf(node) if targets is None else node in targets)]
    _accumulate({_holder(node): sweep.arrived[node] for node in reached}, sweep, _seeds(grad_tensors))


def _is_open_leaf(node: GraphNode) -> bool:
    return isinstance(node, AccumulateGrad) and not node.closed


def _holder(node: GraphNode) -> AccumulateGrad | Watch:
    """Return the object that stores ``.grad`` of the tensor that a node belongs to."""
    if isinstance(node, AccumulateGrad):
        return node
    if node.watch is None:
        node.watch = Watch()
    return node.watch


def grad(  # noqa: PLR0913, PLR0917 (PyTorch's parameters)
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Tensors | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of ``outputs``, weighted by ``grad_outputs``, with respect to each of ``inputs``.

    A gradient has the shape of its input. No ``.grad`` is changed. If ``allow_unused``, the result for an input that
    the outputs do not depend on is None.

    Raises:
        RuntimeError: as in :func:`backward`; or an input does not require grad, or is unused and ``allow_unused`` is
            False.

    """
    listed = _listed(inputs)
    nodes = [_node(tensor, position) for position, tensor in enumerate(listed)]
    sweep = _swept(_listed(outputs), _seeds(grad_outputs), retain_graph, create_graph, nodes)
    unused = [position for position, node in enumerate(nodes) if node not in sweep.arrived]
    if unused and not allow_unused:
        raise RuntimeError(errors.INPUT_UNUSED.format(position=unused[0]))
    _keep(sweep)
    reached = [node for node in nodes if node in sweep.arrived]
    gradients = iter(_separate([sweep.arrived[node] for node in reached], create_graph, _seeds(grad_outputs)))
    return tuple(next(gradients) if node in sweep.arrived else None for node in nodes)


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _seeds(seeds: Any) -> list[Tensor | None]:
    return [] if seeds is None else _listed(seeds)


def _node(tensor: Tensor, position: int) -> GraphNode:
    if tensor.node is None:
        raise RuntimeError(errors.INPUT_WITHOUT_GRAD.format(position=position))
    return tensor.node


def _swept(
    outputs: list[Tensor],
    seeds: list[Tensor | None],
    retain_graph: bool | None,
    create_graph: bool,
    targets: list[GraphNode] | None,
) -> BackwardPass:
    """Run one backward pass from ``outputs`` to ``targets``, or to all leaves if ``targets`` is None."""
    pending = _pending(outputs, seeds, create_graph)
    sweep = BackwardPass(pending, retain=create_graph if retain_graph is None else retain_graph, recorded=create_graph)
    mode = RECORDING.set(create_graph)
    try:
        if targets is None:
            sweep.to_leaves()
        else:
            sweep.to_targets(targets)
    finally:
        RECORDING.reset(mode)
    return sweep


def _pending(outputs: list[Tensor], seeds: list[Tensor | None], recorded: bool) -> Cotangents:
    if seeds and len(seeds) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(seeds)} gradients: give every tensor a seed, or None")
    pending: Cotangents = {}
    for position, output in enumerate(outputs):
        if output.node is None:
            raise RuntimeError(errors.NO_GRAD_FN)
        seed = seed_tensor(output, seeds[position] if seeds else None, position)
        cotangent = seed if recorded else seed.array
        pending[output.node] = pending[output.node] + cotangent if output.node in pending else cotangent
    return pending


def seed_tensor(output: Tensor, seed: Any, position: int) -> Tensor:
    """Return the seed of an output in the output's dtype: one if there is none and the output is a single number.

    ``position`` counts the outputs, for messages. Raises RuntimeError if a seed is missing or has another shape.
    """
    if seed is None:
        if output.numel() != 1:
            raise RuntimeError(errors.not_scalar(output.shape))
        return Tensor(np.ones(output.shape, output.dtype)[()])
    if not isinstance(seed, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, not {type(seed).__name__}: wrap it in tensor(…)")
    if seed.shape != output.shape:
        raise RuntimeError(errors.seed_mismatch(position, seed.shape, output.shape))
    return seed.to(output.dtype)  # type: ignore[no-any-return]


def _accumulate(totals: Mapping[AccumulateGrad | Watch, Any], sweep: BackwardPass, seeds: list[Any]) -> None:
    """Add to every ``.grad`` its total. All sums are computed before the first is stored, so an error changes none."""
    first = [holder for holder in totals if holder.grad is None]
    updates = dict(zip(first, _separate([totals[holder] for holder in first], sweep.recorded, seeds), strict=True))
    for holder, total in totals.items():
        if holder.grad is not None:
            updates[holder] = holder.grad + total if sweep.recorded else Tensor(holder.grad.array + total)
    _keep(sweep)
    for holder, new in updates.items():
        if holder.grad is None or sweep.recorded or holder.grad.node is not None:
            holder.grad = new
        else:
            holder.grad.overwrite(new.array)


def _separate(totals: list[Any], recorded: bool, seeds: list[Any]) -> list[Tensor]:
    """Return every total as a tensor that shares memory neither with a seed nor with another total."""
    taken = {id(item) for seed in seeds if seed is not None for item in (seed, seed.array)}
    tensors = []
    for total in totals:
        tensor = total if recorded else Tensor(total)
        array = tensor.array
        if id(total) in taken or (isinstance(array, np.ndarray) and (array.base is not None or id(array) in taken)):
            tensor = tensor.clone()
        taken.update((id(total), id(array)))
        tensors.append(tensor)
    return tensors


def _keep(sweep: BackwardPass) -> None:
    """Store the gradients of computed tensors that retain them."""
    for watch, total in sweep.kept:
        watch.grad = total.clone() if watch.grad is None else watch.grad + total
