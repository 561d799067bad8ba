"""How is an engine held against what must happen? Adapters, execution, comparison, checks, verdicts."""

from refgrad.harness.behaviours import Behaviour, BehaviourError, all_behaviours
from refgrad.harness.examination import examine
from refgrad.harness.journal import Journal, JournalError
from refgrad.harness.verdict import FAILURES, OUTCOMES, Finding, Outcome, Verdict
from refgrad.native.adapter import (
    FEATURES,
    Adapter,
    AdapterError,
    AnyAdapter,
    FunctionalAdapter,
    Inventory,
    TapeAdapter,
    engine_version,
    find_adapter,
    inventories_of,
    registered_engines,
    spell,
)
from refgrad.native.engine import Engine, EngineStartError, observe, reproduce, start

__all__ = [
    "FAILURES",
    "FEATURES",
    "OUTCOMES",
    "Adapter",
    "AdapterError",
    "AnyAdapter",
    "Behaviour",
    "BehaviourError",
    "Engine",
    "EngineStartError",
    "Finding",
    "FunctionalAdapter",
    "Inventory",
    "Journal",
    "JournalError",
    "Outcome",
    "TapeAdapter",
    "Verdict",
    "all_behaviours",
    "engine_version",
    "examine",
    "find_adapter",
    "inventories_of",
    "observe",
    "registered_engines",
    "reproduce",
    "spell",
    "start",
]
