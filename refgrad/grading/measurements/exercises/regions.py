"""Exercises for hooks and regions without recording, and for several outputs and several leaves at once."""

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


LEAVES: Final[Mapping[str, str]] = MappingProxyType({"x": "2.0", "y": "3.0", "z": "5.0"})
SEEDS: Final = ("1.0", "10.0")


def _graph(library: Library) -> list[str]:
    """Return the lines that compute ``p = x * y`` and ``q = p * x`` at x = 2 and y = 3, with an unused leaf ``z``."""
    return [
        *(f"{name} = {leaf(library, number)}" for name, number in LEAVES.items()),
        f"p = {library.apply('multiply', 'x', 'y')}",
        f"q = {library.apply('multiply', 'p', 'x')}",
    ]


def _seeds(library: Library, outputs: str) -> str:
    seeds = SEEDS[: len(outputs.split())]
    return f"[{', '.join(library.seed(f'np.array({seed})') for seed in seeds)}]"


def _listed(names: str) -> str:
    return f"[{', '.join(names.split())}]"


def _left(library: Library) -> list[str]:
    return [note(f"what is left in {name}", library.gradient(name)) for name in LEAVES]


def _asked(outputs: str, tensors: str) -> Lines:
    """Return the lines that ask for gradients of outputs with respect to tensors, in one call."""

    def lines(library: Library) -> list[str]:
        assert library.tape is not None
        fields = {"outputs": _listed(outputs), "leaves": _listed(tensors), "seeds": _seeds(library, outputs)}
        return [
            *_graph(library),
            f"gradients = list({library.template(library.tape.grads, **fields)})",
            note("how many gradients there are", "len(gradients)"),
            "gradients += [None] * 3",
            *_noted(library, len(tensors.split())),
            *_left(library),
        ]

    return lines


def _noted(library: Library, count: int) -> list[str]:
    """Return the lines that note gradients, which are tensors or None."""
    number = f"None if each is None else {library.value('each')}"
    pairs = [[f"each = gradients[{index}]", note(f"gradient {index + 1}", number)] for index in range(count)]
    return [line for pair in pairs for line in pair]


def _expected(*gradients: float | None) -> dict[str, float | None]:
    expected: dict[str, float | None] = {"how many gradients there are": float(len(gradients))}
    expected |= {f"gradient {index}": gradient for index, gradient in enumerate(gradients, 1)}
    return expected | dict.fromkeys((f"what is left in {name}" for name in LEAVES), None)


def _sent(outputs: str) -> Lines:
    """Return the lines of one backward from several outputs."""

    def lines(library: Library) -> list[str]:
        assert library.tape is not None
        fields = {"outputs": _listed(outputs), "seeds": _seeds(library, outputs)}
        return [*_graph(library), library.template(library.tape.backwards, **fields), *_left(library)]

    return lines


def _received(x: float, y: float) -> dict[str, float | None]:
    return {"what is left in x": x, "what is left in y": y, "what is left in z": None}


def _of_asking(what: str, outputs: str, tensors: str, *gradients: float | None) -> Exercise:
    asked = _asked(outputs, tensors)
    return Exercise(what, _expected(*gradients), asked, operators=("multiply",), fields=("grads",))


def _of_sending(what: str, outputs: str, x: float, y: float) -> Exercise:
    return Exercise(what, _received(x, y), _sent(outputs), operators=("multiply",), fields=("backwards",))


SEVERAL: Final[Mapping[str, Exercise]] = MappingProxyType({
    "several_leaves": _of_asking("gradients of one output by two leaves", "q", "x y", 12.0, 4.0),
    "several_outputs": _of_asking("gradients of two outputs by two leaves", "p q", "x y", 123.0, 42.0),
    "leaves_in_another_order": _of_asking("gradients of two outputs, in another order", "q p", "y x", 24.0, 42.0),
    "unused_leaf": _of_asking("gradients by two leaves, and one that nothing uses", "q", "x z y", 12.0, None, 4.0),
    "repeated_leaf": _of_asking("gradients by one leaf that is asked for twice", "q", "x y x", 12.0, 4.0, 12.0),
    "repeated_output": _of_asking("gradients of one output that is given twice", "p p", "x y", 33.0, 22.0),
    "computed_tensor": _of_asking("gradients by a computed tensor and by a leaf of it", "q", "p x", 2.0, 12.0),
    "output_by_itself": _of_asking("gradients of two outputs by one of them", "p q", "p y", 21.0, 42.0),
    "backward_from_several": _of_sending("a backward from two outputs, one made of the other", "p q", 123.0, 42.0),
    "backward_in_another_order": _of_sending("a backward from two outputs, the later one first", "q p", 42.0, 24.0),
    "backward_from_one_twice": _of_sending("a backward from one output that is given twice", "p p", 33.0, 22.0),
})
"""Exercises by the name that rows use. With the seeds 1 and 10 no two mistakes give the same numbers."""
