"""Repair of changed lists of steps: what depends on the change is adapted, so that they are scenarios again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from refgrad.generation.admission import MARGIN, AppliedOperator, Array
from refgrad.interpreter import Float64, ScenarioEvaluationError, evaluate
from refgrad.scenario import Apply, Backward, Constant, FunctionCall, Grad, Jvp, Leaf, Scenario, ScenarioError, Step
from refgrad.scenario.rewrite import descendants, needed, resized, with_fitting_seeds, with_fitting_tangents, with_seeds

RECORDED: Final = Apply | FunctionCall | Grad
"""Steps whose result is recorded if one of their operands requires grad."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """A scenario with the value of every name, and the names that require grad."""

    scenario: Scenario
    values: Mapping[str, Array]
    recorded: frozenset[str]

    @property
    def proper(self) -> bool:
        """Return True if no step is certain to fail.

        Outputs are results that require grad, seeds fit them, and graphs that are traversed again are retained.
        """
        steps = self.scenario.steps
        if any(step.stateful for step in steps):  # then the values and flags computed here may be wrong
            return False
        results = {step.name for step in self.scenario.definitions.values() if not isinstance(step, Leaf)}
        recorded = self.recorded & results
        starts = [step for step in steps if isinstance(step, Backward | Grad)]
        return (
            _with_flags(steps, self.recorded) == steps
            and all(start.output in recorded and _seed_fits(start, self.values[start.output]) for start in starts)
            and all(step.output in recorded for step in self.scenario.jvps)
        )

    @property
    def clear(self) -> bool:
        """Return True if every operator stays clear of its kinks."""
        gradients = _from_gradients(self.scenario)
        return all(
            AppliedOperator.of(step, self.values).distance_to_kink(self.values[step.name]) > MARGIN
            for step in self.scenario.applications
            if step.name not in gradients
        )


@dataclass(frozen=True, slots=True)
class Kept:
    """Properties that simplifications must preserve.

    If ``proper`` or ``clear``, every candidate must be so, too. If ``pruned``, leaves and results that nothing needs
    are left out.
    """

    proper: bool
    clear: bool
    pruned: bool


def evaluated(scenario: Scenario) -> Evaluated | None:
    """Return the scenario with its values, or None if an operator rejects its arguments or is not finite."""
    try:
        with np.errstate(all="ignore"):
            values = evaluate(scenario, Float64())
            gradients = _from_gradients(scenario)
            admitted = all(
                AppliedOperator.of(s, values).well_formed and (s.name in gradients or _meaningful(s, values))
                for s in scenario.applications
            )
    except ScenarioEvaluationError:
        return None
    recorded = descendants(scenario.steps, lambda step: isinstance(step, Leaf) and step.requires_grad, RECORDED)
    return Evaluated(scenario, values, recorded) if admitted else None


def adapted(steps: Iterable[Step], kept: Kept) -> tuple[Step, ...]:
    """Return the steps with fitting tangents, without those that nothing needs if they must be pruned."""
    fitting = with_fitting_tangents(steps)
    return needed(fitting, actions=True) if kept.pruned else fitting


def repaired(chosen: tuple[Step, ...], kept: Kept) -> Evaluated | None:
    """Return the scenario of adapted steps, or None if it cannot have the properties that must be preserved.

    If it must be proper and is not, seeds are cut or repeated to the shapes of their outputs, and ``retain_graph`` is
    set where a later backward traverses a graph again.
    """
    try:
        result = evaluated(Scenario(chosen))
        if result is not None and kept.proper and not result.proper:
            fitted = _with_flags(_with_shaped_seeds(chosen, result.values), result.recorded)
            result = replace(result, scenario=Scenario(fitted))
        if result is not None:
            result = replace(result, scenario=with_fitting_seeds(result.scenario))
    except ScenarioError:
        return None
    fits = result is not None and result.proper >= kept.proper and (result.clear or not kept.clear)
    return result if fits else None


def _from_gradients(scenario: Scenario) -> frozenset[str]:
    """Return the names whose values depend on gradients or tangents, which are not computed here."""

    def starts(step: Step) -> bool:
        return isinstance(step, Grad | Jvp) or (isinstance(step, FunctionCall) and step.is_derivative)

    return descendants(scenario.steps, starts)


def _meaningful(step: Apply, values: Mapping[str, Array]) -> bool:
    return bool(np.isfinite(values[step.name]).all()) and AppliedOperator.of(step, values).in_domain


def _seed_fits(start: Backward | Grad, output: Array) -> bool:
    return output.shape == (() if start.seed is None else start.seed.shape)


def _with_shaped_seeds(steps: Iterable[Step], values: Mapping[str, Array]) -> tuple[Step, ...]:
    """Return the steps with seeds cut or repeated to the shapes of their outputs."""

    def seed(start: Backward | Grad) -> Constant | None:
        if _seed_fits(start, values[start.output]):
            return start.seed
        old = np.ones(()) if start.seed is None else start.seed.to_numpy()
        return Constant.of(resized(old, values[start.output].shape).astype(np.float64))

    return with_seeds(steps, seed)


def _with_flags(steps: tuple[Step, ...], recorded: frozenset[str]) -> tuple[Step, ...]:
    """Set ``retain_graph`` on every backward that traverses an application that a later one traverses too."""
    graphs = _graphs(steps, recorded)
    later: set[str] = set()
    flagged: list[Step] = []
    for step in reversed(steps):
        graph = graphs.get(step.output, frozenset()) if isinstance(step, Backward | Grad) else frozenset()
        flagged.append(replace(step, retain_graph=True) if isinstance(step, Backward) and graph & later else step)
        later |= graph
    return tuple(reversed(flagged))


def _graphs(steps: tuple[Step, ...], recorded: frozenset[str]) -> dict[str, frozenset[str]]:
    graphs: dict[str, frozenset[str]] = {}
    for step in steps:
        if isinstance(step, RECORDED) and step.name in recorded:
            graphs[step.name] = frozenset([step.name]).union(*(graphs.get(name, frozenset()) for name in step.uses))
    return graphs
