"""Inventories of JAX's differentiable operators: its primitives, and its public functions."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial, wraps
from types import MappingProxyType, ModuleType
from typing import Any, Final

import jax
import jax.lax.linalg
import jax.scipy.linalg
import jax.scipy.special
from jax.extend.core import ClosedJaxpr, Jaxpr, Primitive
from jax.interpreters import ad, partial_eval

from refgrad.adapters import Function, grouped, inventory_of, required, try_out
from refgrad.native.adapter import Inventory


def inventories() -> tuple[Inventory, Inventory]:
    """Return the primitives that have a differentiation rule, and the public functions, which are made of them."""
    return primitives(), functions()


RULES: Final[Mapping[str, str]] = MappingProxyType({
    "of several devices": r"^all_|^ragged_all_|^ppermute$|^psum$|^sharding_|^device_put$",
    "of complex numbers": r"^complex$|^conj$|^imag$|^real$|^fft$|^eig$",
    "programs and barriers around others": r"^cond$|^scan$|^while$|^stage$|^dce_sink$|^optimization_barrier$",
})
"""Reasons why a public primitive does not count, with patterns of its name; the first one that matches applies."""

PRIVATE: Final = "private (not in jax.lax or jax.lax.linalg)"
NOT_REAL: Final = "of derivative zero, and no real numbers come of real numbers"
UNCALLED: Final = "of derivative zero, and real numbers alone are no arguments for it"


def primitives() -> Inventory:
    """Return the primitives of JAX. A call reaches the primitives in the program that JAX traces from it."""
    known = {primitive.name: primitive for primitive in (*ad.primitive_jvps, *ad.primitive_transposes)}
    values = [*vars(jax.lax).values(), *vars(jax.lax.linalg).values()]
    public = {value for value in values if isinstance(value, Primitive)}
    reasons = {name: _reason(primitive) if primitive in public else PRIVATE for name, primitive in known.items()}
    undecided = grouped({name: reason for name, reason in reasons.items() if reason == UNCALLED})
    apart = grouped({name: reason for name, reason in reasons.items() if reason != UNCALLED})
    return Inventory(
        title="primitives with a rule of differentiation",
        source="primitive_jvps and primitive_transposes of jax.interpreters.ad",
        entries=frozenset(known).difference(*apart.values(), *undecided.values()),
        apart=apart,
        undecided=undecided,
        reached=lambda function, primals: set(_names(jax.make_jaxpr(function)(*primals).jaxpr)),
    )


def _reason(primitive: Primitive) -> str | None:
    for reason, pattern in RULES.items():
        if re.search(pattern, primitive.name):
            return reason
    rule = ad.primitive_jvps.get(primitive)
    return _nothing_real(primitive) if getattr(getattr(rule, "func", None), "__name__", "") == "zero_jvp" else None


def _nothing_real(primitive: Primitive) -> str | None:
    """Return why a primitive of derivative zero does not count, or None if it does.

    It is called with one real number and with two, to see whether it accepts them and returns real numbers.
    """
    for count in (1, 2):
        try:
            result = primitive.bind(*[jax.numpy.float32(0.5)] * count)
        except Exception:  # noqa: BLE001, S112 (it does not accept these arguments)
            continue
        return None if jax.numpy.issubdtype(result.dtype, jax.numpy.floating) else NOT_REAL
    return UNCALLED


def _names(program: Jaxpr) -> Iterator[str]:
    """Yield the primitives with real inputs and real outputs in a program, nested programs included."""
    for equation in program.eqns:
        dtypes = ([x.aval.dtype for x in sides] for sides in (equation.invars, equation.outvars))
        if all(any(jax.numpy.issubdtype(dtype, jax.numpy.floating) for dtype in each) for each in dtypes):
            yield equation.primitive.name
        for inner in jax.tree.leaves(dict(equation.params), is_leaf=_is_program):
            if _is_program(inner):
                yield from _names(inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner)


def _is_program(value: object) -> bool:
    return isinstance(value, Jaxpr | ClosedJaxpr)


MODULES: Final[Mapping[str, ModuleType]] = MappingProxyType({
    module.__name__: module for module in (jax.numpy, jax.numpy.linalg, jax.nn, jax.scipy.special, jax.scipy.linalg)
})

CALLS: Final = 64
"""Largest number of combinations of arguments that a function is called with: all pairs."""


def functions() -> Inventory:
    """Return the public functions of jax.numpy, jax.nn and the modules of jax.scipy that the operator table covers.

    JAX does not list which of them are differentiable, so each is traced with a few kinds of arguments (see
    ``arguments``), and a cotangent is pulled back. Functions with the same programs are one under several names.
    """
    with warnings.catch_warnings(action="ignore"):
        public = dict(_public())
        trials = {
            name: try_out(partial(_answer, function), arguments(), _operands(function), CALLS)
            for name, function in public.items()
        }
    return inventory_of(
        trials,
        title="public functions",
        source=f"{', '.join(MODULES)}, traced to see what comes of them",
        reached=partial(_called, public),
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


def _answer(function: Function, inputs: Sequence[Any]) -> tuple[str | None, bool]:
    """Return the program from a call's real arguments to its real results, or None if it is not differentiable.

    The second part is False, since nothing in it is random.
    """
    leaves, tree = jax.tree.flatten(list(inputs))
    moving = [index for index, leaf in enumerate(leaves) if _is_real(leaf)]

    def results(*primals: Any) -> list[Any]:
        filled = dict(enumerate(leaves)) | dict(zip(moving, primals, strict=True))
        output = function(*jax.tree.unflatten(tree, [filled[index] for index in range(len(leaves))]))
        return [leaf for leaf in jax.tree.leaves(output) if _is_real(leaf)]

    primals = [leaves[index] for index in moving]
    program = jax.make_jaxpr(results)(*primals).jaxpr
    needed, used = partial_eval.dce_jaxpr(program, [True] * len(program.outvars))
    if not any(used) or not _goes_back(results, primals):
        return None, False
    return re.sub(r"\bname=\w+", "", str(needed)) if needed.eqns else f"{function!r} does nothing", False


def _goes_back(function: Function, primals: Sequence[Any]) -> bool:
    """Return True if JAX has the rules to pull a cotangent back; nothing is computed."""
    try:
        jax.eval_shape(lambda *xs: jax.vjp(function, *xs)[1](function(*xs)), *primals)
    except (NotImplementedError, TypeError, ValueError):
        return False
    return True


def _is_real(value: Any) -> bool:
    return isinstance(value, jax.Array) and bool(jax.numpy.issubdtype(value.dtype, jax.numpy.floating))


def _called(functions: Mapping[str, Function], function: Function, primals: Sequence[Any]) -> set[str]:
    """Return the public functions that a function calls by their public names and that return a real result.

    It is traced while wrappers replace the public functions; JAX itself does not call those wrappers.
    """
    names: set[str] = set()
    with ExitStack() as stack:
        for name, public in functions.items():
            module, _, attribute = name.rpartition(".")
            stack.callback(setattr, MODULES[module], attribute, public)
            setattr(MODULES[module], attribute, _noting(public, name, names))
        jax.make_jaxpr(function)(*primals)
    return names


def _noting(function: Function, name: str, names: set[str]) -> Function:
    @wraps(function)
    def noting(*inputs: Any, **named: Any) -> Any:
        result = function(*inputs, **named)
        if any(_is_real(leaf) for leaf in jax.tree.leaves(result)):
            names.add(name)
        return result

    return noting
