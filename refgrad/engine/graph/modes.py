"""The mode that decides whether operators are recorded.

It works like PyTorch's grad mode: it is on by default, is switched by ``no_grad``, ``enable_grad`` and
``set_grad_enabled``, and is separate for each thread and each asynchronous task.
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
    """Return True if operators are being recorded for a later backward."""
    return RECORDING.get()


class _Switched:
    """A context manager and decorator that sets the mode, and restores the previous one even after an exception."""

    __slots__ = ("before", "recording")

    def __init__(self, recording: bool) -> None:
        self.recording = recording
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(RECORDING.get())
        RECORDING.set(self.recording)

    def __exit__(self, *exception: object) -> None:
        RECORDING.set(self.before.pop())

    def __call__(self, function: Function) -> Function:
        """Wrap ``function`` so that its calls run in this mode; a generator is in the mode only while it runs."""
        if isgeneratorfunction(function):
            return self._around_generator(function)

        @wraps(function)
        def switched(*arguments: Any, **keywords: Any) -> Any:
            with _Switched(self.recording):
                return function(*arguments, **keywords)

        return switched  # type: ignore[return-value]

    def _around_generator(self, function: Function) -> Function:
        """Wrap a generator function: switch the mode whenever the generator resumes, and back whenever it yields."""

        @wraps(function)
        def switched(*arguments: Any, **keywords: Any) -> Any:
            generator = function(*arguments, **keywords)
            resume: Callable[[], Any] = partial(next, generator)
            while True:
                try:
                    with _Switched(self.recording):
                        value = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    resume = partial(generator.send, (yield value))
                except BaseException as error:  # noqa: BLE001 (passed on to the generator, as a close is)
                    resume = partial(generator.throw, error)

        return switched  # type: ignore[return-value]


def no_grad(function: Function | None = None) -> Any:
    """Disable recording: a context manager (with parentheses) or a decorator (with or without)."""
    switched = _Switched(recording=False)
    return switched if function is None else switched(function)


def enable_grad(function: Function | None = None) -> Any:
    """Enable recording inside of ``no_grad``: a context manager (with parentheses) or a decorator (with or without)."""
    switched = _Switched(recording=True)
    return switched if function is None else switched(function)


class set_grad_enabled(_Switched):  # noqa: N801 (PyTorch's name)
    """Sets the mode immediately; as a context manager, restores the previous mode at the end."""

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self.before.append(RECORDING.get())
        RECORDING.set(self.recording)

    def __enter__(self) -> None:
        RECORDING.set(self.recording)
