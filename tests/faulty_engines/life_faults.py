"""Which lives of graphs must the suite see to be wrong?"""

from __future__ import annotations

from tests.faulty_engines.life_accumulation_faults import LIFE_ACCUMULATION_FAULTS
from tests.faulty_engines.life_fault import LifeFault
from tests.faulty_engines.life_gradient_faults import LIFE_GRADIENT_FAULTS
from tests.faulty_engines.life_hook_faults import LIFE_HOOK_FAULTS
from tests.faulty_engines.life_mode_faults import LIFE_MODE_FAULTS
from tests.faulty_engines.life_release_faults import LIFE_RELEASE_FAULTS
from tests.faulty_engines.life_writing_faults import LIFE_WRITING_FAULTS

LIFE_FAULTS: tuple[LifeFault, ...] = (
    *LIFE_ACCUMULATION_FAULTS,
    *LIFE_RELEASE_FAULTS,
    *LIFE_MODE_FAULTS,
    *LIFE_WRITING_FAULTS,
    *LIFE_HOOK_FAULTS,
    *LIFE_GRADIENT_FAULTS,
)
