"""The source of an engine of Python floats that frees its graphs, unless a keyword of the backward says otherwise."""

from __future__ import annotations

from tests.grading import scalar_tape


def source(keyword: str, default: str) -> str:
    """Return the source with this keyword, whose default frees."""
    frees = keyword if default == "True" else f"not {keyword}"
    freed = (
        "value.send()\n"
        "        for value in order:\n"
        f"            if value.parents and {frees}: value.freed = True\n"
        "            value.grad = 0.0 if value.parents else value.grad"
    )
    refused = "if hasattr(value, 'freed'): raise RuntimeError('freed')\n                order.append(value)"
    return (
        scalar_tape.SOURCE
        .replace("def backward(self)", f"def backward(self, {keyword}={default})")
        .replace("value.send()", freed)
        .replace("order.append(value)", refused)
    )
