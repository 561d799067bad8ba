"""All faults that can be planted into the core, and the sample of them that a run plants."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from tests.mutation import mutators
from tests.mutation.declared import EQUIVALENT, NAMED, NO_TOLERANCES, Named
from tests.mutation.faults import ALWAYS, Fault, Lines
from tests.mutation.mutators import Change
from tests.repository.sources import ROOT, name_of, python_files

CORE = (
    "refgrad/oracles",
    "refgrad/interpreter",
    "refgrad/lifecycle",
    "refgrad/checking",
    "refgrad/facts",
    "refgrad/grading",
    "refgrad/engine",
    "refgrad/native/calls.py",
    "refgrad/native/languages",
    "refgrad/native/observation.py",
    "refgrad/native/display.py",
    "refgrad/native/program.py",
    "refgrad/native/statements.py",
    "refgrad/native/text.py",
)
"""What finds and judges numbers, and what makes programs; the runners are held to their protocol elsewhere."""

TABLES = tuple(name_of(path) for path in sorted((ROOT / "specs" / "numbers").glob("*.toml")))
"""The tables of chosen numbers."""

NOT_CORE = ("refgrad/engine/pictures.py", "refgrad/engine/printing.py")


def core() -> tuple[str, ...]:
    """The modules into which faults are planted."""
    paths = [path for part in CORE for path in _files(ROOT / part)]
    names = [name_of(path) for path in paths]
    return tuple(name for name in names if not name.startswith(NOT_CORE))


def _files(path: Path) -> tuple[Path, ...]:
    return (path,) if path.is_file() else python_files(path)


def faults_of(module: str, source: str) -> list[Fault]:
    """Return every fault of a module or a table of numbers, but those that are declared to change nothing."""
    if module in TABLES:
        return [*_in_table(module, source)]
    tree, lines = ast.parse(source), Lines(source)
    seen: Counter[str] = Counter()
    found = [_numbered(module, where, change, lines, seen) for where, change in _changes(module, tree)]
    found += [_numbered(module, named.function, change, lines, seen) for named, change in _named(module, tree)]
    return [fault for fault in found if fault.id not in EQUIVALENT]


def _in_table(table: str, text: str) -> Iterator[Fault]:
    seen: Counter[str] = Counter()
    for key, part, other in mutators.numbers(text):
        seen[f"{key} {part['number']} {other}"] += 1
        number = seen[f"{key} {part['number']} {other}"]
        start, end = (len(text[:place].encode()) for place in part.span())
        yield Fault(table, key, "number", part["number"], other, number, start, end, other)


def _numbered(module: str, function: str, change: Change, lines: Lines, seen: Counter[str]) -> Fault:
    start, end = lines.span(change.node)
    text = f"{function}::{change.kind}::{change.told} -> {change.instead}"
    seen[text] += 1
    return Fault(
        module=module,
        function=function,
        kind=change.kind,
        old=change.told,
        new=change.instead,
        number=seen[text],
        start=start,
        end=start if change.before else end,
        replacement=change.replacement,
    )


def _changes(module: str, tree: ast.Module) -> Iterator[tuple[str, Change]]:
    for name, change in mutators.tolerances(tree):
        if f"{module}::{name}" not in NO_TOLERANCES:
            yield name, change
    for function, node in functions(tree):
        yield from ((function, change) for change in (*mutators.family_passes(node), *mutators.answers(node)))
        for inner in _inside(node):
            yield from ((function, change) for change in mutators.changes(inner))


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods of a module that do something, by their names; not those within functions."""
    for node in tree.body:
        match node:
            case ast.FunctionDef():
                yield node.name, node
            case ast.ClassDef(name=name, bases=bases) if not _is_protocol(bases):
                methods = (inner for inner in node.body if isinstance(inner, ast.FunctionDef))
                yield from ((f"{name}.{method.name}", method) for method in methods if not _is_stub(method))


def _is_protocol(bases: Iterable[ast.expr]) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in bases)


def _is_stub(method: ast.FunctionDef) -> bool:
    return ast.unparse(method.body[-1]) in {"raise NotImplementedError", "..."} or (
        len(method.body) == 1 and ast.get_docstring(method) is not None
    )


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through a function, but not into its annotations, assertions, errors' messages and texts with values."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.arguments | ast.Assert | ast.JoinedStr) or inner is getattr(node, "returns", None):
            continue
        yield inner
        if isinstance(inner, ast.AnnAssign) and inner.value is not None:
            yield from (inner.value, *_inside(inner.value))
        elif not isinstance(inner, ast.Raise):
            yield from _inside(inner)


def _named(module: str, tree: ast.Module) -> Iterator[tuple[Named, Change]]:
    for named in NAMED:
        if named.module == module:
            node = _expression(tree, named)
            yield named, Change(node, "named", named.old, named.new, f"({named.new})")


def _expression(tree: ast.Module, named: Named) -> ast.expr:
    """Return the expression that a named fault replaces; it is an error if there is none any more."""
    top = tree if "." not in named.function and named.function.isupper() else dict(functions(tree))[named.function]
    found = (n for n in ast.walk(top) if isinstance(n, ast.expr) and ast.unparse(n) == named.old)
    node = next(found, None)
    if node is None:
        raise LookupError(f"{named.module}: {named.function} has no {named.old} any more")
    return node


def all_faults(modules: Iterable[str]) -> list[Fault]:
    """Return every fault of some modules."""
    return [fault for module in modules for fault in faults_of(module, (ROOT / module).read_text(encoding="utf-8"))]


def sample(faults: list[Fault], size: int, seed: int) -> list[Fault]:
    """Return those that are always planted, and others in turn of each module, until there are so many.

    Their order follows from their ids, so that a fault that comes or goes leaves the choice of the others as it was.
    """
    chosen = [fault for fault in faults if fault.kind in ALWAYS]
    rest: defaultdict[str, list[Fault]] = defaultdict(list)
    for fault in sorted(faults, key=lambda fault: sha256(f"{seed} {fault.id}".encode()).digest()):
        if fault.kind not in ALWAYS:
            rest[fault.module].append(fault)
    piles = [rest[module] for module in sorted(rest)]
    while len(chosen) < size and any(piles):
        chosen += [pile.pop() for pile in piles if pile]
    return chosen
