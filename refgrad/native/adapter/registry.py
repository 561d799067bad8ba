"""The engines that can be graded, by name: those of refgrad, those of installed packages, and people's own."""

from __future__ import annotations

import importlib
import os
import platform
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from refgrad.errors import EngineStartError, suggestion
from refgrad.native.adapter.adapter import AdapterError
from refgrad.native.adapter.files import read_adapter
from refgrad.native.adapter.kinds import AnyAdapter, checked_adapter
from refgrad.native.engine_names import offered_engine, shipped_engines, unknown_engine

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


def find_adapter(name: str) -> AnyAdapter:
    """Return the adapter of a registered engine, of the file at a path that ends in .toml, or at ``module:object``.

    Modules are seen from the current folder too. Raises AdapterError where there is none, or where it is malformed, and
    EngineStartError where its import ends as a script does.
    """
    if name.endswith(".toml"):
        return read_adapter(name)
    if ":" in name:
        return _import_adapter(name)
    if problem := unknown_engine(name):
        raise AdapterError(problem)
    shipped = shipped_engines()
    return read_adapter(shipped[name]) if name in shipped else _load(name)


def engine_version(adapter: AnyAdapter, python: str = sys.executable) -> str:
    """Return the version of the package behind an adapter that an interpreter has installed, or ``unknown``."""
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
    """Return the version of a package that an interpreter has, or ``unknown``."""
    if python != sys.executable:
        return _answered(python, "-c", OF_PYTHON, distribution)
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def python_version(python: str = sys.executable) -> str:
    """Return the version of Python that an interpreter is of, or ``unknown``."""
    return platform.python_version() if python == sys.executable else _answered(python, "-c", OF_INTERPRETER)


@cache
def _answered(*command: str) -> str:
    """Return the line that a command prints, or ``unknown``."""
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 (as above)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return asked.stdout.strip() or "unknown"


@cache
def _load(name: str) -> AnyAdapter:
    """Load what an entry point names."""
    try:
        candidate = offered_engine(name).load()
    except AdapterError:
        raise
    except Exception as error:
        raise AdapterError(f"engine {name!r}: its adapter cannot be imported: {_said(error)}") from error
    except BaseException as error:  # a module of someone else's may raise anything
        raise _no_start(name, error) from error
    return checked_adapter(candidate, f"engine {name!r}")


def _import_adapter(name: str) -> AnyAdapter:
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise AdapterError(f"{name!r} is not of the form module:object")
    return checked_adapter(_imported(name, module_name, attribute), repr(name))


def _imported(name: str, module_name: str, attribute: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
        if hasattr(module, attribute):
            return getattr(module, attribute)
    except AdapterError:
        raise
    except Exception as error:
        raise AdapterError(f"{name!r}: the module cannot be imported: {_said(error)}") from error
    except BaseException as error:  # as above
        raise _no_start(name, error) from error
    raise AdapterError(f"{name!r}: module {module_name!r} has no {attribute!r}{suggestion(attribute, vars(module))}")


TRIED = """
import importlib, os, sys
sys.path.insert(0, os.getcwd())
try:
    importlib.import_module(sys.argv[1])
except BaseException:
    pass
os.write(int(sys.argv[2]), b"done")
os._exit(0)
"""


def try_import(name: str, seconds: float = 300.0) -> str:
    """Say how an adapter at ``module:object`` ends the process that imports it, if it does; nothing for others.

    What an import raises is no end: :func:`find_adapter` tells it.
    """
    module, colon, _ = name.partition(":")
    if not colon or name.endswith(".toml") or module in sys.modules:
        return ""
    read, write = os.pipe()
    with os.fdopen(read, "rb") as told:
        tried = subprocess.Popen(  # noqa: S603 (the module that the user named)
            [sys.executable, "-c", TRIED, module, str(write)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(write,),
            start_new_session=True,
        )
        os.close(write)
        try:
            status = tried.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"its import takes longer than {seconds:g} s"
        finally:
            with suppress(OSError):
                os.killpg(tried.pid, signal.SIGKILL)
            tried.wait()
        return "" if told.read(4) == b"done" else f"its import ended the process with status {status}"


def _no_start(name: str, error: BaseException) -> EngineStartError:
    return EngineStartError(f"engine {name!r} cannot be started: its adapter raised {_said(error)}")


def _said(error: BaseException) -> str:
    """What an import says: an ImportError names the module, of any other error the kind matters too."""
    return str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
