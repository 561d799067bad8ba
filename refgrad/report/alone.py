"""The program by which ``confirm`` runs another one, in any interpreter, with only the standard library.

The other program is read from standard input. It cannot import refgrad, whose entry in ``sys.modules`` is None. Each
call of its ``print`` is followed by a line of data. If an exception ends the program, it is written as a line of data
too. If that is an AssertionError, the value of the program's variable ``got`` is written before it.
"""

import json
import sys
from typing import Any

MARK = "\x1erefgrad "


def data(value: Any) -> Any:
    """Return a value as JSON data: arrays with their dtypes, numbers as text, since JSON has no infinities."""
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
    """Write a row of data to standard output."""
    sys.stdout.write(MARK + json.dumps(row) + "\n")
    sys.stdout.flush()


def printing(*values: Any, **options: Any) -> None:
    """Print values, and write them as a row of data."""
    print(*values, **options)  # noqa: T201 (that is what it is for)
    told([data(value) for value in values])


def run(program: str) -> None:
    """Run a program. An exception that ends it is written as a row of data, and raised again."""
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
