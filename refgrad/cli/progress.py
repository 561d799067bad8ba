"""The console of commands, and the status line on standard error while a command runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import rich.console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, TaskID, TextColumn
from rich.segment import Segment

from refgrad.native.text import escaped


class Console(rich.console.Console):
    """A console of rich that sends its own control codes to the terminal, but escapes those in the printed texts."""

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        """Write to standard output, or to standard error."""
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(file=getattr(stream, "stream", stream), **options)

    def render(self, renderable: Any, options: rich.console.ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of a printed object, with control characters in their texts escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)


@dataclass(frozen=True, slots=True)
class Doing:
    """A line with the current activity, which is not shown if standard error is not a terminal."""

    _progress: Progress
    _task: TaskID

    def report(self, text: str) -> None:
        """Show the next activity."""
        self._progress.update(self._task, description=text, refresh=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the line while the user is prompted."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()


@contextmanager
def doing(text: str) -> Iterator[Doing]:
    """Show a line with the current activity until the end of the context."""
    with passing_line(SpinnerColumn(), TextColumn("{task.description}", markup=False)) as progress:
        yield Doing(progress, progress.add_task(text, total=None))


def passing_line(*columns: ProgressColumn) -> Progress:
    """Return a line of these columns, which is not shown if standard error is not a terminal."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
