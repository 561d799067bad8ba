"""Check that refgrad, installed outside of its checkout, finds its data and its engines."""

import sys
from importlib.resources import files
from pathlib import Path

import refgrad
from refgrad.native.adapter import find_adapter
from refgrad.native.engine_names import registered_engines
from refgrad.operators import operator_table
from refgrad.specification import specs_directory


def main() -> None:
    """Exit with a message about the first part that is missing."""
    package = Path(refgrad.__file__ or "").parent
    if not package.is_relative_to(sys.prefix):
        raise SystemExit(f"this is not the installed package, but {package}")
    if specs_directory() != (package / "specs").resolve():
        raise SystemExit(f"the specifications are not those of the wheel, but {specs_directory()}")
    if not files(refgrad).joinpath("py.typed").is_file():
        raise SystemExit("the wheel lacks py.typed")
    engines = [find_adapter(name).name for name in registered_engines()]
    if "refgrad" not in engines:
        raise SystemExit(f"the reference engine is not among the engines {engines}")
    print(f"{len(operator_table())} operators in {specs_directory()}")
    print(f"engines: {', '.join(engines)}")


if __name__ == "__main__":
    main()
