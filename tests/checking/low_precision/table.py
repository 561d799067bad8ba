"""The table of kernels and faults: what the check, flash-attention's rule and allclose find.

Flash-attention's rule passes a gradient if its largest error is at most twice that of PyTorch's own gradient in the
same dtype. Allclose compares with PyTorch's own gradient within the tolerances that its tests use for the dtype.

The journal has a line for each run, so that a table that is stopped goes on where it stopped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from refgrad import check_gradients
from tests.checking.low_precision.fp8_kernels import EIGHT_BITS
from tests.checking.low_precision.fused_kernels import FUSED
from tests.checking.low_precision.kernels import FAULTS, KERNELS, Choices, Kernel, function_of, inputs_of, torch

DTYPES = (torch.bfloat16, torch.float16)

EVERY: Mapping[str, Kernel] = MappingProxyType({**KERNELS, **FUSED, **EIGHT_BITS})
"""All kernels by their names."""

BACKWARDS = (
    *product((*KERNELS, *FUSED), DTYPES),
    *((name, torch.bfloat16 if "e4m3" in name else torch.float32) for name in EIGHT_BITS),
)
"""The names of the kernels and the dtypes of their inputs."""

RIGHT = tuple(Choices(*each) for each in product(("float32", "low"), ("float32", "low"), ("plain", "chunks")))
HIDDEN = Choices(hidden=True)
"""A kernel whose operators nobody sees."""

WRONG = (Choices(), HIDDEN, Choices("low", "low"))
"""Choices with which faults are combined."""


def outcome(kernel: Kernel, choices: Choices, dtype: Any, seed: int, **options: Any) -> Any:
    """Return the report of the check."""
    inputs = inputs_of(kernel, dtype, seed)
    return check_gradients(
        function_of(kernel, choices), inputs, seed=seed, raise_exception=False, strict=False, **options
    )


def gradients(kernel: Kernel, dtype: Any, seed: int, choices: Choices | None) -> list[Any]:
    """Return gradients under random cotangents: of the kernel, or of PyTorch's own rules for its forward."""
    inputs = [x.detach().to(dtype).requires_grad_() for x in inputs_of(kernel, DTYPES[0], seed)]
    plain = Choices("low")
    function = (lambda *given: kernel.forward(plain, *given)[0]) if choices is None else function_of(kernel, choices)
    found = function(*inputs)  # type: ignore[no-untyped-call]
    outputs = found if isinstance(found, tuple) else (found,)
    generator = torch.Generator().manual_seed(seed)
    random = [torch.randn(output.shape, generator=generator, dtype=torch.float64) for output in outputs]
    cotangents = [c.to(DTYPES[0]).to(output.dtype) for c, output in zip(random, outputs, strict=True)]
    return list(torch.autograd.grad(outputs, inputs, cotangents))


def usual(kernel: Kernel, choices: Choices, dtype: Any, seed: int) -> tuple[bool, bool]:
    """Return whether flash-attention's rule and whether allclose find something."""
    truth = gradients(kernel, torch.float64, seed, None)
    own = gradients(kernel, dtype, seed, None)
    found = gradients(kernel, dtype, seed, choices)
    triples = list(zip(found, own, truth, strict=True))
    flash = any((g - t).abs().max() > 2 * (o - t).abs().max() + 1e-5 for g, o, t in triples)
    rtol, atol = {torch.bfloat16: (1.6e-2, 1e-2), torch.float16: (1e-3, 1e-3)}.get(dtype, (1.3e-6, 1e-5))
    return bool(flash), not all(torch.allclose(g, o, rtol=rtol, atol=atol) for g, o, _ in triples)


def cells() -> Iterator[tuple[str, Any, int, Choices]]:
    """Yield the runs of the table: kernel, dtype, seed, and choices with a fault or none."""
    for name, dtype in BACKWARDS:
        for fault in ("", *FAULTS, *EVERY[name].faults):
            for seed, choices in enumerate(WRONG if fault else (*RIGHT, HIDDEN)):
                yield name, dtype, seed, replace(choices, fault=fault)


def run(journal: Path, first: int, last: int) -> None:
    """Check the runs of the table from ``first`` to ``last`` that the journal does not have, and append to it."""
    known = {row["number"] for row in rows(journal)}
    with journal.open("a") as file:
        for number, (name, dtype, seed, choices) in enumerate(cells()):
            if number in known or not first <= number < last:
                continue
            report = outcome(EVERY[name], choices, dtype, seed, contexts=())
            flash, close = usual(EVERY[name], choices, dtype, seed)
            row = {"number": number, "kernel": name, "dtype": str(dtype)[6:], "fault": choices.fault, "seed": seed}
            row |= {"outcome": report.outcome, "flash": flash, "allclose": close, "detectable": dict(report.detectable)}
            if (report.outcome == "wrong") is not bool(choices.fault):
                row["text"] = str(report)[:300]
            file.write(json.dumps(row) + "\n")
            file.flush()


def rows(journal: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal. The last may be cut off."""
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def printed(journal: Path) -> Iterator[str]:
    """Yield the lines of the table: of each fault how often each way finds it, and how often a right kernel fails."""
    found = rows(journal)
    yield f"{'kernel':30}{'dtype':10}{'fault':14}{'check':>8}{'flash':>8}{'allclose':>10}\n"
    by_cell, totals = dict[tuple[str, str, str], Counter[str]](), dict[tuple[str, str], Counter[str]]()
    for row in found:
        counts = Counter(runs=1, check=row["outcome"] == "wrong", flash=row["flash"], allclose=row["allclose"])
        bits = "8 bits" if row["kernel"] in EIGHT_BITS else "16 bits"
        total = (bits, "faults found" if row["fault"] else "right kernels called wrong")
        by_cell.setdefault((row["kernel"], row["dtype"], row["fault"] or "none"), Counter()).update(counts)
        totals.setdefault(total, Counter()).update(counts)
    for (name, dtype, fault), counts in by_cell.items():
        yield f"{name:30}{dtype:10}{fault:14}{_shares(counts)}"
    for (bits, text), counts in totals.items():
        yield f"{f'{bits}: {text}':54}{_shares(counts)}"


def _shares(counts: Mapping[str, int]) -> str:
    """Return the end of a line."""
    runs = counts["runs"]
    return "".join(f"{f'{counts[key]}/{runs}':>{width}}" for key, width in WIDTHS) + "\n"


WIDTHS = (("check", 9), ("flash", 9), ("allclose", 10))
"""Widths of the columns."""
