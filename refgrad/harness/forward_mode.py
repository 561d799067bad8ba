"""How is a tangent pushed through an engine? Its forward mode takes a function, so the forward part is run as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from refgrad.harness.relevance import needed_results
from refgrad.scenario import Apply, Jvp, Scenario

if TYPE_CHECKING:
    from refgrad.harness.execution import Engine


def push(step: Jvp, engine: Engine, tensors: Mapping[str, Any], scenario: Scenario) -> Any:
    """Return the tangent of an output when leaves move.

    The applications that the output depends on are run again as a function of the leaves that move; whatever else the
    output is made of stands still, and is taken from ``tensors``.
    """
    results = needed_results(scenario, step.output)

    def function(*primals: Any) -> Any:
        moved = {**tensors, **dict(zip(step.leaves, primals, strict=True))}
        for result in results:
            if isinstance(result, Apply):
                moved[result.name] = engine.apply(result, [moved[name] for name in result.arguments], scenario)
        return moved[step.output]

    assert engine.adapter.jvp is not None
    primals = [tensors[name] for name in step.leaves]
    tangents = [engine.seed(tangent.to_numpy().copy(), tangent.dtype) for _, tangent in step.tangents]
    _, tangent = engine.run(engine.adapter.jvp, function=function, primals=primals, tangents=tangents)
    return tangent
