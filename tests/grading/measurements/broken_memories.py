"""How can the reference engine keep what it must let go of? Each fault is another spelling of something in its adapter.

All numbers stay right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from refgrad.native.adapter import TapeAdapter, find_adapter
from refgrad.native.engine import Engine

WORDS = """
import contextlib

kept = []

def keep(thing):
    kept.append(thing)
    return thing

def tie(tensor):  # the tensor leads to its node, its node to its hooks, and the hook to the tensor
    if tensor.requires_grad:
        tensor.register_hook(lambda gradient, tensor=tensor: None)
    return tensor

def remember_failures(run):
    try:
        run()
    except Exception as error:
        keep(error)
        raise
"""


@dataclass(frozen=True, slots=True)
class KeepingFault:
    """An engine that ``name`` says what of, and the behaviours of the chapter that it breaks."""

    name: str
    breaks: frozenset[str]
    templates: Mapping[str, Any] = field(default_factory=dict)
    operators: Mapping[str, str] = field(default_factory=dict)

    def start(self, engine: str = "refgrad") -> Engine:
        """Start an engine with this fault."""
        sound = find_adapter(engine)
        assert isinstance(sound, TapeAdapter)
        setup = f"{sound.setup}\n{WORDS}"
        return Engine(replace(sound, setup=setup, operators={**sound.operators, **self.operators}, **self.templates))


def _fault(name: str, breaks: str, operators: Mapping[str, str] | None = None, **templates: str) -> KeepingFault:
    return KeepingFault(name, frozenset(breaks.split()), templates, operators or {})


BACKWARD = "{output}.backward({seed}, retain_graph={retain_graph})"

EVERYTHING = _fault(
    "keeps every tensor that it computes",
    "kept_graphs_die_with_their_output graphs_die_with_their_output graphs_die_without_the_collector "
    "nothing_is_kept_without_recording nothing_is_kept_of_constants detached_outputs_hold_no_graph "
    "recorded_gradients_hold_no_graph tensors_die_with_their_graph saved_values_after_backward "
    "saved_values_after_the_last_backward training_does_not_grow abandoned_graphs_do_not_add_up "
    "detached_totals_do_not_grow recorded_gradients_do_not_add_up",
    {"multiply": "keep(torch.multiply({x}, {y}))"},
)
"""A global tape that nothing empties."""

KEEPING_FAULTS = (
    EVERYTHING,
    _fault(
        "never frees what it saved",
        "saved_values_after_backward saved_values_after_the_last_backward",
        backward="{output}.backward({seed}, retain_graph={retain_graph} or True)",
    ),
    _fault(
        "keeps the graph that a leaf got its gradient from",
        "kept_graphs_die_with_their_output",
        backward="keep([kept.clear(), {output}.grad_fn]) and {output}.backward({seed}, retain_graph={retain_graph})",
    ),
    _fault(
        "makes a cycle of each tensor and its node",
        "graphs_die_without_the_collector saved_values_after_backward saved_values_after_the_last_backward",
        {"multiply": "tie(torch.multiply({x}, {y}))"},
    ),
    _fault("records under no_grad", "nothing_is_kept_without_recording", no_grad="contextlib.nullcontext()"),
    _fault(
        "records what is computed from constants",
        "nothing_is_kept_of_constants",
        constant="torch.tensor({array}, requires_grad=True)",
    ),
    _fault(
        "detaches nothing", "detached_outputs_hold_no_graph detached_totals_do_not_grow", detach="{x}.requires_grad_()"
    ),
    _fault(
        "keeps recorded gradients",
        "recorded_gradients_hold_no_graph recorded_gradients_do_not_add_up",
        grad="keep(torch.grad({output}, {leaf}, {seed}, create_graph=True)[0])",
    ),
    _fault(
        "saves the operands of additions", "additions_keep_no_operands", {"add": "torch.multiply({x}, 1 + {y} / {x})"}
    ),
    _fault(
        "keeps intermediate tensors until the next one comes",
        "tensors_die_with_their_graph graphs_die_with_their_output "
        "kept_graphs_die_with_their_output detached_outputs_hold_no_graph recorded_gradients_hold_no_graph",
        {"multiply": "kept.clear() or keep([torch.multiply({x}, {y}), {x}])[0]"},
    ),
    _fault(
        "keeps every gradient that is reset",
        "training_does_not_grow",
        zero_grad="[keep({leaf}.grad), setattr({leaf}, 'grad', None)]",
    ),
    _fault(
        "counts its calls in a list", "calls_on_a_kept_graph_do_not_add_up", backward=f"keep(bytes(99)) and {BACKWARD}"
    ),
    _fault(
        "keeps the errors that it raises",
        "failed_backwards_leave_nothing",
        backward=f"remember_failures(lambda: {BACKWARD})",
    ),
    _fault("forgets to take hooks away", "removed_hooks_leave_nothing", unhook="None"),
)

FILLS_A_CACHE = _fault(
    "keeps the first two thousand gradients that are reset",
    "",
    zero_grad="[len(kept) < 2000 and keep({leaf}.grad), setattr({leaf}, 'grad', None)]",
)
"""Its memory grows for longer than a first look takes, and then no more."""
