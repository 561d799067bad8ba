"""The engines that can be graded, by name: those of refgrad, of installed packages, and of users."""

from __future__ import annotations

import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from refgrad.native.adapter.adapter import AdapterError
from refgrad.native.adapter.files import read_adapter
from refgrad.native.adapter.kinds import AnyAdapter
from refgrad.native.adapter.loading import load_adapter
from refgrad.native.engine_names import offered_engine, shipped_engines, unknown_engine
from refgrad.native.process import Limits

OF_PYTHON: Final = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
OF_INTERPRETER: Final = "import platform; print(platform.python_version())"
OF_NODE: Final = """
const path = require("node:path"), fs = require("node:fs");
const described = (folder) => {
  const file = path.join(folder, "package.json");
  return (fs.existsSync(file) && JSON.parse(fs.readFileSync(file)).version) || described(path.dirname(folder));
};
console.log(described(path.dirname(require.resolve(process.argv[1]))));
"""
"""Programs that print the version of an installed package, whose name is their argument."""


def find_adapter(name: str, seconds: float = Limits().start) -> AnyAdapter:
    """Return the adapter of a registered engine, of the file at a path that ends in .toml, or at ``module:object``.

    Modules are also searched for in the current folder. They are imported in a separate process, which may take
    ``seconds``. Raises AdapterError where there is no such adapter, or it is malformed, and EngineStartError where the
    import ends the process or does not end.
    """
    if name.endswith(".toml"):
        return read_adapter(name)
    if ":" in name:
        if not all(name.partition(":")):
            raise AdapterError(f"{name!r} is not of the form module:object")
        return load_adapter(name, name, seconds)
    if problem := unknown_engine(name):
        raise AdapterError(problem)
    shipped = shipped_engines()
    return read_adapter(shipped[name]) if name in shipped else load_adapter(offered_engine(name).value, name, seconds)


def is_reference_engine(adapter: AnyAdapter) -> bool:
    """Return True if an adapter is that of the reference engine, judged by the file that it was read from."""
    return adapter is read_adapter(shipped_engines()["refgrad"])


def engine_version(adapter: AnyAdapter, python: str = sys.executable) -> str:
    """Return the installed version of an adapter's package, or ``unknown``. ``python`` is its interpreter."""
    if not adapter.distribution:
        return "unknown"
    if adapter.language == "javascript":
        return _answered("node", "-e", OF_NODE, adapter.distribution)
    if (
        adapter.language in ("cpp", "java", "r")
        and (packaged := _answered("dpkg-query", "-Wf", "${Version}", adapter.distribution)) != "unknown"
    ):
        return packaged
    return package_version(adapter.distribution, python)


def package_version(distribution: str, python: str = sys.executable) -> str:
    """Return the version of a package that is installed for an interpreter, or ``unknown``."""
    if python != sys.executable:
        return _answered(python, "-c", OF_PYTHON, distribution)
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def python_version(python: str = sys.executable) -> str:
    """Return the version of a Python interpreter, or ``unknown``."""
    return platform.python_version() if python == sys.executable else _answered(python, "-c", OF_INTERPRETER)


@cache
def _answered(*command: str) -> str:
    """Return the output of a command, or ``unknown`` if it fails or prints nothing."""
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 (as above)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return asked.stdout.strip() or "unknown"
