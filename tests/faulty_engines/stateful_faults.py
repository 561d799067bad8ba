"""Which lives of graphs must the suite see to be wrong?"""

from __future__ import annotations

from tests.faulty_engines.stateful_accumulation_faults import STATEFUL_ACCUMULATION_FAULTS
from tests.faulty_engines.stateful_fault import StatefulFault
from tests.faulty_engines.stateful_gradient_faults import STATEFUL_GRADIENT_FAULTS
from tests.faulty_engines.stateful_hook_faults import STATEFUL_HOOK_FAULTS
from tests.faulty_engines.stateful_mode_faults import STATEFUL_MODE_FAULTS
from tests.faulty_engines.stateful_release_faults import STATEFUL_RELEASE_FAULTS
from tests.faulty_engines.stateful_writing_faults import STATEFUL_WRITING_FAULTS

STATEFUL_FAULTS: tuple[StatefulFault, ...] = (
    *STATEFUL_ACCUMULATION_FAULTS,
    *STATEFUL_RELEASE_FAULTS,
    *STATEFUL_MODE_FAULTS,
    *STATEFUL_WRITING_FAULTS,
    *STATEFUL_HOOK_FAULTS,
    *STATEFUL_GRADIENT_FAULTS,
)
