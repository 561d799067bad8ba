"""Errors at the edges of operators alone: slopes past the legal interval, and slopes that are no numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from refgrad.generation.admission import AppliedOperator
from refgrad.interpreter import NUMPY_FUNCTIONS
from refgrad.operators import Formula, Operator
from refgrad.operators.table import Edge
from tests.faulty_engines.derived.errors import number_of, summed
from tests.faulty_engines.derived.planting import Error, Site

PAST: Final = 1e-3
"""How far a slope lies past the legal interval."""

KINDS: Final = ("leaves the subdifferential by 1e-3", "is no number")


def kind_of_edge(row: Operator) -> str:
    """Return how a row's slopes are wrong at its edges, by its name: one in three is no number."""
    return KINDS[number_of(f"edges/{row.name}") % 3 == 0]


def at_edges(row: Operator) -> Error:
    """Return the error of a row at its edges."""
    no_number = kind_of_edge(row) == KINDS[1]
    return (
        (lambda site: _by_entries(row, site, no_number=no_number))
        if row.elementwise
        else (lambda site: _by_arrays(row, site, no_number=no_number))
    )


def _by_entries(row: Operator, site: Site, *, no_number: bool) -> Sequence[Any]:
    arrays = [x.array for x in site.inputs]
    found = [np.zeros(np.shape(array)) for array in arrays]
    variables = dict(zip(row.argument_names, arrays, strict=True)) | row.bind(site.application.attributes)
    for edge in row.edges:
        met = np.broadcast_to(_evaluated(edge.where, variables), np.shape(site.cotangent))
        for place, name in enumerate(row.argument_names):
            if name in edge.subdifferential:
                excess = np.nan if no_number else _excess(edge, name, variables)
                found[place] += summed(np.where(met, excess * site.cotangent, 0.0), np.shape(arrays[place]))
    return found


def _excess(edge: Edge, name: str, variables: Mapping[str, Any]) -> Any:
    """Return what is to be added to the reference's slope so that it lies past the upper end."""
    upper = _evaluated(edge.subdifferential[name][1], variables)
    return upper - _evaluated(edge.reference[name], variables) + PAST * np.maximum(1, np.abs(upper))


def _evaluated(formula: float | str, variables: Mapping[str, Any]) -> Any:
    return Formula(str(formula)).function(tuple(variables), NUMPY_FUNCTIONS)(**variables)


def _by_arrays(row: Operator, site: Site, *, no_number: bool) -> Sequence[Any]:
    """Spoil the first operand's entries that are zero or stand there several times."""
    arrays = [np.asarray(x.array) for x in site.inputs]
    found = [np.zeros(array.shape) for array in arrays]
    if on_an_edge(row, site):
        first, size = arrays[0], float(np.max(np.abs(site.cotangent), initial=0.0))
        values, counts = np.unique(first, return_counts=True)
        special = np.isin(first, values[(counts > 1) | (values == 0)]) if first.size else np.zeros(0, bool)
        found[0][special if special.any() else ...] = np.nan if no_number else size * _width(row)
    return found


def on_an_edge(row: Operator, site: Site) -> bool:
    """Whether an entry lies on an edge."""
    arrays, attributes = [np.asarray(x.array) for x in site.inputs], row.bind(site.application.attributes)
    applied = AppliedOperator(row, arrays, attributes)
    return applied.on_limit or applied.distance_to_kink(np.asarray(site.application.result.array)) == 0


def _width(row: Operator) -> float:
    """Return by how much a slope has to be changed to lie past the legal interval wherever it was in it."""
    ends = [edge.subdifferential["x"] for edge in row.edges if "x" in edge.subdifferential]
    return max((float(upper) - float(lower) for lower, upper in ends), default=0.0) + PAST
