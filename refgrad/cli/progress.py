"""What a command is doing, and how far it is, in a line on standard error that is gone once the command is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, TaskID, TextColumn


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
