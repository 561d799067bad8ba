"""The options of grading on pytest's command line, read without loading anything of refgrad."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class GradeOptions:
    """An engine by name, and how to grade it; ``select`` empty means every check."""

    engine: str
    profile: str = "standard"
    seed: int = 0
    output: Path | None = None
    select: tuple[str, ...] = ()
    resume: bool = False
    python: str | None = None
    in_process: bool = False
    time_limit: float | None = None
    memory_limit: int | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> GradeOptions | None:
        """Return the options of a session, None if it names no engine.

        Raises UsageError for an option of grading without an engine, or for --grade-resume without --grade-output.
        """
        given = config.option
        engine, output = given.grade_engine, given.grade_output
        if engine is None:
            if any((given.grade_profile, output, given.grade_select, given.grade_resume, given.grade_seed)):
                raise pytest.UsageError("--profile and the options --grade-... need --engine NAME")
            return None
        if given.grade_resume and output is None:
            raise pytest.UsageError("--grade-resume needs --grade-output DIR, where the journal is")
        return cls(
            engine=engine,
            profile=given.grade_profile or "standard",
            seed=given.grade_seed or 0,
            output=None if output is None else Path(output),
            select=tuple(given.grade_select or ()),
            resume=given.grade_resume,
            python=given.grade_python,
            in_process=given.grade_in_process,
            time_limit=given.grade_time_limit,
            memory_limit=given.grade_memory_limit,
        )
