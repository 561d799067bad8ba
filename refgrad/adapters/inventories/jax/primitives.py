"""The primitives of JAX that have a rule of forward or reverse mode, and a way to find those that a call reaches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import jax
import jax.lax.linalg
from jax.extend.core import ClosedJaxpr, Jaxpr, Primitive
from jax.interpreters import ad

from refgrad.native.adapter import Inventory

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
    """Return the primitives of JAX; a call reaches those in the program that JAX traces of it."""
    known = {primitive.name: primitive for primitive in (*ad.primitive_jvps, *ad.primitive_transposes)}
    public = {value for module in (jax.lax, jax.lax.linalg) for value in vars(module).values() if _is_primitive(value)}
    apart: dict[str, set[str]] = defaultdict(set)
    undecided: dict[str, set[str]] = defaultdict(set)
    for name, primitive in known.items():
        reason = PRIVATE if primitive not in public else _reason(primitive)
        if reason is not None:
            (undecided if reason == UNCALLED else apart)[reason].add(name)
    return Inventory(
        title="primitives with a rule of differentiation",
        source="primitive_jvps and primitive_transposes of jax.interpreters.ad",
        entries=frozenset(known).difference(*apart.values(), *undecided.values()),
        apart={reason: frozenset(names) for reason, names in apart.items()},
        undecided={reason: frozenset(names) for reason, names in undecided.items()},
        reached=_traced,
    )


def _is_primitive(value: object) -> bool:
    return isinstance(value, Primitive)


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


def _traced(function: Callable[..., Any], primals: Sequence[Any]) -> set[str]:
    """Return the primitives with real inputs and real outputs in a function's program, nested programs included."""
    return set(_names(jax.make_jaxpr(function)(*primals).jaxpr))


def _names(program: Jaxpr) -> Iterator[str]:
    for equation in program.eqns:
        if all(any(_is_real(x) for x in sides) for sides in (equation.invars, equation.outvars)):
            yield equation.primitive.name
        for inner in jax.tree.leaves(dict(equation.params), is_leaf=_is_program):
            if _is_program(inner):
                yield from _names(inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner)


def _is_program(value: object) -> bool:
    return isinstance(value, Jaxpr | ClosedJaxpr)


def _is_real(variable: Any) -> bool:
    return bool(jax.numpy.issubdtype(variable.aval.dtype, jax.numpy.floating))
