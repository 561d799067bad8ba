"""Which lives of graphs must the suite see to be wrong?"""

from __future__ import annotations

from unittest.mock import patch

from refgrad.engine.tensor import Tensor
from tests.faulty_engines.life_fault import LifeFault

LIFE_FAULTS: tuple[LifeFault, ...] = (
    LifeFault(
        "keeps the graph of what it detaches",
        "generic: detach is forgotten",
        lambda: patch.object(
            Tensor, "detach", lambda tensor: Tensor(tensor.shared_array(), tensor.node, tensor.writes)
        ),
    ),
)
