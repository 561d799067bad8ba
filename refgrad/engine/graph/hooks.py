"""Hooks on the gradient of a node, and gradients that are retained there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Self

next_key: Callable[[], int] = count().__next__


class Watch:
    """The hooks on the gradient of a node, and the retained gradient (``.grad``) of a computed tensor."""

    __slots__ = ("grad", "hooks", "retains")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.retains = False
        self.grad: Any = None


class Handle:
    """A handle to remove a hook. Keys are never reused, so it cannot remove any other hook."""

    __slots__ = ("hooks", "key")

    def __init__(self, hooks: dict[int, Callable[[Any], Any]], hook: Callable[[Any], Any]) -> None:
        self.hooks = hooks
        self.key = next_key()
        hooks[self.key] = hook

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        self.hooks.pop(self.key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
