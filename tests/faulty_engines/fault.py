"""What is known of a faulty engine, and how does the harness drive it?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from refgrad.harness import TapeAdapter, Verdict, spell, start
from refgrad.harness.checks import all_checks
from refgrad.harness.grading import Grader
from refgrad.harness.settings import Settings
from refgrad.operators import operator_table
from refgrad.scenario import parse
from tests.faulty_engines.forward_tape import ForwardTape
from tests.faulty_engines.tape import Tape


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """One way to be wrong.

    ``name`` continues the words "an engine that"; ``source`` is the real bug, or the kind of bug, that it is modelled
    on; ``breaks`` are the ids of the checks that must fail because of it, and no other may but those that
    ``may_break``, which meet the fault by luck only.
    """

    name: str
    source: str
    engine: type[Tape]
    breaks: frozenset[str]
    may_break: frozenset[str] = frozenset()


SEVERAL = frozenset({"graphs/several_backwards"})
GRAPHS = SEVERAL | {"graphs/one_backward"}

NO_FAULT = Fault("is right", "the tape as it stands", Tape, frozenset())


FAMILIES = frozenset({"elementwise", "broadcasting", "indexing", "products", "reductions", "shapes"})
"""Those that every faulty engine has: some sixty operators, so that a run takes a second."""


def library(fault: Fault) -> list[str]:
    """Return the operators that a faulty engine offers, those that it gets wrong among them."""
    broken = {check.partition("/")[2] for check in fault.breaks | fault.may_break}
    return [name for name, row in operator_table().items() if row.family in FAMILIES or name in broken]


def adapter(fault: Fault) -> TapeAdapter:
    """Return the adapter of a faulty engine."""
    return TapeAdapter(
        name=fault.name,
        setup=f"from tests.faulty_engines.faults import engine_of\nengine = engine_of({fault.name!r})",
        leaf="engine.tensor({array}, requires_grad={requires_grad})",
        value="{x}.array",
        backward="engine.backward({output}, {seed}, retain_graph={retain_graph})",
        gradient="{leaf}.grad",
        dtypes=("float64", "float32", "float16"),
        zero_grad="{leaf}.zero_grad()",
        jvp="engine.jvp({function}, {primals}, {tangents})" if issubclass(fault.engine, ForwardTape) else None,
        operators=spell("engine", library(fault)),
        errors={
            "freed-graph": "RuntimeError: Trying to backward through the graph a second time",
            "implicit-seed": "RuntimeError: grad can be implicitly created only for scalar outputs",
            "seed-shape": "RuntimeError: Mismatch in shape",
            "no-graph": "RuntimeError: element 0 of tensors does not require grad",
        },
    )


def verdicts(fault: Fault, profile: str, only: Collection[str] | None = None) -> dict[str, Verdict]:
    """Return the verdicts on a faulty engine by the checks' ids; ``only`` names some checks (all, if None)."""
    grader = Grader(start(adapter(fault)), Settings(profile))
    return {check.id: grader.grade(check) for check in all_checks() if only is None or check.id in only}


def is_generated(verdict: Verdict) -> bool:
    """Whether a check makes its own scenarios, rather than taking those of a behaviour."""
    return verdict.chapter in {"operators", "edges", "forward_mode", "graphs"}


def step_count(verdict: Verdict) -> int:
    """The number of steps of the scenario that shows what a verdict says."""
    return len(parse(verdict.scenario).steps)
