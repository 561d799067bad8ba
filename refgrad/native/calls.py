"""Calls of an engine's library, made from the templates of its adapter. No other module makes them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from refgrad.interpreter import keywords
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.native.languages.language import Template
from refgrad.native.statements import Argument, Call, Name, Names, Value
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Constant

NONE = Value(None)


@cache
def _fields(template: str) -> frozenset[str]:
    return frozenset(Template(template).fields)


def call(template: str | None, target: str | tuple[str, ...] = (), /, **fields: Argument) -> Call:
    """Return the call of a template, which must not be None, with those of the fields that it uses.

    ``target`` is the variable that takes the result, or several that take its parts.
    """
    assert template is not None
    used = _fields(template)
    kept = fields if fields.keys() <= used else {name: fields[name] for name in fields if name in used}
    if isinstance(target, str):
        return Call(template, kept, (target,))
    return Call(template, kept, target, unpack=bool(target))


def optional(template: str | None, **fields: Argument) -> Call | None:
    """Return the call of a template, or None if the adapter does not have it."""
    return None if template is None else call(template, **fields)


def tensor(  # noqa: PLR0913 (each is a field of the template, by name)
    adapter: AnyAdapter,
    target: str | tuple[str, ...] = (),
    *,
    array: Argument,
    scalar: Argument,
    dtype: str,
    requires_grad: bool,
    shape: Argument = NONE,
) -> Call:
    """Return the call that makes a tensor of an array, or of a number."""
    template = adapter.leaf if requires_grad or adapter.constant is None else adapter.constant
    code = template.replace("{dtype}", dtype)  # a part of the code
    return call(code, target, array=array, scalar=scalar, requires_grad=Value(requires_grad), shape=shape)


def tensor_of(adapter: AnyAdapter, constant: Constant, target: str, *, requires_grad: bool) -> Call:
    """Return the call that makes a tensor of a constant."""
    scalar = Value(constant.to_numpy().item() if constant.shape == () else None)
    fields: dict[str, Argument] = {"array": constant, "scalar": scalar, "shape": Value(constant.shape)}
    return tensor(adapter, target, **fields, dtype=_had(adapter, constant.dtype), requires_grad=requires_grad)


def _had(adapter: AnyAdapter, dtype: str) -> str:
    """Return the dtype, or the dtype of the engine in place of float64 if the engine lacks that."""
    return adapter.dtype if dtype == "float64" and dtype not in adapter.dtypes else dtype


def seed(adapter: AnyAdapter, array: Argument, dtype: str, target: str | tuple[str, ...] = ()) -> Call:
    """Return the call that makes the cotangent of an output."""
    shape = Value(array.shape) if isinstance(array, Constant) else NONE
    return call(adapter.seed.replace("{dtype}", _had(adapter, dtype)), target, array=array, shape=shape)


def value(adapter: AnyAdapter, x: str) -> Call:
    """Return the call that converts a tensor to an array."""
    return call(adapter.value, x=Name(x))


def gradient(adapter: TapeAdapter, leaf: str) -> Call:
    """Return the call that reads the gradient of a leaf as an array or None."""
    return call(adapter.gradient, leaf=Name(leaf))


def backward(adapter: TapeAdapter, output: str, cotangent: Argument = NONE, *, retain_graph: bool = False) -> Call:
    """Return the call that runs backward from an output."""
    return call(adapter.backward, output=Name(output), seed=cotangent, retain_graph=Value(retain_graph))


def vjp(
    adapter: FunctionalAdapter, function: str, primals: Argument, target: tuple[str, ...] = (), *, forward: bool = False
) -> Call:
    """Return the call that gives the output and the pullback of a function, which may compute in forward mode."""
    template = adapter.forward_vjp if forward else adapter.vjp
    return call(template, target, function=Name(function), primals=primals)


def zero_grad(adapter: TapeAdapter, leaf: str, *, to_zeros: bool = False) -> Call:
    """Return the call that resets the gradient of a leaf."""
    return call(adapter.zero_grad_to_zeros if to_zeros else adapter.zero_grad, leaf=Name(leaf))


def application(step: Apply, spelling: str) -> Call:
    """Return the call by which a step applies its operator."""
    operator = operator_table()[step.operator]
    attributes = {name: Value(value) for name, value in operator.bind(keywords(step)).items()}
    variadic = operator.arguments[0].variadic
    operands: Iterable[Argument] = [Names(step.arguments)] if variadic else map(Name, step.arguments)
    fields = dict(zip(operator.argument_names, operands, strict=True))
    return call(spelling, step.name, **fields, **attributes)
