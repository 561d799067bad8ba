"""Print a command of README.md by its name, so that CI runs the command that README.md gives.

In README.md a command is a fenced block of bash directly below a marker: an HTML comment with `command:` and a name.

    python .ci/readme_command.py tests
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(
    r"<!-- command: (?P<name>[\w-]+) -->\s*\n```(?:bash|sh|shell)\n(?P<command>.*?)^```", re.DOTALL | re.MULTILINE
)


def commands(text: str) -> dict[str, str]:
    """Return every marked command of a README by name."""
    found = [(block["name"], block["command"]) for block in BLOCK.finditer(text)]
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        raise SystemExit(f"README.md marks a command twice: {', '.join(sorted(names))}")
    return dict(found)


def main() -> None:
    """Print the requested command, or exit with a message if README.md has no command of that name."""
    if len(sys.argv) != 2:  # noqa: PLR2004 (the script and one name)
        raise SystemExit("usage: readme_command.py NAME")
    known = commands(README.read_text(encoding="utf-8"))
    if sys.argv[1] not in known:
        raise SystemExit(f"README.md marks no command {sys.argv[1]!r}; it marks: {', '.join(sorted(known)) or 'none'}")
    print(known[sys.argv[1]], end="")


if __name__ == "__main__":
    main()
