"""The files that make up this repository."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "refgrad"
TESTS = ROOT / "tests"
MADE_BY_TOOLS = frozenset({"__pycache__", "build", "dist"})


@cache
def kept_files() -> tuple[Path, ...]:
    """Every file that git tracks or would add; outside of git, every file that no tool has made."""
    if not (ROOT / ".git").exists():
        return tuple(sorted(_walk(ROOT)))
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 (the git of the PATH)
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = {ROOT / name for name in listing.stdout.split("\0") if name}
    return tuple(sorted(path for path in paths if path.is_file()))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        hidden = path.name.startswith(".") and path.name != ".ci"
        if path.is_dir() and not hidden and path.name not in MADE_BY_TOOLS and path.suffix != ".egg-info":
            yield from _walk(path)
        elif path.is_file():
            yield path


def python_files(folder: Path) -> tuple[Path, ...]:
    """The Python files below a folder."""
    return tuple(sorted(folder.rglob("*.py")))


@cache
def syntax_tree(path: Path) -> ast.Module:
    """The parsed source of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """The nodes of a parsed file, which many tests go through."""
    return tuple(ast.walk(tree))


def dotted(node: ast.AST) -> str:
    """A name with its attributes, such as `pytest.mark.skip`; empty for any other expression."""
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def nodes_of(package: str) -> Iterator[ast.AST]:
    """The nodes of all modules of a package."""
    return (node for path in python_files(PACKAGE / package) for node in nodes(syntax_tree(path)))


def open_dataclasses(package: str) -> dict[str, str]:
    """The dataclasses of a package that are not frozen or have no slots, by what they have of the two."""
    classes: dict[str, list[str]] = {}
    for node in nodes_of(package):
        decorators = " ".join(map(ast.unparse, node.decorator_list)) if isinstance(node, ast.ClassDef) else ""
        if isinstance(node, ast.ClassDef) and "dataclass" in decorators:
            flags = " ".join(flag for flag in ("frozen", "slots") if f"{flag}=True" in decorators)
            classes.setdefault(flags, []).append(node.name)
    return {flags: " ".join(sorted(names)) for flags, names in sorted(classes.items()) if flags != "frozen slots"}


def data_options(package: str) -> dict[str, str]:
    """The dataclasses and fields of a package with options beyond ``frozen``, ``slots`` and defaults, by the option."""
    options: dict[str, list[str]] = {}
    for node in nodes_of(package):
        if isinstance(node, ast.ClassDef):
            named = {f"{node.name}.{ast.unparse(x.target)}": x.value for x in node.body if isinstance(x, ast.AnnAssign)}
            for name, call in (*((node.name, each) for each in node.decorator_list), *named.items()):
                if isinstance(call, ast.Call) and dotted(call.func) in {"dataclass", "field"}:
                    for option in call.keywords:
                        options.setdefault(ast.unparse(option), []).append(name)
    usual = ("frozen=", "slots=", "default")
    return {text: " ".join(sorted(names)) for text, names in sorted(options.items()) if not text.startswith(usual)}


def loose_zips(package: str) -> list[str]:
    """The calls of ``zip`` in a package that ignore what one of their arguments has more than the others."""
    calls = (node for node in nodes_of(package) if isinstance(node, ast.Call))
    texts = [ast.unparse(call) for call in calls if dotted(call.func) == "zip"]
    return sorted(text for text in texts if "strict=True" not in text)


def name_of(path: Path) -> str:
    """A file as people write it: relative to the top of the repository."""
    return path.relative_to(ROOT).as_posix()


def layers() -> tuple[str, ...]:
    """The modules and packages right below `refgrad`, which are the units that the layers are made of."""
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    return tuple(sorted(packages | modules))
