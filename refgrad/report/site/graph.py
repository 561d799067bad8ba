"""The graph of a scenario as inline SVG: leaves are at the top, and each result is below its operands."""

from __future__ import annotations

from collections import Counter
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
class TensorBox:
    """A tensor: its name, how it is computed, and the tensors that it is computed from."""

    name: str
    label: str
    title: str
    kind: str
    sources: tuple[str, ...]


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


def _nodes(steps: Sequence[Step], walked: set[str], subject: str) -> Iterator[TensorBox]:
    for step in steps:
        made = _made(step)
        if made is None:
            continue
        name, label, kind, sources = made
        marks = [kind, *(["walked"] if name in walked else []), *(["subject"] if name == subject else [])]
        title = plain_line(step.to_text(), LONGEST_TITLE)
        yield TensorBox(name, plain_line(f"{name} = {label}", LONGEST_LABEL), title, " ".join(marks), sources)


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


def _drawn(nodes: Mapping[str, TensorBox]) -> Markup:
    """Return the picture: a grid of boxes of one size, each row in the middle."""
    wide = max(len(node.label) for node in nodes.values()) * CHARACTER + 18
    rows, filled, columns = dict[str, int](), Counter[int](), dict[str, int]()
    for node in nodes.values():
        row = rows[node.name] = 1 + max((rows.get(source, -1) for source in node.sources), default=-1)
        columns[node.name] = filled[row]
        filled[row] += 1
    widest, boxes, arrows = max(filled.values()), Markup(), Markup()

    def place(name: str) -> tuple[float, float]:
        column = columns[name] + (widest - filled[rows[name]]) / 2
        return MARGIN + wide / 2 + column * (wide + GAP), MARGIN + rows[name] * LAYER

    for node in nodes.values():
        x, y = place(node.name)
        boxes += BOX.format(
            kind=node.kind, title=node.title, left=x - wide / 2, top=y, width=wide, height=HEIGHT, middle=x,
            line=y + HEIGHT * 0.66, label=node.label,
        )  # fmt: skip
        for start, top in (place(source) for source in node.sources if source in nodes):
            arrows += ARROW.format(x=start, y=top + HEIGHT, bend=(top + HEIGHT + y) / 2, end=x, below=y)
    label = f"The graph of {len(nodes)} tensors: " + ", ".join(node.label for node in nodes.values())
    width, height = 2 * MARGIN + widest * (wide + GAP) - GAP, 2 * MARGIN + (len(filled) - 1) * LAYER + HEIGHT
    return PICTURE.format(label=plain_line(label, 600), width=width, height=height, arrows=arrows, boxes=boxes)
