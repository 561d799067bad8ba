"""A reader of the corpus that knows no oracle: which entries an engine is held to, and what it fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from refgrad.native.adapter import AnyAdapter
from refgrad.native.engine import Engine, observe
from refgrad.native.observation import Observation
from refgrad.scenario import Scenario
from refgrad.scenario.scenario import SCHEMA_NAME

Entry = Mapping[str, Any]


def scenario_of(entry: Entry) -> Scenario:
    """Return the scenario of an entry."""
    return Scenario.from_json({"schema": SCHEMA_NAME, "steps": entry["steps"]})


def is_held_to(entry: Entry, adapter: AnyAdapter) -> bool:
    """Whether an entry says something of an engine of this policy that has these features and dtypes."""
    policy = asdict(adapter.policy)
    fits = all(policy[field] in values for field, values in entry.get("policy", {}).items())
    return fits and set(entry["needs"]) <= adapter.features and not adapter.dtypes_lacking(scenario_of(entry))


def failures(entry: Entry, engine: Engine) -> Iterator[str]:
    """Yield what the engine does otherwise than it must."""
    expected = {row["step"]: row for row in entry["due"]}
    for number, seen in enumerate(observe(scenario_of(entry), engine), 1):
        row = expected.get(number, {"shows": "success"})
        if seen.error is not None and row["shows"] not in {"error", "anything"}:
            if number not in entry.get("may_fail", ()):
                yield f"step {number}: {seen.error.text}"
            return
        problem = _problem(row, seen)
        if problem:
            yield f"step {number}: {problem}"


def _problem(row: Mapping[str, Any], seen: Observation) -> str:
    match row["shows"]:
        case "error":
            return "" if seen.error is not None else "no error"
        case "flag":
            return "" if seen.array is not None and bool(seen.array) is row["holds"] else f"{seen.array}"
        case "nothing":
            return "" if seen.array is None or not np.any(seen.array) else f"{seen.array}"
        case "value" | "gradient":
            return _of_array(row, seen.array, seen.dtype)
        case "calls":
            observed = [] if seen.array is None else list(seen.array)
            problems = [
                _of_array(call, np.asarray(array), seen.dtype)
                for call, array in zip(row["calls"], observed, strict=True)
            ]
            return "".join(problems)
    return ""


def _of_array(row: Mapping[str, Any], array: np.ndarray[Any, Any] | None, dtype: str) -> str:
    if array is None:
        return "" if row.get("none") else "no array"
    if array.shape != tuple(row["shape"]) or dtype != row.get("dtype", dtype):
        return f"{array.shape} {dtype}, not {row['shape']} {row.get('dtype')}"
    for number, low, high in zip(array.astype(np.float64).ravel(), row["lower"], row["upper"], strict=True):
        if not (low is None or (np.isnan(number) and row.get("nan")) or low <= number <= high):
            return f"{number}, not in [{low}, {high}]"
    return ""
