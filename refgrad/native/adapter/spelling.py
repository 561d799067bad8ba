"""Spellings: the code templates of operators, and the choice of one for each application in a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType

from refgrad.errors import EngineStartError
from refgrad.native.adapter.adapter import AdapterError, AnyAdapter, no_operator
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Scenario, Write
from refgrad.scenario.rewrite import closure

Members = Callable[[Sequence[str], Sequence[str]], Mapping[str, Mapping[str, int]]]
"""Function of modules and names that looks up which names each module of a library has.

It returns a number for each name by module; names of the same object have the same number.
"""


def spell(
    prefix: str, names: Iterable[str] | None = None, *, renamed: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return templates ``prefix.name({x}, …, attribute={attribute})`` for operators.

    ``names`` are operators that the library calls by the table's names (all of them if None), with the table's argument
    order and attribute names; ``renamed`` maps operators to another name in the library. A variadic argument is passed
    as a list. Raises AdapterError for a name that is not an operator.
    """
    table = operator_table()
    chosen = {name: name for name in (table if names is None else names)} | dict(renamed or {})
    for name in chosen:
        if name not in table:
            raise AdapterError(f"{name!r}: {no_operator(name)}")
    return {name: f"{prefix}.{spelled}({_operands(table[name])})" for name, spelled in chosen.items()}


def _operands(operator: Operator) -> str:
    positional = [f"{{{name}}}" for name in operator.argument_names]
    return ", ".join([*positional, *(f"{name}={{{name}}}" for name in operator.attribute_names)])


def spellings(adapter: AnyAdapter, members: Members) -> Mapping[str, tuple[str, ...]]:
    """Return the spellings of each operator, from the adapter or from the functions in its ``alike`` modules.

    ``members`` looks up names in the library. Operators without a spelling are left out. Raises EngineStartError where
    ``members`` fails.
    """
    table = operator_table()
    rows = [row for name, row in table.items() if adapter.alike or name in adapter.operators or name in adapter.aliases]
    names = [name for row in rows for name in (row.name, *row.aliases)]
    try:
        functions = members(adapter.alike, names) if adapter.alike else {}
    except (EngineStartError, KeyboardInterrupt):
        raise
    except BaseException as error:
        message = f"engine {adapter.name!r}: `alike` cannot be read: {type(error).__name__}: {error}"
        raise EngineStartError(message) from error
    spelled: dict[str, tuple[str, ...]] = {}
    for row in rows:
        first = (adapter.operators[row.name],) if row.name in adapter.operators else _alike(row, adapter, functions)
        spelled[row.name] = tuple(dict.fromkeys((*first, *adapter.aliases.get(row.name, ()))))
    return MappingProxyType({name: texts for name, texts in spelled.items() if texts})


def _alike(operator: Operator, adapter: AnyAdapter, members: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """Return one spelling for each function in the ``alike`` modules that has one of the operator's names."""
    if not operator.elementwise or operator.attributes or operator.name in adapter.unlike:
        return ()
    functions: dict[int, str] = {}
    for module in adapter.alike:
        for name in (operator.name, *operator.aliases):
            if name in members[module]:
                functions.setdefault(members[module][name], f"{module}.{name}({_operands(operator)})")
    return tuple(functions.values())


def chosen(spellings: Sequence[str], step: Apply, scenario: Scenario) -> str:
    """Return the spelling of an application. Over many scenarios each spelling is chosen equally often.

    The choice depends on the operator's attributes and on the leaves of the application, not on names or on how the
    result is used: it stays the same if a scenario is reduced to find what fails in it. The first spelling is chosen if
    it matters what is saved for a backward, because the others may save something else.
    """
    if len(spellings) == 1 or _saving_matters(scenario):
        return spellings[0]
    key = sha256(f"{step.operator} {step.attributes}".encode())
    for constant in _origin(step, scenario):
        key.update(f" {constant.dtype}{constant.shape} ".encode())
        key.update(constant.data)
    return spellings[int.from_bytes(key.digest()[:8], "big") % len(spellings)]


def _saving_matters(scenario: Scenario) -> bool:
    """Return True if a graph may be used after it was freed, or if a tensor is overwritten."""
    backwards = [step for step in scenario.steps if isinstance(step, Backward | Grad)]
    freed = any(isinstance(backward, Backward) and not backward.retain_graph for backward in backwards[:-1])
    return freed or any(isinstance(step, Write) for step in scenario.steps)


def _origin(step: Apply, scenario: Scenario) -> Iterator[Constant]:
    """Yield the values of the leaves that an application depends on. A name within a function has none."""
    definitions = scenario.definitions
    for name in closure(step.arguments, lambda name: definitions[name].uses if name in definitions else ()):
        definition = definitions.get(name)
        if isinstance(definition, Leaf):
            yield definition.value
