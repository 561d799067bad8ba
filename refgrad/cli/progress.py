"""The console of commands, and the line on standard error that shows what one is doing until it is done."""

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
    """A console of rich whose own colours and movements reach the terminal, and in whose texts nothing does."""

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        """Write to standard output, or to standard error."""
        stream = sys.stderr if stderr else sys.stdout
        super().__init__(file=getattr(stream, "stream", stream), **options)

    def render(self, renderable: Any, options: rich.console.ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the parts of something that is printed, each with control characters as escapes."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)


@dataclass(frozen=True, slots=True)
class Doing:
    """A line that tells what is done; nothing of it is shown where standard error is no terminal."""

    _progress: Progress
    _task: TaskID

    def tell(self, text: str) -> None:
        """Show what is done next."""
        self._progress.update(self._task, description=text, refresh=True)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the line away while the user is asked."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()


@contextmanager
def doing(text: str) -> Iterator[Doing]:
    """Tell what a command is doing until it is done."""
    with passing_line(SpinnerColumn(), TextColumn("{task.description}", markup=False)) as progress:
        yield Doing(progress, progress.add_task(text, total=None))


def passing_line(*columns: ProgressColumn) -> Progress:
    """Return a line of these columns, of which nothing is shown where standard error is no terminal."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
