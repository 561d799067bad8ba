"""The library that a first adapter is of: its modules, and what imports them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from refgrad.errors import UserError
from refgrad.grading.first_adapter.asking import checked_modules
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
    package = {module}.__name__.partition(".")[0]
    classes = [name for name in own if is_of_tensors(getattr({module}, name, None), package)]
    return [own, [name for name in beneath if not name.startswith("_")], classes]

def is_of_tensors(found, package):
    own = isinstance(found, type) and found.__module__.partition(".")[0] == package
    return own and any(hasattr(found, name) for name in ("__add__", "__mul__", "backward"))
"""
"""A program that lists what is public in a module, the modules beneath it, and its classes that may be of tensors."""

IMPORTABLE: Final = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
"""A program whose exit status is 0 if there is a module of the name that is its argument."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library: the modules that have its functions, and the interpreter that has it.

    ``folders`` are searched for modules first. ``files`` are the names of files by the modules that they are imported
    as: ``my-engine`` is no name in Python.
    """

    name: str
    modules: tuple[str, ...]
    python: str
    folders: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    """What the user calls the modules."""

    @classmethod
    def of(cls, sources: Sequence[str], name: str | None, python: str) -> Library:
        """Return the library of modules and files, named after the first. Raises UserError for what is neither."""
        origins = [_origin(Path(text)) if is_file(text) else ("", text) for text in sources]
        files = {_identifier(file): file for folder, file in origins if folder and "." not in file}
        modules = checked_modules([_identifier(file) if file in files.values() else file for _, file in origins])
        first, *_ = modules[0].split(".")[:: -1 if origins[0][0] else 1]
        folders = dict.fromkeys(folder for folder, _ in origins if folder)
        return cls(name or first.lstrip("_"), modules, python, tuple(folders), files, tuple(sources))

    def setup(self, given: str = "") -> str:
        """Return what imports it, as far as what is given does not do so, and what is given."""
        imported = _imported(given)
        lacking = [m for m in self.modules if not any(f"{name}.".startswith(f"{m}.") for name in imported)]
        searched = [f"sys.path.insert(0, {each!r})" for each in self.folders if each != str(Path.cwd())]
        lines = ["import sys", *searched] if searched else []
        return "\n".join([*lines, *map(self._import, lacking), *filter(None, [given])])

    def _import(self, module: str) -> str:
        file = self.files.get(module, module)
        return f"import {module}" if file == module else f"{module} = __import__({file!r})"

    def refuse_what_is_empty(self, bench: Workbench) -> None:
        """Raise UserError where no module has anything public, with the modules beneath that may."""
        listed = {module: _listed(bench, module) for module in self.modules}
        beneath = [f"{module}.{name}" for module, (_, found, _) in listed.items() for name in found]
        if beneath and not any(names for names, *_ in listed.values()):
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


def classes_of_tensors(bench: Workbench, modules: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Return the classes of each module that may be of tensors: they have operators or a backward."""
    return {module: _listed(bench, module)[2] for module in modules}


def is_file(text: str) -> bool:
    """Return True if a text names a file of Python or the folder of a package, not a module."""
    return text.endswith(".py") or (os.sep in text and Path(text).is_dir())


def is_importable(module: str, python: str) -> bool:
    """Return True if an interpreter has a module, which may be in the current folder; nothing of it is run."""
    root = module.partition(".")[0]
    if not all(part.isidentifier() for part in module.split(".")):
        return False
    return not subprocess.run([python, "-c", IMPORTABLE, root], check=False, capture_output=True).returncode  # noqa: S603 (the interpreter that the user named)


def _origin(path: Path) -> tuple[str, str]:
    """Return the folder that a file is imported from, and its module, which may be in packages."""
    if not path.exists():
        raise UserError(f"{path}: there is no such file")
    path = Path(os.path.abspath(path))  # noqa: PTH100 (Path.absolute keeps `..`)
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        folder, parts = folder.parent, [folder.name, *parts]
    return str(folder), ".".join(parts)


def _identifier(file: str) -> str:
    """Return the name of a file as a name in Python."""
    return re.sub(r"^(?=\d)|\W", "_", file)


def _listed(bench: Workbench, module: str) -> tuple[list[str], list[str], list[str]]:
    """Return what is public in a module, the modules beneath it, and its classes that may be of tensors."""
    (seen,) = library.Library(bench.engine).run(LISTING.format(module=module), timed=False)
    own, beneath, classes = seen.data
    return own, beneath, classes


def _imported(setup: str) -> set[str]:
    """Return the modules that a text imports by their own names; none of one that is no Python, which a start tells."""
    try:
        statements = ast.parse(setup).body
    except SyntaxError:
        return set()
    names = [alias for each in statements if isinstance(each, ast.Import) for alias in each.names]
    return {alias.name for alias in names if alias.asname in {None, alias.name}}
