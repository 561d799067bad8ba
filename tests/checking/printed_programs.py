"""Run printed programs of wrong functions in this process: from names and programs to what each prints, as JSON."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

from tests.checking.functions.torch_hints import WRONG


def printed(name: str, program: str) -> str:
    """Return what a program prints that has the function and the inputs of the check, and nothing else."""
    wrong = next(each for each in WRONG if each.name == name)
    lines: list[str] = []
    names: dict[str, Any] = {"function": wrong.function, "inputs": wrong.inputs}
    names["print"] = lambda *values: lines.append(" ".join(map(str, values)))
    try:
        exec(compile(program, name, "exec"), names)
    except Exception as error:  # noqa: BLE001 (the test reports it)
        return f"{type(error).__name__}: {error}"
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.stdout.write(json.dumps({name: printed(name, program) for name, program in json.load(sys.stdin).items()}))
