"""Questions that tests put to a fresh interpreter, about a copy of the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.repository.sources import PACKAGE, ROOT

HEAVY = (
    "numpy",
    "scipy",
    "sympy",
    "flint",
    "hypothesis",
    "pytest",
    "_pytest",
    "xdist",
    "rich",
    "click",
    "jinja2",
    "jsonschema_rs",
)
"""Libraries that take time to load, so that nothing loads them before it needs them."""

IMPORT_EVERY_MODULE = """
import importlib, pkgutil
def import_every_module(*names):
    for name in names:
        module = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
            importlib.import_module(found.name)
"""


def run_python(program: str, *, package_from: Path = ROOT, specs: Path | None = None) -> str:
    """Run a program against the `refgrad/` that lies in `package_from`, and return what it printed.

    Raises:
        AssertionError: the program failed; the message ends with its traceback.

    """
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "REFGRAD_SPECS"}}
    environment["PYTHONPATH"] = str(package_from)
    if specs is not None:
        environment["REFGRAD_SPECS"] = str(specs)
    finished = subprocess.run(
        [sys.executable, "-c", program],
        cwd=package_from,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, f"{program}\n{finished.stderr}"
    return finished.stdout


def copy_package(target: Path, *, without: str) -> Path:
    """Copy the package and its specifications to `target`, without one of its folders."""
    shutil.copytree(PACKAGE, target / "refgrad")
    shutil.copytree(ROOT / "specs", target / "specs")
    shutil.rmtree(target / "refgrad" / without)
    return target
