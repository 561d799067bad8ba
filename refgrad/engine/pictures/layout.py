"""Layout of an acyclic graph: the positions of its boxes, and the routes of its arrows.

Boxes are in layers, each below all boxes that point to it. igraph orders the boxes within a layer, by the method of K.
Sugiyama, S. Tagawa and M. Toda, Methods for Visual Understanding of Hierarchical System Structures, 1981.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise

from refgrad.engine import errors

Point = tuple[float, float]
Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """The position of every box, as column and layer, and the positions along every arrow, ends included."""

    places: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]


def layered(count: int, edges: Sequence[Edge]) -> Layout:
    """Lay out ``count`` boxes; every edge leads from one box to another, and they form no cycle.

    Raises:
        RuntimeError: igraph is not installed.

    """
    layers = _layers(count, edges)
    paths: list[list[int]] = []
    for start, end in edges:  # an edge that spans several layers passes a point in each
        between = range(layers[start] + 1, layers[end])
        paths.append([start, *range(len(layers), len(layers) + len(between)), end])
        layers += between
    places = _placed(layers, [pair for path in paths for pair in pairwise(path)])
    return Layout(tuple(places[:count]), tuple(tuple(places[i] for i in path) for path in paths))


def _layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the layer of every box: the length of the longest path to it."""
    following: list[list[int]] = [[] for _ in range(count)]
    awaited = [0] * count
    for start, end in edges:
        following[start].append(end)
        awaited[end] += 1
    layers = [0] * count
    ready = [box for box in range(count) if not awaited[box]]
    while ready:
        start = ready.pop()
        for end in following[start]:
            layers[end] = max(layers[end], layers[start] + 1)
            awaited[end] -= 1
            if not awaited[end]:
                ready.append(end)
    return layers


def _placed(layers: Sequence[int], edges: Sequence[Edge]) -> list[Point]:
    try:
        igraph = import_module("igraph")
    except ModuleNotFoundError as error:
        raise RuntimeError(errors.NO_LAYOUT) from error
    graph = igraph.Graph(n=len(layers), edges=list(edges), directed=True)
    laid_out = graph.layout_sugiyama(layers=list(layers), hgap=1, vgap=1)
    columns = [float(x) for x, _ in laid_out.coords[: len(layers)]]
    free = dict.fromkeys(layers, min(columns, default=0.0))
    for box in sorted(range(len(layers)), key=columns.__getitem__):  # igraph may give two boxes one position
        columns[box] = max(columns[box], free[layers[box]])
        free[layers[box]] = columns[box] + 1
    return [(x, float(layer)) for x, layer in zip(columns, layers, strict=True)]
