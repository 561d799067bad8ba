"""The library of a first adapter: its modules, and the code that imports them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from refgrad.errors import UserError
from refgrad.grading.first_adapter.asking import checked_modules
from refgrad.grading.first_adapter.candidates import MOST_CLASSES, PARTS_OF_NAMES, RETAINING, SUBMODULES
from refgrad.grading.first_adapter.trying import StartedLibrary
from refgrad.native import library
from refgrad.native.engine_names import is_file

OWN: Final = (
    "(lambda part: None if isinstance(part, type(__import__('sys'))) and "
    "part.__name__.partition('.')[0] not in {packages} else part)({module})"
)
"""Expression for a module, or for None if it is a module outside of these packages that the library imports."""


Seen = tuple[list[str], dict[str, list[str]]]
"""Attributes of a tensor, and the parameters of functions that may run a backward from it."""

LISTING: Final = """
import pkgutil

def kind(member):
    kinds = {{"module": type(pkgutil), "class": type, "function": type(kind), "attribute": object}}
    return next(name for name in kinds if isinstance(member, kinds[name]) or name == "function" and callable(member))

def attempt():
    members = [(name, getattr({owner}, name, None)) for name in dir({owner})]
    codes = [getattr(member, "__code__", None) for _, member in members]
    given = [code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else () for code in codes]
    beneath = [each.name for each in pkgutil.iter_modules(getattr({owner}, "__path__", []))]
    return [[[name, kind(member), list(names)] for (name, member), names in zip(members, given)], beneath]
"""
"""Program that lists the members of a module or a tensor, with kinds and parameters, and the submodules."""


@dataclass(frozen=True, slots=True)
class LibraryModules:
    """A library: the modules with its functions, and the interpreter in which it is installed."""

    name: str
    modules: tuple[str, ...]
    python: str
    sources: tuple[str, ...] = ()
    """Names of the modules or files as the user gave them."""
    imports: Mapping[str, str] = field(default_factory=dict)
    """Code that imports each module that is a file, by module."""

    @classmethod
    def of(cls, sources: Sequence[str], name: str | None, python: str) -> LibraryModules:
        """Return the library of modules and files, named after the first. Raises UserError for anything else."""
        files = {text: _module_of(Path(text)) for text in sources if is_file(text)}
        modules = checked_modules([files[text][0] if text in files else text for text in sources])
        own = modules[0].split(".")[-1 if sources[0] in files else 0].lstrip("_")
        return cls(name or own, modules, python, tuple(sources), dict(files.values()))

    def setup(self, code: str = "") -> str:
        """Return the code that imports the modules, unless the given code does, followed by the given code."""
        imported = _imported(code)
        lacking = [m for m in self.modules if not any(f"{name}.".startswith(f"{m}.") for name in imported)]
        return "\n".join([*(self.imports.get(m, f"import {m}") for m in lacking), *filter(None, [code])])

    def refuse_what_is_empty(self, started: StartedLibrary) -> None:
        """Raise UserError if no module has a public member but there are submodules, and suggest these."""
        listed = {module: _listed(started, module) for module in self.modules}
        beneath = [f"{module}.{name}" for module, (_, names) in listed.items() for name in names if name[0] != "_"]
        if beneath and not any(_public(members, "class", "function", "attribute") for members, _ in listed.values()):
            named = " ".join([*self.modules, beneath[0]])
            advice = f"did you mean `refgrad new {named}`? There are: {', '.join(beneath)}"
            raise UserError(f"{', '.join(self.modules)} has nothing public; {advice}")

    def own_modules(self, started: StartedLibrary) -> tuple[str, ...]:
        """Return the modules, and those submodules of the library in which libraries keep operators."""
        packages = {module.partition(".")[0] for module in self.modules}
        beneath = [f"{root}.{name}" for root in self.modules for name in SUBMODULES]
        owned = {module: OWN.format(packages=sorted(packages), module=module) for module in beneath}
        members = started.members(list(owned.values()), ["__name__"])
        return tuple(dict.fromkeys([*self.modules, *(m for m, owner in owned.items() if members.get(owner))]))


def classes(started: StartedLibrary, modules: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the names of the first public classes of each module."""
    return {module: _public(_listed(started, module)[0], "class")[:MOST_CLASSES] for module in modules}


def inspected(started: StartedLibrary, modules: Sequence[str]) -> Seen:
    """Return the attributes of a tensor, and the functions that may run a backward from it, with their parameters."""
    owners = {"{output}": _listed(started, started.instance)[0], **{m: _listed(started, m)[0] for m in modules}}
    called = {
        f"{owner}.{name}": names or [*RETAINING]
        for owner, members in owners.items()
        for name, kind, names in members
        if kind == "function" and any(part in name for part in PARTS_OF_NAMES)
    }
    return _public(owners["{output}"], "attribute"), called


def _module_of(path: Path) -> tuple[str, str]:
    """Return the name of the module of a file, and the code that imports it.

    The file may be in packages. The name is a valid Python name even if that of the file is not.
    """
    if not path.exists():
        raise UserError(f"{path}: there is no such file")
    path = Path(os.path.abspath(path))  # noqa: PTH100 (Path.absolute keeps `..`)
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        folder, parts = folder.parent, [folder.name, *parts]
    module = ".".join(parts)
    called = re.sub(r"^(?=\d)|[^\w.]", "_", module)
    search = "" if folder == Path.cwd() else f"import sys\nsys.path.insert(0, {str(folder)!r})\n"
    return called, search + (f"import {module}" if called == module else f"{called} = __import__({module!r})")


def _listed(started: StartedLibrary, owner: str) -> tuple[list[tuple[str, str, list[str]]], list[str]]:
    """Return the members of a module or tensor, with kinds and parameters, and its submodules; none after an error."""
    with suppress(library.RaisedError, library.EndingError):
        members, beneath = library.Library(started.engine).run(LISTING.format(owner=owner), timed=False)[0].data
        return members, beneath
    return [], []


def _public(members: Sequence[tuple[str, str, list[str]]], *kinds: str) -> list[str]:
    """Return the names of the public members of these kinds."""
    return [name for name, kind, _ in members if kind in kinds and name[0] != "_"]


def _imported(setup: str) -> set[str]:
    """Return the modules that the code imports under their own names; none if the code is not valid Python."""
    try:
        statements = ast.parse(setup).body
    except SyntaxError:
        return set()
    names = [alias for each in statements if isinstance(each, ast.Import) for alias in each.names]
    return {alias.name for alias in names if alias.asname in {None, alias.name}}
