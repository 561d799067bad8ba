"""Large graphs whose values and gradients are known in closed form.

Every number is a multiple of a half, so that nothing is rounded unless the library computes in less than float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from refgrad.native.library import Library


@dataclass(frozen=True, slots=True)
class LargeGraph:
    """A family of graphs with a size ``n``.

    ``leaves`` is a Python expression for the list of the leaves' numbers. ``body`` returns the lines that compute ``y``
    from the tensors ``leaves``. ``value`` and ``gradients`` return the expected numbers for ``n``, by integer
    arithmetic. With ``calls`` there are n backward calls on one graph; with ``order`` 2 the gradient with respect to
    the first leaf is differentiated again. A graph is ``swept`` if only reverse mode computes its many gradients at
    once.
    """

    what: str
    operators: tuple[str, ...]
    leaves: str
    body: Callable[[Library], list[str]]
    value: Callable[[int], float]
    gradients: Callable[[int], Sequence[float]]
    order: int = 1
    calls: bool = False
    swept: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Features that an engine must offer besides the operators."""
        if self.calls:
            return ("retain_graph", "accumulate")
        return ("double_backward",) if self.order > 1 else ()


def _chain(library: Library) -> list[str]:
    return ["y = leaves[0]", "for _ in range(n):", f"    y = {library.apply('negative', 'y')}"]


def _recurrence(library: Library) -> list[str]:
    return ["weight, y = leaves", "for _ in range(n):", f"    y = {library.apply('multiply', 'y', 'weight')}"]


def _doubling(library: Library) -> list[str]:
    return ["y = leaves[0]", "for _ in range(n):", f"    y = {library.apply('add', 'y', 'y')}"]


def _diamonds(library: Library) -> list[str]:
    return [
        "y = leaves[0]",
        "for _ in range(n):",
        f"    left, right = {library.apply('negative', 'y')}, {library.apply('negative', 'y')}",
        f"    y = {library.apply('add', 'left', 'right')}",
    ]


def _skips(library: Library) -> list[str]:
    return ["before, y = leaves", "for _ in range(n):", f"    before, y = y, {library.apply('add', 'y', 'before')}"]


def _summed(library: Library) -> list[str]:
    """Return the lines that add up ``terms`` in pairs, so that no path is long."""
    return [
        "while len(terms) > 1:",
        f"    pairs = [{library.apply('add', 'a', 'b')} for a, b in zip(terms[::2], terms[1::2])]",
        "    terms = pairs + terms[len(pairs) * 2 :]",
        "y = terms[0]",
    ]


def _fan_out(library: Library) -> list[str]:
    return ["x = leaves[0]", f"terms = [{library.apply('negative', 'x')} for _ in range(n)]", *_summed(library)]


def _many_leaves(library: Library) -> list[str]:
    product = library.apply("multiply", "a", "b")
    return [f"terms = [{product} for a, b in zip(leaves, leaves[1:] + leaves[:1])]", *_summed(library)]


def _small(library: Library) -> list[str]:
    return ["a, b = leaves", f"y = {library.apply('multiply', 'a', 'b')}", f"y = {library.apply('multiply', 'y', 'b')}"]


def _sign(n: int) -> int:
    return -1 if n % 2 else 1


def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number: 0, 1, 1, 2, 3, 5."""
    first, second = 0, 1
    for _ in range(n):
        first, second = second, first + second
    return first


def _leaf(i: int) -> int:
    return i % 5 + 1


LARGE_GRAPHS: Final[Mapping[str, LargeGraph]] = MappingProxyType({
    "chain": LargeGraph(
        "a chain of n operators", ("negative",), "[1.5]", _chain, lambda n: 1.5 * _sign(n), lambda n: [_sign(n)]
    ),
    "recurrence": LargeGraph(
        "a recurrence of n steps with one weight",
        ("multiply",),
        "[-1.0, 1.5]",
        _recurrence,
        lambda n: 1.5 * _sign(n),
        lambda n: [1.5 * n * _sign(n - 1), _sign(n)],
    ),
    "doubling": LargeGraph("n times y = y + y", ("add",), "[1.5]", _doubling, lambda n: 1.5 * 2**n, lambda n: [2**n]),
    "diamonds": LargeGraph(
        "n chained diamonds", ("negative", "add"), "[1.5]", _diamonds, lambda n: 1.5 * (-2) ** n, lambda n: [(-2) ** n]
    ),
    "skips": LargeGraph(
        "n layers, each added to the one before it",
        ("add",),
        "[1.0, 1.0]",
        _skips,
        lambda n: fibonacci(n + 2),
        lambda n: [fibonacci(n), fibonacci(n + 1)],
    ),
    "fan_out": LargeGraph(
        "a leaf that is used n times", ("negative", "add"), "[1.5]", _fan_out, lambda n: -1.5 * n, lambda n: [-n]
    ),
    "many_leaves": LargeGraph(
        "n leaves",
        ("multiply", "add"),
        "[float(i % 5 + 1) for i in range(n)]",
        _many_leaves,
        lambda n: sum(_leaf(i) * _leaf((i + 1) % n) for i in range(n)),
        lambda n: [_leaf((i - 1) % n) + _leaf((i + 1) % n) for i in range(n)],
        swept=True,
    ),
    "many_calls": LargeGraph(
        "n backward calls on one graph",
        ("multiply",),
        "[2.0, 3.0]",
        _small,
        lambda _: 18.0,
        lambda n: [9.0 * n, 12.0 * n],
        calls=True,
    ),
    "second_order": LargeGraph(
        "a second derivative through n steps",
        ("multiply",),
        "[-1.0, 1.5]",
        _recurrence,
        lambda n: 1.5 * n * _sign(n - 1),
        lambda n: [1.5 * n * (n - 1) * _sign(n), n * _sign(n - 1)],
        order=2,
    ),
})
