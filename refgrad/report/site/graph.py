"""The graph of a scenario as inline SVG: leaves are at the top, and each result is below its operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from refgrad.errors import UserError
from refgrad.native.text import plain_line
from refgrad.scenario import Apply, Backward, Grad, Jvp, Leaf, Step, parse

MOST_NODES: Final = 40
LONGEST_LABEL: Final = 34
LONGEST_TITLE: Final = 300
CHARACTER, HEIGHT, GAP, LAYER, MARGIN = 7.4, 30.0, 18.0, 68.0, 10.0  # in pixels; the first is the width of a character

BOX: Final = Markup(
    '<g class="{kind}"><title>{title}</title><rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
    'height="{height:.1f}" rx="6"/><text x="{middle:.1f}" y="{line:.1f}">{label}</text></g>'
)
ARROW: Final = Markup('<path d="M{x:.1f} {y:.1f} C{x:.1f} {bend:.1f} {end:.1f} {bend:.1f} {end:.1f} {below:.1f}"/>')
PICTURE: Final = Markup(
    '<svg class="graph" role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
    'height="{height:.0f}"><defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs><g class="arrows">{arrows}</g>{boxes}</svg>'
)


@dataclass(frozen=True, slots=True)
class Node:
    """A tensor: its name, how it is computed, and the tensors that it is computed from."""

    name: str
    label: str
    title: str
    kind: str
    sources: tuple[str, ...]

    @property
    def width(self) -> float:
        """Width of the box, in pixels."""
        return len(self.label) * CHARACTER + 18


def graph_of(text: str, subject: str = "") -> Markup:
    """Return the graph of a scenario, with the tensor ``subject`` marked.

    It is empty if the graph is too large, or if there is no scenario or it cannot be read.
    """
    try:
        steps = parse(text).steps if text else ()
    except UserError:
        return Markup()
    walked = {step.output for step in steps if isinstance(step, Backward | Grad)}
    nodes = {node.name: node for node in _nodes(steps, walked, subject)}
    if not 0 < len(nodes) <= MOST_NODES:
        return Markup()
    return _drawn(nodes)


def _nodes(steps: Sequence[Step], walked: set[str], subject: str) -> Iterator[Node]:
    for step in steps:
        made = _made(step)
        if made is None:
            continue
        name, label, kind, sources = made
        marks = [kind, *(["walked"] if name in walked else []), *(["subject"] if name == subject else [])]
        title = plain_line(step.to_text(), LONGEST_TITLE)
        yield Node(name, plain_line(f"{name} = {label}", LONGEST_LABEL), title, " ".join(marks), sources)


def _made(step: Step) -> tuple[str, str, str, tuple[str, ...]] | None:
    """Return the name, label, kind and sources of the tensor that a step defines, or None if it defines none."""
    match step:
        case Leaf(name=name):
            return name, "leaf", "leaf" if step.requires_grad else "constant", ()
        case Apply(name=name, operator=operator, arguments=sources):
            return name, operator, "result", sources
        case Grad(name=name, output=output, leaf=leaf):
            return name, f"grad of {output} by {leaf}", "derivative", (output, leaf)
        case Jvp(name=name, output=output):
            return name, f"jvp of {output}", "derivative", (output,)
    return None


def _drawn(nodes: Mapping[str, Node]) -> Markup:
    places, width, height = _places(nodes)
    boxes, arrows = Markup(), Markup()
    for node in nodes.values():
        x, y = places[node.name]
        boxes += BOX.format(
            kind=node.kind, title=node.title, left=x - node.width / 2, top=y, width=node.width, height=HEIGHT, middle=x,
            line=y + HEIGHT * 0.66, label=node.label,
        )  # fmt: skip
        for source in node.sources:
            if source in places:
                start, top = places[source][0], places[source][1] + HEIGHT
                arrows += ARROW.format(x=start, y=top, bend=(top + y) / 2, end=x, below=y)
    label = f"The graph of {len(nodes)} tensors: " + ", ".join(node.label for node in nodes.values())
    return PICTURE.format(label=plain_line(label, 600), width=width, height=height, arrows=arrows, boxes=boxes)


def _places(nodes: Mapping[str, Node]) -> tuple[dict[str, tuple[float, float]], float, float]:
    """Return the position of the middle of each box's top edge, and the size of the picture."""
    depth: dict[str, int] = {}
    for node in nodes.values():
        depth[node.name] = 1 + max((depth.get(source, -1) for source in node.sources), default=-1)
    layers: dict[int, list[Node]] = {}
    for node in nodes.values():
        layers.setdefault(depth[node.name], []).append(node)
    widths = {at: sum(node.width + GAP for node in row) - GAP for at, row in layers.items()}
    width = max(widths.values()) + 2 * MARGIN
    places = {}
    for at, row in layers.items():
        left = (width - widths[at]) / 2
        for node in row:
            places[node.name] = (left + node.width / 2, MARGIN + at * LAYER)
            left += node.width + GAP
    return places, width, 2 * MARGIN + (len(layers) - 1) * LAYER + HEIGHT
