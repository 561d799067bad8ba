"""Candidate templates: how libraries spell what an adapter needs, the most likely first.

`{m}` is a module of the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Final

from refgrad.native.adapter import family_rows
from refgrad.native.adapter.files import ALIKE
from refgrad.operators import Operator

SUBMODULES: Final = ("linalg", "nn", "functional", "special", "nnet", "math", "random", "numpy", "nn.functional")
"""Submodules in which libraries keep further operators."""

MAKERS: Final = (
    "tensor", "Tensor", "to_tensor", "Variable", "variable", "Value", "Var", "Parameter", "Scalar", "Node", "Array",
    "array", "asarray",
)  # fmt: skip
"""Names of functions and classes that make tensors."""

ARGUMENTS: Final = (
    "{array}, requires_grad={requires_grad}", "{array}, constant=not {requires_grad}",
    "{array}, stop_gradient=not {requires_grad}", "{array}", "{array}, dtype={m}.{dtype}",
    "{scalar}, requires_grad={requires_grad}", "{scalar}",
)  # fmt: skip
"""Arguments with which they are called."""

PLAIN_LEAF: Final = "{array}"
"""Template of a leaf of libraries that differentiate functions of NumPy arrays."""

VALUES: Final = (
    "np.asarray({x})", "{x}.detach().numpy()", "{x}.numpy()", "{x}.data", "{x}.array", "{x}.value",
    "np.array({x}.data)",
    "np.array({x}.value)", "np.array({x}.item())",
)  # fmt: skip

BACKWARDS: Final = (
    "{output}.backward({seed})", "{output}.backward(1.0 if {seed} is None else {seed})",
    "[setattr({output}, 'grad', {seed}), {output}.backward()]", "{m}.backward({output}, {seed})",
    "{output}.backward()", "{m}.backward({output})",
)  # fmt: skip

GRADIENTS: Final = ("{leaf}.grad", "{leaf}.gradient")

PARTS_OF_NAMES: Final = ("back", "prop", "grad", "deriv", "diff", "adjoint")
"""Parts of the names of functions that may run a backward."""

MOST_CLASSES: Final = 16
"""Largest number of classes of a module that are tried as makers of tensors if no usual maker exists."""

RETAINING: Final = ("retain_graph", "keep_graph")
"""Keywords of a backward that retain its graph, tried if its parameters cannot be read."""

ZERO_GRADS: Final = (
    "{leaf}.zero_grad()", "{leaf}.null_grad()", "{leaf}.cleargrad()", "{leaf}.clear_gradient()",
    "setattr({leaf}, 'grad', None)", "setattr({leaf}, 'grad', 0)", "setattr({leaf}, 'grad', 0 * {leaf}.grad)",
)  # fmt: skip

PULLBACKS: Final = (
    "{m}.vjp({function}, *{primals})", "{m}.vjp({function}, {primals})",
    "(lambda found: (found[1], found[0]))({m}.make_vjp({function}, tuple(range(len({primals}))))(*{primals}))",
    "({function}(*{primals}), lambda seed: {m}.vjp(lambda *x: [{function}(*x)], {primals}, [seed])[1])",
)  # fmt: skip

OPTIONAL: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = MappingProxyType({
    "tape": MappingProxyType({
        "grad": (
            "{m}.grad({output}, {leaf}, {seed}, create_graph=True)[0]",
            "{m}.grad({output}, {leaf}, {seed}, create_graph=True)",
        ),
        "detach": ("{x}.detach()",),
        "no_grad": ("{m}.no_grad()", "{m}.no_grad", "{m}.no_autodiff"),
        "requires_grad": ("{x}.requires_grad", "not {x}.constant", "not {x}.stop_gradient"),
        "is_leaf": ("{x}.is_leaf",),
        "retain_grad": ("{x}.retain_grad()", "{x}.retain_grads()"),
        "hook": ("{x}.register_hook({function})",),
    }),
    "functional": MappingProxyType({
        "jvp": (
            "{m}.jvp({function}, tuple({primals}), tuple({tangents}))",
            "{m}.make_jvp(lambda both: {function}(*both))(tuple({primals}))(tuple({tangents}))",
        ),
    }),
})
"""Templates of optional fields. Each is kept if a feature that it gives works."""

FAMILIES: Final = ("numpy-methods", "numpy-like", "python-operators")
"""Families that a first adapter may extend."""

NOT_SUPPORTED: Final = "exec('raise NotImplementedError')"
"""Expression in place of a call with attributes that a function does not take."""

RENAMED: Final = MappingProxyType({"axis": "dim", "keepdims": "keepdim"})
"""Names of attributes in PyTorch."""


def with_module(texts: Iterable[str], modules: Sequence[str]) -> list[str]:
    """Return the texts with each of the modules in place of `{m}`."""
    return list(dict.fromkeys(text.replace("{m}", module) for text, module in product(texts, modules)))


def leaves(members: Mapping[str, Iterable[str]], classes: Mapping[str, Iterable[str]]) -> list[str]:
    """Return templates that make a leaf by the makers, or else the classes, of each module. Plain arrays come last."""
    usual = [(module, name) for module, names in members.items() for name in MAKERS if name in names]
    makers = usual or [(module, name) for module, names in classes.items() for name in names]
    templates = [f"{module}.{name}({text})".replace("{m}", module) for text in ARGUMENTS for module, name in makers]
    return [*templates, PLAIN_LEAF]


def gradients(value: str, attributes: Iterable[str] = ()) -> list[str]:
    """Return templates that read the gradient of a leaf.

    ``value`` is the template that reads a tensor, and ``attributes`` are those that a tensor has.
    """
    own = list(dict.fromkeys([*GRADIENTS, *(f"{{leaf}}.{name}" for name in attributes)]))
    read = [f"None if {text} is None else {value.replace('{x}', text)}" for text in own]
    return [*own, *read, *(f"{text}.data" for text in own)]


def resets(gradient: str) -> list[str]:
    """Return templates that reset a gradient, given the template that reads it."""
    name = re.search(r"\{leaf\}\.(\w+)", gradient)
    return [
        text.replace("grad'", f"{name[1]}'").replace(".grad)", f".{name[1]})") if name else text for text in ZERO_GRADS
    ]


def backwards(called: Iterable[str]) -> list[str]:
    """Return templates that run a backward by these methods of an output and functions of modules."""
    owned = [(f"{name}(", "{output}.backward(" if name[0] == "{" else "{m}.backward(") for name in called]
    return [text.replace(usual, name) for name, usual in owned for text in BACKWARDS if usual in text]


def retaining(backward: str, keyword: str) -> tuple[str, str]:
    """Return two spellings of a backward: with the keyword true if the graph is to be retained, and with it false."""
    head = f"{backward[:-1]}{'' if backward.endswith('()') else ', '}{keyword}="
    return f"{head}{{retain_graph}})", f"{head}not {{retain_graph}})"


def spellings_of(operator: Operator, modules: Sequence[str]) -> Iterator[str]:
    """Yield candidate spellings of an operator: its names in a module, rows of families, and its names as a method."""
    names = (operator.name, *operator.aliases)
    for module in modules:
        yield from (text for name in names for text in _calls(f"{module}.{name}", operator, ()))
    for family in (*FAMILIES, "torch-like"):
        rows = family_rows(family).get(operator.name, ())
        yield from (text.replace("{np}", modules[0]).replace("{torch}", modules[0]) for text in rows if text != ALIKE)
    first, *others = operator.arguments
    if not first.variadic and not others:
        methods = (f"{{{first.name}}}.{name}" for name in names)
        yield from (text for method in methods for text in _calls(method, operator, (first.name,)))


def owner_of(text: str) -> tuple[str, str]:
    """Return the owner and the name of the function that a spelling calls.

    The owner is a module or a placeholder. If no named function is called, both are empty strings.
    """
    owner, dot, name = text.partition("(")[0].rpartition(".")
    return (owner, name) if dot and name.isidentifier() else ("", "")


def _calls(function: str, operator: Operator, without: Sequence[str]) -> Iterator[str]:
    """Yield calls with attributes by the table's names, by PyTorch's and by position, and with only the first few."""
    operands = [f"{{{name}}}" for name in operator.argument_names if name not in without]
    attributes = operator.attribute_names
    forms = (
        [f"{name}={{{name}}}" for name in attributes],
        [f"{RENAMED.get(name, name)}={{{name}}}" for name in attributes],
        [f"{{{name}}}" for name in attributes],
    )
    yield from dict.fromkeys(f"{function}({', '.join([*operands, *form])})" for form in forms)
    if any(attribute.required for attribute in operator.attributes):
        return
    usual = [repr(value) for value in operator.bind({}).values()]
    for count in reversed(range(len(attributes))):
        is_usual = f"({', '.join(forms[2][count:])}) == ({', '.join(usual[count:])})"
        called = dict.fromkeys(f"{function}({', '.join([*operands, *form[:count]])})" for form in forms)
        yield from (f"{call} if {is_usual} else {NOT_SUPPORTED}" for call in called)
