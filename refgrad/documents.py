"""What is wrong first of all with a document that a JSON Schema describes."""

from __future__ import annotations

import json
from typing import Any

from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind


def first_problem(validator: Draft202012Validator, document: Any) -> ValidationError | None:
    """Return the error that says most about a document, or None if it satisfies the schema.

    That is the outermost one; where none of several schemas is satisfied, what the one that fits furthest has to say.
    """
    error = min(validator.iter_errors(document), key=_depth, default=None)
    return None if error is None else _furthest(error)


def message_of(error: ValidationError) -> str:
    """Return what is wrong, with all values that an enumeration allows."""
    if not isinstance(error.kind, ValidationErrorKind.Enum):
        return error.message
    return f"{json.dumps(error.instance)} is not one of {', '.join(map(json.dumps, error.kind.options))}"


def json_path(error: ValidationError) -> str:
    """Return where in a document an error is, as in `$.verdicts[0]`."""
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)


def _furthest(error: ValidationError) -> ValidationError:
    inner = [each for branch in getattr(error.kind, "context", None) or () for each in branch]
    deepest = max(map(_depth, inner), default=0)
    candidates = [each for each in inner if _depth(each) == deepest]
    return _furthest(candidates[0]) if len(candidates) == 1 else error


def _depth(error: ValidationError) -> int:
    return len(error.instance_path)
