"""Text of the engine file of a first adapter, without spellings that a family or the library's own names provide."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from refgrad.grading.first_adapter.choosing import Chosen
from refgrad.lifecycle import Policy
from refgrad.native.adapter import AnyAdapter, FunctionalAdapter, family_rows, read_adapter, spellings
from refgrad.native.adapter.adapter import KINDS
from refgrad.native.adapter.fields import rows
from refgrad.operators import operator_table

TEMPLATE_DEFAULTS: Final[Mapping[str, str]] = {"value": "np.asarray({x})", "seed": "{array}"}
"""Default templates, which the file omits."""

Spellings = Mapping[str, Sequence[str]]


def engine_file(chosen: Chosen) -> str:
    """Return the text of the engine file of what was chosen. It extends a family only if that is shorter."""
    texts = [_file(chosen, family) for family in dict.fromkeys([chosen.family, ""])]
    return min(texts, key=lambda text: text.count("\n"))


def _file(chosen: Chosen, family: str) -> str:
    adapter, known = chosen.started.adapter, chosen.started.spellings
    heads: dict[str, Any] = {"name": adapter.name, "kind": _kind(adapter), **_inherited(family, chosen, known)}
    alike, unlike = _alike(chosen, known)
    dtypes = list(adapter.dtypes) if len(adapter.dtypes) > 1 else []
    heads |= {"distribution": adapter.distribution, "alike": alike, "unlike": unlike, "lacks": sorted(adapter.lacks)}
    dtype = "" if adapter.dtype == "float64" else adapter.dtype
    heads |= {"refusals": list(adapter.refusals), "dtype": dtype, "dtypes": dtypes}
    heads |= {"scalars_only": adapter.scalars_only, "nests": isinstance(adapter, FunctionalAdapter) and adapter.nests}
    text = "".join(f"{line}\n" for line in _head(heads, adapter))
    inherited = _spellings_of(text, chosen)
    own = {n: texts for n, texts in known.items() if not inherited.get(n) or not set(inherited[n]) <= set(texts)}
    return text + "".join(f"{line}\n" for line in _rows(own))


def _kind(adapter: AnyAdapter) -> str:
    return next(name for name, kind in KINDS.items() if isinstance(adapter, kind))


def _inherited(family: str, chosen: Chosen, known: Spellings) -> dict[str, Any]:
    """Return the fields about the family: its name, the module that it is for, and which of its rows are left out."""
    if not family:
        return {}
    placeholder = {"modules": {"np": chosen.modules[0]}} if family != "python-operators" else {}
    return {"extends": [family], **placeholder, "without": [name for name in family_rows(family) if name not in known]}


def _alike(chosen: Chosen, known: Spellings) -> tuple[list[str], list[str]]:
    """Return the modules that name operators as the table does, and the operators for which their names are wrong."""
    right = {text for texts in known.values() for text in texts}
    modules = [m for m in chosen.modules if any(right & set(texts) for texts in _named(chosen, [m]).values())]
    return modules, [name for name, texts in _named(chosen, modules).items() if not set(texts) <= right]


def _named(chosen: Chosen, modules: Sequence[str]) -> Spellings:
    """Return the spellings of the operators that modules name as the table does."""
    return chosen.started.knowing(operators={}, aliases={}, alike=tuple(modules), unlike=frozenset()).spellings


def _head(heads: Mapping[str, Any], adapter: AnyAdapter) -> Iterator[str]:
    yield from (f"{name} = {_toml(value)}" for name, value in heads.items() if value)
    yield f"setup = {_text(adapter.setup)}"
    yield ""
    for name, row in rows(type(adapter)).items():
        text = getattr(adapter, name)
        if row.placeholders is not None and isinstance(text, str) and TEMPLATE_DEFAULTS.get(name) != text:
            yield f"{name} = {_text(text)}"
    usual = asdict(Policy())
    policy = {name: value for name, value in asdict(adapter.policy).items() if value != usual[name]}
    if policy:
        yield from ("", "[policy]", *(f"{name} = {_toml(value)}" for name, value in policy.items()))


def _spellings_of(text: str, chosen: Chosen) -> Spellings:
    """Return the spellings that a file gives without rows of its own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "engine.toml"
        path.write_text(text, encoding="utf-8")
        return spellings(read_adapter(path), chosen.started.runner.members)


def _rows(own: Spellings) -> Iterator[str]:
    if own:
        yield from ("", "[operators]")
    family = ""
    for name, row in operator_table().items():
        if name in own:
            if row.family != family:
                yield from ("", f"# {row.family.replace('_', ' ')}")
                family = row.family
            yield f"{name} = {_toml(own[name])}"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_toml(each)}' for name, each in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def _text(text: str) -> str:
    return f"'''\n{text}\n'''" if "\n" in text else _toml(text)
