"""Further rules that can be taken out of the reference engine, so that a behaviour notices."""

from __future__ import annotations

from tests.faulty_engines.removals.removals_of_functions import REMOVALS_OF_FUNCTIONS
from tests.faulty_engines.removals.removals_of_hooks import REMOVALS_OF_HOOKS
from tests.faulty_engines.removals.removals_of_operators import REMOVALS_OF_OPERATORS
from tests.faulty_engines.removals.removals_of_shapes import REMOVALS_OF_SHAPES
from tests.faulty_engines.removals.removals_of_sweeps import REMOVALS_OF_SWEEPS
from tests.faulty_engines.removals.removals_of_ways import REMOVALS_OF_WAYS
from tests.faulty_engines.stateful.stateful_fault import StatefulFault

STATEFUL_REMOVALS: tuple[StatefulFault, ...] = (
    *REMOVALS_OF_SWEEPS,
    *REMOVALS_OF_OPERATORS,
    *REMOVALS_OF_SHAPES,
    *REMOVALS_OF_HOOKS,
    *REMOVALS_OF_FUNCTIONS,
    *REMOVALS_OF_WAYS,
)
