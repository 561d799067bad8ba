"""The library that a first adapter is of: its modules, and what imports them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from refgrad.grading.first_adapter.candidates import SUBMODULES
from refgrad.grading.first_adapter.trying import Workbench

OWN: Final = (
    "(lambda part: None if isinstance(part, type(__import__('sys'))) and "
    "part.__name__.partition('.')[0] not in {packages} else part)({module})"
)
"""An expression of a module of these packages, and of nothing where the library only imports that module."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library: the modules that have its functions, and the interpreter that has it."""

    name: str
    modules: tuple[str, ...]
    python: str

    @property
    def setup(self) -> str:
        """What imports it."""
        return "\n".join(f"import {module}" for module in self.modules)

    def own_modules(self, bench: Workbench) -> tuple[str, ...]:
        """Return the modules, and those of the library beneath them where libraries keep operators."""
        packages = {module.partition(".")[0] for module in self.modules}
        beneath = [f"{root}.{name}" for root in self.modules for name in SUBMODULES]
        owned = {module: OWN.format(packages=sorted(packages), module=module) for module in beneath}
        found = bench.members(list(owned.values()), ["__name__"])
        return tuple(dict.fromkeys([*self.modules, *(m for m, owner in owned.items() if found.get(owner))]))
