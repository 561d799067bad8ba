"""Exercises for threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from refgrad.grading.measurements.exercises.delayed import SLOPE
from refgrad.grading.measurements.exercises.exercise import Exercise, leaf, less, note, polynomial, slope
from refgrad.native.library import Library


def _in_threads(work: str, count: int) -> list[str]:
    """Return the lines that call a function with 1 to ``count`` in one thread each, and raise the first exception."""
    return [
        "errors = []",
        "",
        "def guarded(k):",
        "    try:",
        f"        {work}(k)",
        "    except Exception as error:",
        "        errors.append(error)",
        "",
        f"threads = [threading.Thread(target=guarded, args=(k,)) for k in range(1, {count} + 1)]",
        "for thread in threads:",
        "    thread.start()",
        "for thread in threads:",
        "    thread.join()",
        "for error in errors:",
        "    raise error",
    ]


def _work(lines: Sequence[str]) -> list[str]:
    return ["def work(k):", *(f"    {line}" for line in lines), ""]


def _own_graphs(library: Library) -> list[str]:
    lines = ["for _ in range(100):", "    received.append((k, slope(k)[1]))"]
    after = ["for k, gradient in received:", f"    {note(SLOPE, less('gradient', '(2 * k + 1)'))}"]
    return [*slope(library).splitlines(), "", "received = []", *_work(lines), *_in_threads("work", 4), *after]


def _shared_leaf(library: Library) -> list[str]:
    """Return the lines of threads that request gradients with respect to one leaf, without accumulating in it."""
    assert library.tape is not None
    asked = library.template(
        library.tape.grads, outputs="[y]", leaves="[x]", seeds=f"[{library.seed('np.array(1.0)')}]"
    )
    lines = [
        "for _ in range(100):",
        f"    y = {polynomial(library)}",
        f"    gradient = {asked}[0]",
        f"    received.append({library.value('gradient')})",
    ]
    after = ["for gradient in received:", f"    {note('every gradient', 'gradient')}"]
    return [f"x = {leaf(library, '3.0')}", "received = []", *_work(lines), *_in_threads("work", 4), *after]


def _modes(library: Library) -> list[str]:
    """Return the lines that run a thread while the main thread is inside of a region without recording."""
    assert library.tape is not None
    region = library.template(library.tape.no_grad)
    lines = ["received.append(slope(k)[1])"]
    held = [
        f"with {region}:",
        *(f"    {line}".rstrip() for line in _in_threads("work", 1)),
        note("the gradient of a thread next to the region", "received[0]"),
    ]
    return [*slope(library).splitlines(), "", "received = []", *_work(lines), *held]


def _mode_of_another(library: Library) -> list[str]:
    """Return the lines that record while another thread is inside of a region without recording."""
    assert library.tape is not None
    region = library.template(library.tape.no_grad)
    return [
        *slope(library).splitlines(),
        "",
        "entered, done = threading.Event(), threading.Event()",
        "",
        "def stay():",
        f"    with {region}:",
        "        entered.set()",
        "        done.wait(10)",
        "",
        "thread = threading.Thread(target=stay)",
        "thread.start()",
        "entered.wait(10)",
        "try:",
        "    gradient = slope(1)[1]",
        "finally:",
        "    done.set()",
        "    thread.join()",
        note("the gradient next to the region of a thread", "gradient"),
    ]


THREADS: Final[Mapping[str, Exercise]] = MappingProxyType({
    "threads": Exercise(
        "four threads with 100 graphs of their own each",
        {SLOPE: 0.0},
        _own_graphs,
        _own_graphs,
        fields=("threads",),
    ),
    "threads_with_one_leaf": Exercise(
        "four threads that ask for 100 gradients each by one leaf",
        {"every gradient": 7.0},
        _shared_leaf,
        fields=("threads", "grads"),
    ),
    "region_around_a_thread": Exercise(
        "a thread that is started inside of a region",
        {"the gradient of a thread next to the region": 3.0},
        _modes,
        features=("no_grad",),
        fields=("threads",),
    ),
    "region_in_a_thread": Exercise(
        "a graph next to a thread that is inside of a region",
        {"the gradient next to the region of a thread": 3.0},
        _mode_of_another,
        features=("no_grad",),
        fields=("threads",),
    ),
})
"""Exercises by the name that rows use."""
