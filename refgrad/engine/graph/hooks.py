"""Hooks on the gradient that passes a node, and gradients that are kept there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Self

next_key: Callable[[], int] = count().__next__


class Watch:
    """Who looks at the gradient that passes a node: hooks, and whether it is kept as ``.grad`` of a tensor."""

    __slots__ = ("grad", "hooks", "retains")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable[[Any], Any]] = {}
        self.retains = False
        self.grad: Any = None


class Handle:
    """Takes a hook away again, and never another: a key that was given once is not given again."""

    __slots__ = ("hooks", "key")

    def __init__(self, hooks: dict[int, Callable[[Any], Any]], hook: Callable[[Any], Any]) -> None:
        self.hooks = hooks
        self.key = next_key()
        hooks[self.key] = hook

    def remove(self) -> None:
        """Stop calling the hook; doing so twice is fine."""
        self.hooks.pop(self.key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()
