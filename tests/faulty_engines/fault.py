"""What is known of a faulty engine, and how it is graded."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache

from refgrad.grading.bench import Bench
from refgrad.grading.checks.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.check import Check
from refgrad.grading.checks.claims import Claim
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.interpreter import expanded
from refgrad.native.adapter import TapeAdapter, spell
from refgrad.native.engine import start
from refgrad.operators import operator_table
from refgrad.scenario import parse
from tests.faulty_engines.tapes.forward_tape import ForwardTape
from tests.faulty_engines.tapes.fused_tape import FusedTape
from tests.faulty_engines.tapes.recording_tape import RecordingTape
from tests.faulty_engines.tapes.tape import Tape
from tests.grading.sparing import TrustingBench

FAMILIES = frozenset({"elementwise", "broadcasting", "indexing", "products", "reductions", "shapes"})
"""Those that most faulty engines have: some sixty operators."""

ALONE: frozenset[str] = frozenset()
"""No family: for a fault of one operator that others do not meet."""


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """One way to be wrong.

    ``name`` continues the words "an engine that"; ``source`` is the real bug, or the kind of bug, that it is modelled
    on; ``breaks`` are the ids of the checks that must fail because of it, and no other may but those that
    ``may_break``, which meet the fault by luck only. The engine has the operators of ``families``, those that
    behaviours are about, and those that are broken.
    """

    name: str
    source: str
    engine: type[Tape]
    breaks: frozenset[str]
    may_break: frozenset[str] = frozenset()
    families: frozenset[str] = FAMILIES


SEVERAL = frozenset({"graphs/several_backwards"})
GRAPHS = SEVERAL | {"graphs/one_backward"}

NO_FAULT = Fault("is right", "the tape as it stands", Tape, frozenset())


def library(fault: Fault) -> list[str]:
    """Return the operators that a faulty engine offers, those that it gets wrong among them."""
    fused = fault.engine.fused if issubclass(fault.engine, FusedTape) else frozenset[str]()
    wanted = broken_by(fault) | asked_for() | fused
    return [name for name, row in operator_table().items() if row.family in fault.families or name in wanted]


def broken_by(fault: Fault) -> frozenset[str]:
    """Return the operators that a faulty engine gets wrong, or may be seen to; other checks' names are among them."""
    return frozenset(check.partition("/")[2] for check in fault.breaks | fault.may_break)


@cache
def asked_for() -> frozenset[str]:
    """Return the operators that behaviours are about."""
    return frozenset().union(*(scenario.operators for b in all_behaviours() for scenario in b.scenarios))


@cache
def applied_by_behaviours() -> frozenset[str]:
    """Return the operators that behaviours are about, and those that composites among them are made of."""
    scenarios = [scenario for behaviour in all_behaviours() for scenario in behaviour.scenarios]
    return asked_for().union(*(expanded(scenario).operators for scenario in scenarios))


def may_meet_behaviours(fault: Fault) -> bool:
    """Return True unless all scenarios of behaviours do without the only operator that a faulty engine gets wrong.

    If they do, the engine shows in each of them what it shows without its fault.
    """
    return not fault.engine.faulty or fault.engine.faulty in applied_by_behaviours()


def adapter(fault: Fault) -> TapeAdapter:
    """Return the adapter of a faulty engine."""
    return replace(
        plain_adapter(fault.engine, *library(fault)),
        name=fault.name,
        setup=f"from tests.faulty_engines.faults import engine_of\nengine = engine_of({fault.name!r})",
        dtypes=("float64", "float32", "float16"),
        subgradients=True,
        zero_grad="{leaf}.zero_grad()",
        grad="engine.grad({output}, {leaf}, {seed})" if issubclass(fault.engine, RecordingTape) else None,
        jvp="engine.jvp({function}, {primals}, {tangents})" if issubclass(fault.engine, ForwardTape) else None,
        errors={
            "freed-graph": "RuntimeError: Trying to backward through the graph a second time",
            "implicit-seed": "RuntimeError: grad can be implicitly created only for scalar outputs",
            "seed-shape": "RuntimeError: Mismatch in shape",
            "no-graph": "RuntimeError: element 0 of tensors does not require grad",
        },
    )


def plain_adapter(engine: type[Tape], *operators: str) -> TapeAdapter:
    """Return the adapter of a tape with these operators, and with nothing but backward."""
    return TapeAdapter(
        name=engine.__name__,
        setup=f"from {engine.__module__} import {engine.__name__}\nengine = {engine.__name__}()",
        leaf="engine.tensor({array}, requires_grad={requires_grad})",
        value="{x}.array",
        backward="engine.backward({output}, {seed}, retain_graph={retain_graph})",
        gradient="{leaf}.grad",
        operators=spell("engine", operators),
    )


def verdicts(fault: Fault, profile: str, only: Collection[str] | None = None) -> dict[str, Verdict]:
    """Return the verdicts on a faulty engine by the checks' ids; ``only`` names some (None: all but measurements).

    Where some are named, operators that the fault does not break are taken to be right by themselves.
    """
    engine, settings = start(adapter(fault)), Settings(profile)
    bench = Bench(engine, settings) if only is None else TrustingBench(engine, settings, doubted=broken_by(fault))
    return {check.id: bench.grade(check) for check in checks_by_scenarios() if only is None or check.id in only}


@cache
def checks_by_scenarios() -> tuple[Check, ...]:
    """All checks but those that are measured."""
    return tuple(check for check in all_checks() if not is_measured(check))


def is_measured(check: Check) -> bool:
    """Whether a check has broken engines of its own, in ``tests/grading/measurements/`` or ``test_claims.py``."""
    return isinstance(check, Claim) or (isinstance(check, BehaviourCheck) and check.behaviour.measurement is not None)


DRAWN = frozenset({
    "operators",
    "edges",
    "contracts",
    "second_order",
    "third_order",
    "forward_mode",
    "mixed_modes",
    "graphs",
})
"""The chapters of checks that draw their scenarios."""


def is_generated(verdict: Verdict) -> bool:
    """Whether a check makes its own scenarios, rather than taking those of a behaviour."""
    return verdict.chapter in DRAWN


def step_count(verdict: Verdict) -> int:
    """The number of steps of the scenario that shows a fault; of two kinds of fault, of the plainer one."""
    shown = [verdict.scenario, *(further.scenario for further in verdict.further)]
    return min(len(parse(scenario).steps) for scenario in shown)
