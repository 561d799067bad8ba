"""What is known of a faulty engine, and how does the harness drive it?"""

from __future__ import annotations

from dataclasses import dataclass

from refgrad.harness import TapeAdapter, Verdict, spell, start
from refgrad.harness.checks import all_checks
from refgrad.harness.grading import Grader
from refgrad.harness.settings import Settings
from tests.faulty_engines.tape import Tape


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """One way to be wrong.

    ``name`` continues the words "an engine that"; ``source`` is the real bug, or the kind of bug, that it is modelled on;
    ``breaks`` are the ids of the checks that must fail because of it, and no other may. ``within`` bounds the examples until a
    generated check has found it.
    """

    name: str
    source: str
    engine: type[Tape]
    breaks: frozenset[str]
    within: int = 10


NO_FAULT = Fault("is right", "the tape as it stands", Tape, frozenset())


def adapter(fault: Fault) -> TapeAdapter:
    """Return the adapter of a faulty engine."""
    return TapeAdapter(
        name=fault.name,
        setup=f"from tests.faulty_engines.faults import engine_of\nengine = engine_of({fault.name!r})",
        leaf="engine.tensor({array}, requires_grad={requires_grad})",
        value="{x}.array",
        backward="engine.backward({output}, {seed}, retain_graph={retain_graph})",
        gradient="{leaf}.grad",
        zero_grad="{leaf}.zero_grad()",
        operators=spell("engine"),
        errors={
            "freed-graph": "RuntimeError: Trying to backward through the graph a second time",
            "implicit-seed": "RuntimeError: grad can be implicitly created only for scalar outputs",
            "seed-shape": "RuntimeError: Mismatch in shape",
            "no-graph": "RuntimeError: element 0 of tensors does not require grad",
        },
    )


def verdicts(fault: Fault, profile: str) -> dict[str, Verdict]:
    """Return the verdict of every check on a faulty engine, by the check's id."""
    grader = Grader(start(adapter(fault)), Settings(profile))
    return {check.id: grader.grade(check) for check in all_checks()}
