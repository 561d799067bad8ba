"""The mode that decides whether operators are recorded.

Like PyTorch's grad mode: on by default, switched by ``no_grad``, ``enable_grad`` and ``set_grad_enabled``, each
thread and each asynchronous task on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from inspect import isgeneratorfunction
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

RECORDING: ContextVar[bool] = ContextVar("recording", default=True)


def is_grad_enabled() -> bool:
    """Whether operators are being recorded for a later backward."""
    return RECORDING.get()


class _Switched:
    """A context manager and decorator that sets the mode, and restores what was before even after an exception."""

    __slots__ = ("before", "wanted")

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(RECORDING.get())
        RECORDING.set(self.wanted)

    def __exit__(self, *exception: object) -> None:
        RECORDING.set(self.before.pop())

    def __call__(self, function: Function) -> Function:
        """Run every call of ``function`` in this mode; of a generator, every part that runs by itself."""
        if isgeneratorfunction(function):
            return self._around_generator(function)

        @wraps(function)
        def switched(*arguments: Any, **keywords: Any) -> Any:
            with _Switched(self.wanted):
                return function(*arguments, **keywords)

        return switched  # type: ignore[return-value]

    def _around_generator(self, function: Function) -> Function:
        """Switch the mode whenever the generator runs, and back whenever it yields."""

        @wraps(function)
        def switched(*arguments: Any, **keywords: Any) -> Any:
            generator = function(*arguments, **keywords)
            resume: Callable[[], Any] = partial(next, generator)
            while True:
                try:
                    with _Switched(self.wanted):
                        value = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    resume = partial(generator.send, (yield value))
                except BaseException as error:  # noqa: BLE001 (it is the generator's to handle, as a close is)
                    resume = partial(generator.throw, error)

        return switched  # type: ignore[return-value]


def no_grad(function: Function | None = None) -> Any:
    """Record nothing: a context manager (with parentheses) or a decorator (with or without)."""
    switched = _Switched(wanted=False)
    return switched if function is None else switched(function)


def enable_grad(function: Function | None = None) -> Any:
    """Record again inside of ``no_grad``: a context manager (with parentheses) or a decorator (with or without)."""
    switched = _Switched(wanted=True)
    return switched if function is None else switched(function)


class set_grad_enabled(_Switched):  # noqa: N801 (PyTorch's name)
    """Set the mode at once; used in a ``with`` statement, restore it at the end."""

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self.before.append(RECORDING.get())
        RECORDING.set(self.wanted)

    def __enter__(self) -> None:
        RECORDING.set(self.wanted)
