"""The library that a first adapter is of: its modules, and what imports them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from refgrad.errors import UserError
from refgrad.grading.first_adapter.candidates import SUBMODULES
from refgrad.grading.first_adapter.trying import Workbench
from refgrad.native import library

OWN: Final = (
    "(lambda part: None if isinstance(part, type(__import__('sys'))) and "
    "part.__name__.partition('.')[0] not in {packages} else part)({module})"
)
"""An expression of a module of these packages, and of nothing where the library only imports that module."""


LISTING: Final = """
import pkgutil

def attempt():
    names = [name for name in dir({module}) if not name.startswith("_")]
    own = [name for name in names if not isinstance(getattr({module}, name, None), type(pkgutil))]
    beneath = [each.name for each in pkgutil.iter_modules(getattr({module}, "__path__", []))]
    return [own, [name for name in beneath if not name.startswith("_")]]
"""
"""A program that lists what is public in a module, and the modules beneath it."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library: the modules that have its functions, and the interpreter that has it."""

    name: str
    modules: tuple[str, ...]
    python: str

    def setup(self, given: str = "") -> str:
        """Return what imports it, as far as what is given does not do so, and what is given."""
        imported = _imported(given)
        lacking = [m for m in self.modules if not any(f"{name}.".startswith(f"{m}.") for name in imported)]
        return "\n".join([*(f"import {module}" for module in lacking), *filter(None, [given])])

    def refuse_what_is_empty(self, bench: Workbench) -> None:
        """Raise UserError where no module has anything public, with the modules beneath that may."""
        listed = {module: _listed(bench, module) for module in self.modules}
        beneath = [f"{module}.{name}" for module, (_, found) in listed.items() for name in found]
        if beneath and not any(names for names, _ in listed.values()):
            named = " ".join([*self.modules, beneath[0]])
            told = f"did you mean `refgrad new {named}`? There are: {', '.join(beneath)}"
            raise UserError(f"{', '.join(self.modules)} has nothing public; {told}")

    def own_modules(self, bench: Workbench) -> tuple[str, ...]:
        """Return the modules, and those of the library beneath them where libraries keep operators."""
        packages = {module.partition(".")[0] for module in self.modules}
        beneath = [f"{root}.{name}" for root in self.modules for name in SUBMODULES]
        owned = {module: OWN.format(packages=sorted(packages), module=module) for module in beneath}
        found = bench.members(list(owned.values()), ["__name__"])
        return tuple(dict.fromkeys([*self.modules, *(m for m, owner in owned.items() if found.get(owner))]))


def _listed(bench: Workbench, module: str) -> tuple[list[str], list[str]]:
    """Return what is public in a module, and the modules beneath it."""
    (seen,) = library.Library(bench.engine).run(LISTING.format(module=module), timed=False)
    own, beneath = seen.data
    return own, beneath


def _imported(setup: str) -> set[str]:
    """Return the modules that a text imports by their own names; none of one that is no Python, which a start tells."""
    try:
        statements = ast.parse(setup).body
    except SyntaxError:
        return set()
    names = [alias for each in statements if isinstance(each, ast.Import) for alias in each.names]
    return {alias.name for alias in names if alias.asname in {None, alias.name}}
