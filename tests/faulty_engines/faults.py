"""Which faults must the suite catch?"""

from __future__ import annotations

from tests.faulty_engines.fault import NO_FAULT, Fault
from tests.faulty_engines.forward_faults import FORWARD_FAULTS, NO_FORWARD_FAULT
from tests.faulty_engines.lifecycle_faults import LIFECYCLE_FAULTS
from tests.faulty_engines.memory_faults import MEMORY_FAULTS
from tests.faulty_engines.precision_faults import PRECISION_FAULTS
from tests.faulty_engines.rule_faults import RULE_FAULTS
from tests.faulty_engines.shape_faults import SHAPE_FAULTS
from tests.faulty_engines.sweep_faults import SWEEP_FAULTS
from tests.faulty_engines.tape import Tape

FAULTS: tuple[Fault, ...] = (
    *RULE_FAULTS,
    *SHAPE_FAULTS,
    *SWEEP_FAULTS,
    *MEMORY_FAULTS,
    *LIFECYCLE_FAULTS,
    *PRECISION_FAULTS,
    *FORWARD_FAULTS,
)


def engine_of(name: str) -> Tape:
    """Return a new engine that has the fault of this name."""
    (fault,) = (fault for fault in (NO_FAULT, NO_FORWARD_FAULT, *FAULTS) if fault.name == name)
    return fault.engine()
