"""The table of kernels and faults: what the check, flash-attention's rule and allclose find.

Flash-attention's rule passes a gradient if its largest error is at most twice that of PyTorch's own gradient in the
same dtype. Allclose compares with PyTorch's own gradient within the tolerances that its tests use for the dtype.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from refgrad import check_gradients
from tests.checking.low_precision.kernels import FAULTS, KERNELS, Choices, Kernel, function_of, inputs_of, torch

DTYPES = (torch.bfloat16, torch.float16)

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
    """Return gradients under a random cotangent: of the kernel, or of PyTorch's own rules for its forward."""
    inputs = [x.detach().to(dtype).requires_grad_() for x in inputs_of(kernel, DTYPES[0], seed)]
    plain = Choices("low")
    function = (lambda *given: kernel.forward(plain, *given)[0]) if choices is None else function_of(kernel, choices)
    output = function(*inputs)  # type: ignore[no-untyped-call]
    cotangent = torch.randn(output.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return list(torch.autograd.grad(output, inputs, cotangent.to(DTYPES[0]).to(output.dtype)))


def usual(kernel: Kernel, choices: Choices, dtype: Any, seed: int) -> tuple[bool, bool]:
    """Return whether flash-attention's rule and whether allclose find something."""
    truth = gradients(kernel, torch.float64, seed, None)
    own = gradients(kernel, dtype, seed, None)
    found = gradients(kernel, dtype, seed, choices)
    triples = list(zip(found, own, truth, strict=True))
    flash = any((g - t).abs().max() > 2 * (o - t).abs().max() + 1e-5 for g, o, t in triples)
    rtol, atol = (1.6e-2, 1e-2) if dtype == torch.bfloat16 else (1e-3, 1e-3)
    return bool(flash), not all(torch.allclose(g, o, rtol=rtol, atol=atol) for g, o, _ in triples)


def printed(names: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of the table: of each fault how often each way finds it, and how often a right kernel fails."""
    yield f"{'kernel':24}{'dtype':10}{'fault':14}{'check':>8}{'flash':>8}{'allclose':>10}\n"
    totals = Counter[str]()
    for name in names or KERNELS:
        kernel = KERNELS[name]
        for dtype, fault in product(DTYPES, ("", *FAULTS, *kernel.faults)):
            counts = Counter[str]()
            cases = (
                (*RIGHT, HIDDEN) if not fault else [Choices(c.inside, c.saved, c.order, c.hidden, fault) for c in WRONG]
            )
            for seed, choices in enumerate(cases):
                flash, close = usual(kernel, choices, dtype, seed)
                counts.update(check=outcome(kernel, choices, dtype, seed).outcome == "wrong", flash=flash, close=close)
            totals.update(
                {f"{bool(fault)} {key}": count for key, count in counts.items()}, **{str(bool(fault)): len(cases)}
            )
            row = "".join(f"{f'{counts[key]}/{len(cases)}':>{width}}" for key, width in WIDTHS)
            yield f"{name:24}{str(dtype)[6:]:10}{fault or 'none':14}{row}\n"
    for kind, text in (("True", "faults found"), ("False", "right kernels called wrong")):
        row = "".join(f"{f'{totals[kind + chr(32) + key]}/{totals[kind]}':>{width}}" for key, width in WIDTHS)
        yield f"{text:48}{row}\n"


WIDTHS = (("check", 9), ("flash", 9), ("close", 10))
"""Widths of the columns."""
