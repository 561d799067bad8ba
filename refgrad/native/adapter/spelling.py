"""Spellings: the code templates of operators, and the one of them that an application in a scenario uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType

from refgrad.errors import EngineStartError
from refgrad.native.adapter.adapter import AdapterError, no_operator
from refgrad.native.adapter.kinds import AnyAdapter
from refgrad.operators import Operator, operator_table
from refgrad.scenario import Apply, Backward, Constant, Grad, Leaf, Scenario, Write

Members = Callable[[Sequence[str], Sequence[str]], Mapping[str, Mapping[str, int]]]
"""Which of some names each of some modules of a library has, and a number for each thing that is named."""


def spell(
    prefix: str, names: Iterable[str] | None = None, *, renamed: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return templates ``prefix.name({x}, …, attribute={attribute})`` for operators.

    ``names`` are operators that the library calls by the table's names (all of them if None), with the table's argument
    order and attribute names; ``renamed`` maps operators to another name in the library. A variadic argument is passed
    as a list. Raises AdapterError for a name that is no operator.
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
    """Return how each operator can be spelled: as the adapter does, or the library, where that uses the table's names.

    ``members`` asks the library. Operators that it lacks are not there. Raises EngineStartError where that fails.
    """
    names = [name for operator in operator_table().values() for name in (operator.name, *operator.aliases)]
    try:
        found = members(adapter.alike, names) if adapter.alike else {}
    except (EngineStartError, KeyboardInterrupt):
        raise
    except BaseException as error:
        message = f"engine {adapter.name!r}: `alike` cannot be read: {type(error).__name__}: {error}"
        raise EngineStartError(message) from error
    spelled: dict[str, tuple[str, ...]] = {}
    for name, operator in operator_table().items():
        first = (adapter.operators[name],) if name in adapter.operators else _alike(operator, adapter, found)
        spelled[name] = tuple(dict.fromkeys((*first, *adapter.aliases.get(name, ()))))
    return MappingProxyType({name: texts for name, texts in spelled.items() if texts})


def _alike(operator: Operator, adapter: AnyAdapter, members: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """Spell an operator by each of its names that a function of its own bears in the library."""
    if not operator.elementwise or operator.attributes or operator.name in adapter.unlike:
        return ()
    operands = ", ".join(f"{{{name}}}" for name in operator.argument_names)
    functions: dict[int, str] = {}
    for module in adapter.alike:
        for name in (operator.name, *operator.aliases):
            if name in members[module]:
                functions.setdefault(members[module][name], f"{module}.{name}({operands})")
    return tuple(functions.values())


def chosen(spellings: Sequence[str], step: Apply, scenario: Scenario) -> str:
    """Return one of the spellings, each as often as the others over scenarios, and the same whenever this one is run.

    It follows from the operator's attributes and the leaves that the application depends on, not from names or from
    what becomes of the result: so it stays the same where a scenario is taken apart to see what fails in it. Where it
    matters what is saved, it is the first one: of that, the others may save something else.
    """
    if len(spellings) == 1 or _saving_matters(scenario):
        return spellings[0]
    key = sha256(f"{step.operator} {step.attributes}".encode())
    for constant in _origin(step, scenario):
        key.update(f" {constant.dtype}{constant.shape} ".encode())
        key.update(constant.data)
    return spellings[int.from_bytes(key.digest()[:8], "big") % len(spellings)]


def _saving_matters(scenario: Scenario) -> bool:
    """Whether something is walked over again after it may have been freed, or overwritten."""
    walks = [step for step in scenario.steps if isinstance(step, Backward | Grad)]
    freed = any(isinstance(walk, Backward) and not walk.retain_graph for walk in walks[:-1])
    return freed or any(isinstance(step, Write) for step in scenario.steps)


def _origin(step: Apply, scenario: Scenario) -> Iterator[Constant]:
    """Yield what the leaves hold that an application depends on."""
    made = scenario.definitions
    waiting, seen = list(step.arguments), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            definition = made[name]
            waiting += definition.uses
            if isinstance(definition, Leaf):
                yield definition.value
