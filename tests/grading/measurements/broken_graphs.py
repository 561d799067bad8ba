"""How can the graph that an engine shows be wrong, though all its numbers are right?

Each fault is another spelling of something in the reference engine's adapter, or a function behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from refgrad.native.adapter import TapeAdapter, find_adapter
from refgrad.native.engine import Engine

WORDS = """
import contextlib
import weakref

def parents_of(node):
    return [node for node, _ in node.next_functions]

class Copy:  # of a node, made anew for each that leads to it
    def __init__(self, node):
        self.node = node

def copied(node):
    return [Copy(parent) for parent in parents_of(getattr(node, "node", node)) if parent is not None]

owners = {}

def remembered(tensor):
    owners[id(tensor.node)] = weakref.ref(tensor)
    return tensor.node

def owned(node):
    return [p for p in parents_of(node) if p is not None and owners.get(id(p), lambda: 0)() is not None]

walked = set()

def walk(output):
    waiting = [output.node]
    for node in waiting:
        walked.add(node)
        waiting += [parent for parent in parents_of(node) if parent is not None]

def overwrite(x, new):
    with torch.no_grad():
        kept = x.detach()
        kept.copy_(new)
"""


@dataclass(frozen=True, slots=True)
class GraphFault:
    """An engine that ``name`` says what of, and the behaviours of the chapter that it breaks.

    Those that ``randomly`` names are broken only in some random graphs, which are few in a smoke run.
    """

    name: str
    breaks: frozenset[str]
    randomly: frozenset[str] = frozenset()
    templates: Mapping[str, Any] = field(default_factory=dict)

    def start(self) -> Engine:
        """Start the reference engine with this fault."""
        sound = find_adapter("refgrad")
        assert isinstance(sound, TapeAdapter)
        return Engine(replace(sound, setup=f"{sound.setup}\n{WORDS}", **self.templates))


def _fault(name: str, breaks: str, randomly: str = "", **templates: Any) -> GraphFault:
    return GraphFault(name, frozenset(breaks.split()), frozenset(randomly.split()), templates)


NEVER_MIND = "freed_graphs_can_still_be_walked"
EDGES = (
    "operands_are_parents each_use_is_an_edge edges_are_in_the_order_of_operands kept_graphs_stay_as_they_are "
    "detached_parts_are_not_reached unrecorded_parts_are_not_reached writes_are_nodes constants_have_no_nodes "
    f"{NEVER_MIND}"
)
SIZES = "shared_results_are_one_node deleted_names_stay_in_the_graph"

GRAPH_FAULTS = (
    _fault(
        "leaves out the last edge",
        f"{EDGES} {SIZES} leaves_are_reached",
        parents="[p for p in parents_of({node}) if p is not None][:-1]",
    ),
    _fault(
        "tells operands once, however often they are used",
        "each_use_is_an_edge edges_are_in_the_order_of_operands",
        parents="list(dict.fromkeys(parents_of({node})))",
    ),
    _fault("tells the last operand first", "edges_are_in_the_order_of_operands", parents="parents_of({node})[::-1]"),
    _fault(
        "has nodes for constants",
        "constants_have_no_nodes",
        parents="[torch if p is None else p for p in parents_of({node})] if {node} is not torch else []",
    ),
    _fault(
        "copies a node for each that leads to it",
        f"{EDGES} {SIZES} leaves_are_reached",
        parents="copied({node})",
    ),
    _fault(
        "forgets nodes whose tensors are gone",
        f"{SIZES} leaves_are_reached",
        randomly="detached_parts_are_not_reached",
        node="remembered({x})",
        parents="owned({node})",
    ),
    _fault("detaches nothing", "detached_parts_are_not_reached", detach="{x}.requires_grad_()"),
    _fault(
        "records under no_grad",
        "unrecorded_parts_are_not_reached",
        randomly="detached_parts_are_not_reached",
        no_grad="contextlib.nullcontext()",
    ),
    _fault(
        "clears the graph with each backward",
        f"kept_graphs_stay_as_they_are {NEVER_MIND} detached_parts_are_not_reached",
        backward="walk({output}) or {output}.backward({seed}, retain_graph={retain_graph})",
        parents="[] if {node} in walked else parents_of({node})",
    ),
    _fault(
        "clears the graph with a backward that frees it",
        f"{NEVER_MIND} detached_parts_are_not_reached",
        parents="[] if getattr({node}, 'values', 0) is None else parents_of({node})",
    ),
    _fault(
        "writes without recording",
        "writes_are_nodes",
        in_place={
            "add": "overwrite({x}, {x} + {y})",
            "multiply": "overwrite({x}, {x} * {y})",
            "copy": "overwrite({x}, {y})",
        },
    ),
    _fault(
        "shows only what sums and products lead to",
        "leaves_are_reached",
        parents="parents_of({node}) if type({node}).__name__ in ('AddBackward0', 'MulBackward0') else []",
    ),
)
