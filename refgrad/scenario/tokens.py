"""The tokens of one line, and a cursor that reads them."""

from __future__ import annotations

import re

from refgrad.scenario.errors import ScenarioError, alternatives, quoted
from refgrad.scenario.identifiers import check_identifier

# An unclosed quote matches the rest of the line, so that reading takes linear time.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[=\[\](){},:]|#.*|[^\s=\[\](){},:"#]+|".*')
_CLOSED_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_END = ""


def tokenize(line: str) -> list[str]:
    """Return the tokens of a line without its comment. Raises ScenarioError if a string is not closed."""
    tokens: list[str] = _TOKEN.findall(line)
    if tokens and tokens[-1].startswith("#"):
        del tokens[-1]
    if tokens and tokens[-1].startswith('"') and not _CLOSED_STRING.fullmatch(tokens[-1]):
        raise ScenarioError(f"the string {quoted(tokens[-1])} is not closed")
    return tokens


class Cursor:
    """A position in the tokens of one line, from which a step is read."""

    __slots__ = ("_position", "_tokens")

    def __init__(self, tokens: list[str]) -> None:
        """Start at the first token."""
        self._tokens = tokens
        self._position = 0

    def peek(self, ahead: int = 0) -> str:
        """Return a token without moving; an empty string past the end."""
        place = self._position + ahead
        return self._tokens[place] if place < len(self._tokens) else _END

    def at_end(self) -> bool:
        """Return True if all tokens have been read."""
        return self._position >= len(self._tokens)

    def take(self, wanted: str) -> str:
        """Return the next token. If there is none, raise ScenarioError, which names ``wanted`` as missing."""
        if self.at_end():
            raise ScenarioError(f"the line ends where {wanted} should be")
        self._position += 1
        return self._tokens[self._position - 1]

    def accept(self, token: str) -> bool:
        """Skip the next token if it is this one, and return True if it was."""
        found = self.peek() == token
        self._position += found
        return found

    def expect(self, *tokens: str) -> None:
        """Skip the next token. Raises ScenarioError if it is none of these."""
        wanted = alternatives([repr(token) for token in tokens])
        found = self.take(wanted)
        if found not in tokens:
            raise ScenarioError(f"{quoted(found)} stands where {wanted} should be")

    def take_identifier(self, wanted: str) -> str:
        """Return the next token, which must be an identifier."""
        name = self.take(wanted)
        check_identifier(name)
        return name

    def take_until(self, token: str) -> list[str]:
        """Return all tokens before this one, and skip it. Raises ScenarioError if there is none."""
        try:
            end = self._tokens.index(token, self._position)
        except ValueError:
            raise ScenarioError(f"the line ends where {token!r} should be") from None
        taken = self._tokens[self._position : end]
        self._position = end + 1
        return taken

    def finish(self) -> None:
        """Raise ScenarioError if tokens are left on the line."""
        if not self.at_end():
            raise ScenarioError(f"{quoted(self.peek())} follows what should be the end of the line")
