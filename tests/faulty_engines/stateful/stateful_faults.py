"""The lives of graphs that the suite must see to be wrong."""

from __future__ import annotations

from tests.faulty_engines.stateful.accumulation_faults import STATEFUL_ACCUMULATION_FAULTS
from tests.faulty_engines.stateful.gradient_faults import STATEFUL_GRADIENT_FAULTS
from tests.faulty_engines.stateful.hook_faults import STATEFUL_HOOK_FAULTS
from tests.faulty_engines.stateful.mode_faults import STATEFUL_MODE_FAULTS
from tests.faulty_engines.stateful.release_faults import STATEFUL_RELEASE_FAULTS
from tests.faulty_engines.stateful.stateful_fault import StatefulFault
from tests.faulty_engines.stateful.writing_faults import STATEFUL_WRITING_FAULTS

STATEFUL_FAULTS: tuple[StatefulFault, ...] = (
    *STATEFUL_ACCUMULATION_FAULTS,
    *STATEFUL_RELEASE_FAULTS,
    *STATEFUL_MODE_FAULTS,
    *STATEFUL_WRITING_FAULTS,
    *STATEFUL_HOOK_FAULTS,
    *STATEFUL_GRADIENT_FAULTS,
)
