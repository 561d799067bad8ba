"""A mode of PyTorch in which every operator computes in float64, whichever precision its arguments have or ask for."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def raised_mode(torch: Any) -> type:
    """Return the mode, as a class of this library."""
    real = (torch.float32, torch.float16, torch.bfloat16)
    higher = {**dict.fromkeys(real, torch.float64), torch.complex64: torch.complex128}

    def raised(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(higher[value.dtype]) if value.dtype in higher else value
        if isinstance(value, torch.dtype):
            return higher.get(value, value)
        if isinstance(value, list | tuple):
            return type(value)(raised(item) for item in value)
        return value

    class Raised(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]  # noqa: SLF001 (it has no public name)
        """Sees each operator below autograd and autocast."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            first = 1 if func._schema.is_mutable else 0  # noqa: SLF001 (PyTorch's own modes read it)
            arguments = (*args[:first], *(raised(argument) for argument in args[first:]))
            return func(*arguments, **{name: raised(value) for name, value in (kwargs or {}).items()})

    return Raised
