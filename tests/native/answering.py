"""What a runner by itself answers to requests of the protocol."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from refgrad.native.languages import LANGUAGES


def answers(language: str, *requests: object) -> list[Any]:
    """Start the runner of a language, and return its answer to each request."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    ran = subprocess.run(LANGUAGES[language].command(), input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]
