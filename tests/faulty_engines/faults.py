"""The faults that the suite must catch."""

from __future__ import annotations

from tests.faulty_engines.fault import ALONE, NO_FAULT, Fault
from tests.faulty_engines.rules.algebra_faults import ALGEBRA_FAULTS
from tests.faulty_engines.rules.contract_faults import CONTRACT_FAULTS
from tests.faulty_engines.rules.forward_faults import FORWARD_FAULTS, NO_FORWARD_FAULT
from tests.faulty_engines.rules.layer_faults import LAYER_FAULTS
from tests.faulty_engines.rules.nesting_faults import NESTING_FAULTS, NO_RECORDING_FAULT
from tests.faulty_engines.rules.overflow_faults import OVERFLOW_FAULTS
from tests.faulty_engines.rules.precision_faults import PRECISION_FAULTS
from tests.faulty_engines.rules.rule_faults import RULE_FAULTS
from tests.faulty_engines.rules.shape_faults import SHAPE_FAULTS
from tests.faulty_engines.rules.value_faults import VALUE_FAULTS
from tests.faulty_engines.rules.window_faults import WINDOW_FAULTS
from tests.faulty_engines.sweeps.lifecycle_faults import LIFECYCLE_FAULTS
from tests.faulty_engines.sweeps.memory_faults import MEMORY_FAULTS
from tests.faulty_engines.sweeps.sweep_faults import SWEEP_FAULTS
from tests.faulty_engines.tapes.fused_tape import FusedTape, fused
from tests.faulty_engines.tapes.tape import Tape

FAULTS: tuple[Fault, ...] = (
    *RULE_FAULTS,
    *VALUE_FAULTS,
    *OVERFLOW_FAULTS,
    *SHAPE_FAULTS,
    *WINDOW_FAULTS,
    *ALGEBRA_FAULTS,
    *LAYER_FAULTS,
    *SWEEP_FAULTS,
    *MEMORY_FAULTS,
    *CONTRACT_FAULTS,
    *LIFECYCLE_FAULTS,
    *PRECISION_FAULTS,
    *FORWARD_FAULTS,
    *NESTING_FAULTS,
)

NO_FUSED_FAULT = Fault(
    "is right in one piece",
    "the tape with every composite that a fault breaks in one piece",
    fused(*sorted({name for f in FAULTS if issubclass(f.engine, FusedTape) for name in f.engine.fused})),
    frozenset(),
    families=ALONE,
)

CLEAN: tuple[Fault, ...] = (NO_FAULT, NO_FORWARD_FAULT, NO_RECORDING_FAULT, NO_FUSED_FAULT)
"""Engines without a fault, that those with one are made of."""


def engine_of(name: str) -> Tape:
    """Return a new engine that has the fault of this name."""
    (fault,) = (fault for fault in (*CLEAN, *FAULTS) if fault.name == name)
    return fault.engine()
