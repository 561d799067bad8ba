"""The program that ``confirm`` runs another one by: as text, in any interpreter, with the standard library alone.

The other program comes on the standard input. An import of refgrad, which stands for None, is an ImportError. Each
call of its ``print`` is followed by a line of data, and so is the error that it may end with; behind an assertion that
fails what the program holds as ``got`` is handed over, too.
"""

import json
import sys
from typing import Any

MARK = "\x1erefgrad "


def data(value: Any) -> Any:
    """Return what a value is, as JSON: arrays with their dtypes, numbers as text, since JSON has no infinities."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [data(each) for each in value]
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return {"array": data(value.tolist()), "dtype": str(value.dtype)}
    try:
        return {"number": repr(float(value))}
    except (TypeError, ValueError):
        return {"text": str(value)}


def told(row: Any) -> None:
    """Hand over a row of data."""
    sys.stdout.write(MARK + json.dumps(row) + "\n")
    sys.stdout.flush()


def printing(*values: Any, **options: Any) -> None:
    """Print, and say what was printed."""
    print(*values, **options)  # noqa: T201 (that is what it is for)
    told([data(value) for value in values])


def run(program: str) -> None:
    """Run a program; the error that it ends with is handed over, and raised."""
    names = {"__name__": "__main__", "print": printing}
    try:
        exec(compile(program, "finding", "exec"), names)
    except Exception as error:
        if isinstance(error, AssertionError) and "got" in names:
            told([data(names["got"])])
        told({
            "type": type(error).__name__,
            "message": str(error),
            "bases": [each.__name__ for each in type(error).__mro__],
        })
        raise


if __name__ == "__main__":
    sys.modules["refgrad"] = None  # type: ignore[assignment]
    run(sys.stdin.read())
