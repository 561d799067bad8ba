"""The public functions of JAX whose results are differentiable, as far as simple calls show."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import wraps
from types import MappingProxyType, ModuleType
from typing import Any, Final

import jax
import jax.scipy.linalg
import jax.scipy.special
from jax.interpreters import partial_eval

from refgrad.adapters.inventories.trials import Answer, Function, Trials, combinations, required, try_out
from refgrad.native.adapter import Inventory

MODULES: Final[Mapping[str, ModuleType]] = MappingProxyType({
    "jax.numpy": jax.numpy,
    "jax.numpy.linalg": jax.numpy.linalg,
    "jax.nn": jax.nn,
    "jax.scipy.special": jax.scipy.special,
    "jax.scipy.linalg": jax.scipy.linalg,
})

CALLS: Final = 64
"""Largest number of combinations of arguments that a function is called with: all pairs."""


def functions() -> Inventory:
    """Return the public functions of jax.numpy, jax.nn and the modules of jax.scipy that the operator table covers.

    JAX does not list which of them are differentiable, so each is traced with a few kinds of arguments (see
    ``arguments``), and a cotangent is pulled back. Functions with the same programs are one under several names.
    """
    with warnings.catch_warnings(action="ignore"):
        found = dict(_public())
        trials = Trials({
            name: try_out(combinations(_operands(function), arguments, CALLS), _traced(function))
            for name, function in found.items()
        })
    return Inventory(
        title="public functions",
        source=f"{', '.join(MODULES)}, traced to see what comes of them",
        entries=trials.entries,
        undecided=trials.undecided,
        synonyms=trials.synonyms,
        reached=_Calls(found),
    )


def _public() -> Iterator[tuple[str, Function]]:
    for module, contents in MODULES.items():
        for name in dir(contents):
            function = getattr(contents, name)
            if not name.startswith("_") and callable(function) and not inspect.isclass(function):
                yield f"{module}.{name}", function


def _operands(function: Function) -> int:
    """Return the number of arguments that a function needs; the signature of a ufunc does not show it."""
    return function.nin if isinstance(function, jax.numpy.ufunc) else required(inspect.signature(function))


def arguments() -> tuple[Any, ...]:
    """Return the arguments that functions are called with."""
    return (
        jax.numpy.full((2, 3), 0.5),
        jax.numpy.full((3, 3), 0.5),
        jax.numpy.full(3, 0.5),
        1,
        [jax.numpy.full((2, 3), 0.5), jax.numpy.full((2, 3), 0.25)],
        jax.numpy.array([0, 1, 2]),
        jax.numpy.full((2, 3, 4, 4), 0.5),
        jax.numpy.array([True, False, True]),
    )


def _traced(function: Function) -> Callable[[Sequence[Any]], Answer]:
    return lambda given: Answer(_program(function, given))


def _program(function: Function, given: Sequence[Any]) -> str | None:
    """Return the program from a call's real arguments to its real results, or None if it is not differentiable."""
    leaves, tree = jax.tree.flatten(list(given))
    moving = [place for place, leaf in enumerate(leaves) if _is_real(leaf)]

    def results(*primals: Any) -> list[Any]:
        filled = dict(enumerate(leaves)) | dict(zip(moving, primals, strict=True))
        found = function(*jax.tree.unflatten(tree, [filled[place] for place in range(len(leaves))]))
        return [leaf for leaf in jax.tree.leaves(found) if _is_real(leaf)]

    primals = [leaves[place] for place in moving]
    program = jax.make_jaxpr(results)(*primals).jaxpr
    needed, used = partial_eval.dce_jaxpr(program, [True] * len(program.outvars))
    if not any(used) or not _goes_back(results, primals):
        return None
    return re.sub(r"\bname=\w+", "", str(needed)) if needed.eqns else f"{function!r} does nothing"


def _goes_back(function: Function, primals: Sequence[Any]) -> bool:
    """Return True if JAX has the rules to pull a cotangent back; nothing is computed."""
    try:
        jax.eval_shape(lambda *xs: jax.vjp(function, *xs)[1](function(*xs)), *primals)
    except (NotImplementedError, TypeError, ValueError):
        return False
    return True


def _is_real(value: Any) -> bool:
    return isinstance(value, jax.Array) and bool(jax.numpy.issubdtype(value.dtype, jax.numpy.floating))


class _Calls:
    """Finds the public functions that a function calls by their public names and that return a real result."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions

    def __call__(self, function: Function, primals: Sequence[Any]) -> set[str]:
        """Trace a function while wrappers replace the public functions; JAX itself does not call those wrappers."""
        names: set[str] = set()
        with ExitStack() as stack:
            for name, public in self.functions.items():
                module, _, attribute = name.rpartition(".")
                stack.callback(setattr, MODULES[module], attribute, public)
                setattr(MODULES[module], attribute, _noting(public, name, names))
            jax.make_jaxpr(function)(*primals)
        return names


def _noting(function: Function, name: str, names: set[str]) -> Function:
    @wraps(function)
    def noting(*given: Any, **named: Any) -> Any:
        result = function(*given, **named)
        if any(_is_real(leaf) for leaf in jax.tree.leaves(result)):
            names.add(name)
        return result

    return noting
