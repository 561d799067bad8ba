"""Exercises for hooks that run backward themselves, and for regions without recording that must end."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from refgrad.grading.measurements.exercises.exercise import Exercise, Lines, leaf, note, polynomial, slope
from refgrad.native.library import Library


def _backward_in_hook(tensor: str) -> Lines:
    """Return the lines of a backward call with a hook that runs backward on another graph, built before."""

    def lines(library: Library) -> list[str]:
        assert library.tape is not None
        hook = library.template(library.tape.hook, x=tensor, function="inside")
        return [
            *slope(library).splitlines(),
            "",
            "received = []",
            "",
            f"w = {leaf(library, '5.0')}",
            f"inner = {polynomial(library, 'w')}",
            "",
            "def inside(gradient):",
            f"    {library.backward('inner')}",
            f"    received.append({library.gradient('w')})",
            "",
            f"x = {leaf(library, '3.0')}",
            f"y = {library.apply('multiply', 'x', 'x')}",
            f"handle = {hook}",
            f"z = {library.apply('multiply', 'y', 'x')}",
            library.backward("z"),
            note("how often the hook ran", "len(received)"),
            "for gradient in received:",
            f"    {note('the gradient of the inner graph', 'gradient')}",
            note("the gradient of the outer graph", library.gradient("x")),
            note("the gradient of the next graph", "slope(7)[1]"),
        ]

    return lines


def _outlived(*lines: str) -> Lines:
    """Return ``lines``, and after them those that record a graph.

    ``{region}`` stands for a region without recording, and ``{around}`` for ``work`` wrapped in one.
    """

    def written(library: Library) -> list[str]:
        tape = library.tape
        assert tape is not None
        region = library.template(tape.no_grad)
        around = None if tape.no_grad_around is None else library.template(tape.no_grad_around, function="work")
        return [
            f"x = {leaf(library, '3.0')}",
            "",
            "def gradient_of(y):  # None where nothing was recorded",
            "    try:",
            f"        {library.backward('y')}",
            "    except Exception:",
            "        pass",
            f"    return {library.gradient('x')}",
            "",
            "def forward():",
            f"    return {polynomial(library)}",
            "",
            *(line.format(region=region, around=around) for line in lines),
            note("the gradient of what was computed inside the region", "gradient_of(y)"),
            note("the gradient of what was computed after the region", "gradient_of(forward())"),
        ]

    return written


EXPECTED: Final[Mapping[str, float | None]] = MappingProxyType({
    "the gradient of what was computed inside the region": None,
    "the gradient of what was computed after the region": 7.0,
})

GENERATOR: Final = ("def work():", "    y = forward()", "    yield y", "    yield forward()", "")
REGION_IN_GENERATOR: Final = ("def work():", "    with {region}:", *(f"    {line}" for line in GENERATOR[1:4]), "")


def _of_region(what: str, *lines: str, around: bool = False) -> Exercise:
    fields = ("no_grad_around",) if around else ()
    return Exercise(what, EXPECTED, _outlived(*lines), features=("no_grad",), fields=fields)


def _of_hook(what: str, tensor: str) -> Exercise:
    expected = {
        "how often the hook ran": 1.0,
        "the gradient of the inner graph": 11.0,
        "the gradient of the outer graph": 27.0,
        "the gradient of the next graph": 15.0,
    }
    return Exercise(what, expected, _backward_in_hook(tensor), features=("hooks",))


REGIONS: Final[Mapping[str, Exercise]] = MappingProxyType({
    "backward_in_hook": _of_hook("a backward inside of a hook on a computed tensor", "y"),
    "backward_in_hook_of_leaf": _of_hook("a backward inside of a hook on a leaf", "x"),
    "left_by_return": _of_region(
        "a region that is left by a return",
        *("def work():", "    with {region}:", "        return forward()", "", "y = work()"),
    ),
    "left_by_error_many_times": _of_region(
        "a region that is left by an error, 300 times",
        *("for _ in range(300):", "    try:", "        with {region}:", "            y = forward()"),
        *("            raise KeyError", "    except KeyError:", "        pass"),
    ),
    "exhausted_generator": _of_region(
        "a region in a generator that comes to its end", *REGION_IN_GENERATOR, "y = list(work())[0]"
    ),
    "closed_generator": _of_region(
        "a region in a generator that is closed",
        *(*REGION_IN_GENERATOR, "generator = work()", "y = next(generator)", "generator.close()"),
    ),
    "decorated": _of_region(
        "a function in which nothing is recorded",
        *("def work():", "    return forward()", "", "y = ({around})()"),
        around=True,
    ),
    "decorated_error": _of_region(
        "a function in which nothing is recorded, and that raises",
        *("def work():", "    results.append(forward())", "    raise KeyError", "", "results = []"),
        *("try:", "    ({around})()", "except KeyError:", "    pass", "y = results[0]"),
        around=True,
    ),
    "decorated_recursion": _of_region(
        "a function in which nothing is recorded, and that calls itself",
        *("def work(n=3):", "    inner = around(n - 1) if n else None", "    return forward()", ""),
        *("around = {around}", "y = around()"),
        around=True,
    ),
    "decorated_inside": _of_region(
        "a function in which nothing is recorded, called inside of a region",
        *("def work():", "    return forward()", "", "with {region}:", "    ({around})()", "    y = forward()"),
        around=True,
    ),
    "decorated_generator": _of_region(
        "a generator in which nothing is recorded",
        *(*GENERATOR, "generator = ({around})()", "y = next(generator)", "generator.close()"),
        around=True,
    ),
    "suspended_generator": _of_region(
        "a graph next to a generator in which nothing is recorded",
        *(*GENERATOR, "generator = ({around})()", "y = next(generator)"),
        around=True,
    ),
})
"""Exercises by the name that rows use."""
