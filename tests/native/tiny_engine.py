"""An engine as small as one can be that refgrad drives: a tape in a few lines, for the tests."""

from __future__ import annotations

from typing import Any

from refgrad.native.adapter import TapeAdapter


def tiny_adapter(**changes: Any) -> TapeAdapter:
    """Return the adapter of the tiny engine, with some fields changed."""
    fields = {
        "name": "tiny",
        "setup": "from tests.native.tiny_tape import Tiny",
        "leaf": "Tiny({array}, requires_grad={requires_grad})",
        "value": "{x}.data",
        "backward": "{output}.backward({seed})",
        "gradient": "{leaf}.grad",
        "zero_grad": "setattr({leaf}, 'grad', None)",
        "operators": {"add": "{x} + {y}", "multiply": "{x} * {y}"},
        "lacks": frozenset({"error:freed-graph", "error:implicit-seed", "error:seed-shape", "error:no-graph"}),
    }
    return TapeAdapter(**{**fields, **changes})
