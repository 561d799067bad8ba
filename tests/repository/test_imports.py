"""Importing refgrad loads only what it has to."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.repository.isolation import HEAVY, IMPORT_EVERY_MODULE, copy_package, run_python
from tests.repository.sources import PACKAGE, layers, name_of, nodes, python_files, syntax_tree

ENGINES = ("torch", "autograd", "mygrad", "micrograd", "jax", "tinygrad", "tensorflow")
INVENTORIES = "refgrad/adapters/"
SHARED_FOLDERS = {"refgrad/adapters"}
LIVE_WITHOUT_THE_ENGINE = (
    "operators",
    "scenario",
    "interpreter",
    "oracles",
    "generation",
    "strategies",
    "lifecycle",
    "native",
    "grading",
)


def loaded_by(module: str, among: tuple[str, ...]) -> list[str]:
    return run_python(f"import sys, {module}; print(*[name for name in {among!r} if name in sys.modules])").split()


def test_importing_refgrad_loads_no_engine_and_nothing_heavy() -> None:
    assert loaded_by("refgrad", ENGINES + HEAVY) == []


def test_importing_a_layer_loads_no_third_party_engine() -> None:
    """One process imports them all, since none may load an engine."""
    modules = ", ".join(f"refgrad.{layer}" for layer in layers() if layer != "adapters")
    assert loaded_by(modules, ENGINES) == []


def imported_libraries(path: Path) -> Iterator[str]:
    for node in nodes(syntax_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


def test_an_engine_is_imported_by_its_inventories_alone() -> None:
    importers = defaultdict(set)
    for path in python_files(PACKAGE):
        for library in set(imported_libraries(path)).intersection(ENGINES):
            importers[library].add(name_of(path))
    for library, files in importers.items():
        folders = {name.rpartition("/")[0] for name in files}
        assert len(folders) == 1, f"{library} is imported by {sorted(files)}"
        assert all(name.startswith(INVENTORIES) for name in files), f"{library} is imported by {sorted(files)}"


def test_what_judges_the_reference_engine_lives_without_it(tmp_path: Path) -> None:
    copy_package(tmp_path, without="engine")
    names = tuple(f"refgrad.{layer}" for layer in LIVE_WITHOUT_THE_ENGINE)
    program = f"""
{IMPORT_EVERY_MODULE}
import refgrad
import_every_module(*{names!r})
print(refgrad.__file__)
print(importlib.util.find_spec("refgrad.engine"))
"""
    place, engine = run_python(program, package_from=tmp_path).splitlines()
    assert Path(place).is_relative_to(tmp_path)
    assert engine == "None"
