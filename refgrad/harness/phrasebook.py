"""How does an adapter spell the operators that its library calls by the table's own names?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from refgrad.harness.adapter import AdapterError
from refgrad.operators import Operator, operator_table


def spell(
    prefix: str, names: Iterable[str] | None = None, *, renamed: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return templates ``prefix.name({x}, …, attribute={attribute})`` for operators.

    ``names`` are operators that the library calls by the table's names (all of them if None), with the table's argument
    order and attribute names; ``renamed`` maps operators to another name in the library. A variadic argument is passed
    as a list.
    """
    table = operator_table()
    chosen = {name: name for name in (table if names is None else names)} | dict(renamed or {})
    for name in chosen:
        if name not in table:
            message = f"{name!r} is not an operator; see `refgrad list operators`"
            raise AdapterError(message)
    return {name: f"{prefix}.{spelled}({_fields(table[name])})" for name, spelled in chosen.items()}


def _fields(operator: Operator) -> str:
    positional = [f"{{{name}}}" for name in operator.argument_names]
    return ", ".join([*positional, *(f"{name}={{{name}}}" for name in operator.attribute_names)])
