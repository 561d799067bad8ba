"""What is known to fail fails no run, unless it holds now, has expired, or is of another version."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from refgrad.grading.judging.verdict import Level, Outcome, Verdict
from refgrad.pytest_plugin.known_failures import KnownFailures, KnownFailuresError, read_known_failures
from tests.pytest_plugin.conftest import Folder

pytestmark = pytest.mark.turns(2)

RELU = '[[known_failure]]\nid = "edges/relu"\nreason = "a choice"\n'
MULTIPLY = '[[known_failure]]\nid = "operators/multiply"\nreason = "lopsided"\n'
ADD = '[[known_failure]]\nid = "operators/add"\nreason = "gone by now"\n'


def verdict(outcome: Outcome, name: str = "edges/relu", level: Level = "MUST") -> Verdict:
    return Verdict(name, name.partition("/")[0], "", level, outcome, message="it says\nthis")


def known(folder: Path, text: str, version: str = "1.5", *, updates: bool = False) -> KnownFailures:
    (folder / "known.toml").write_text(text)
    return KnownFailures.of(folder / "known.toml", "toy", version, updates=updates)


def test_a_known_failure_is_accepted_with_its_reason(tmp_path: Path) -> None:
    failures = known(tmp_path, RELU)
    assert failures.reason_to_accept(verdict("wrong")) == "known failure: a choice"
    assert failures.objections([verdict("wrong"), verdict("inconclusive")]) == []
    assert failures.unexpected([verdict("wrong"), verdict("wrong", "operators/exp")]) == [
        verdict("wrong", "operators/exp")
    ]


@pytest.mark.parametrize("outcome", ["passed", "convention", "unsupported"])
def test_a_known_failure_that_no_longer_exists_is_reported(tmp_path: Path, outcome: Outcome) -> None:
    [objection] = known(tmp_path, RELU).objections([verdict(outcome)])
    assert f"edges/relu is {outcome} now: a choice; delete its entry from {tmp_path / 'known.toml'}" in objection


@pytest.mark.parametrize(("days", "counts"), [(-1, False), (0, True), (1, True)])
def test_a_known_failure_counts_to_the_end_of_its_last_day(tmp_path: Path, days: int, *, counts: bool) -> None:
    last = datetime.now(UTC).date() + timedelta(days)
    failures = known(tmp_path, RELU + f"expires = {last}\n")
    assert bool(failures.reason_to_accept(verdict("wrong"))) is counts
    assert [objection.split(":")[0] for objection in failures.objections([verdict("wrong")])] == (
        [] if counts else [f"the known failure edges/relu expired on {last}"]
    )
    assert "is passed now" in failures.objection(verdict("passed"))


def test_an_entry_of_other_versions_or_of_another_engine_does_not_apply(tmp_path: Path) -> None:
    for condition in ('version = ">=2"', 'engine = "other"'):
        failures = known(tmp_path, RELU + condition + "\n")
        assert failures.reason_to_accept(verdict("wrong")) == failures.objection(verdict("passed")) == ""


def test_of_several_entries_the_most_specific_counts_and_two_alike_are_refused(tmp_path: Path) -> None:
    both = RELU.replace("a choice", "of this version") + 'version = "<2"\n' + RELU
    assert known(tmp_path, both).reason_to_accept(verdict("wrong")) == "known failure: of this version"
    assert known(tmp_path, both, "2.0").reason_to_accept(verdict("wrong")) == "known failure: a choice"
    with pytest.raises(KnownFailuresError, match=r"2 entries are about edges/relu of toy 1\.5"):
        known(tmp_path, RELU + RELU)


def test_an_update_adds_what_fails_and_deletes_what_holds(tmp_path: Path) -> None:
    failures = known(tmp_path, RELU + MULTIPLY, updates=True)
    new = [verdict("wrong", "operators/exp"), verdict("wrong", "operators/log", "SHOULD")]
    verdicts = [verdict("passed"), verdict("crashed", "operators/multiply"), *new]
    assert failures.objections(verdicts) == []
    assert failures.unexpected(verdicts) == new[1:]
    failures.update(verdicts)
    entries = read_known_failures(tmp_path / "known.toml")
    assert [(entry.id, entry.reason, entry.engine) for entry in entries] == [
        ("operators/multiply", "lopsided", ""),
        ("operators/exp", "wrong: it says this", "toy"),
    ]


def test_an_update_makes_a_file_and_moves_no_date(tmp_path: Path) -> None:
    fresh = KnownFailures.of(tmp_path / "new.toml", "toy", "unknown", updates=True)
    fresh.update([verdict("passed")])
    assert not (tmp_path / "new.toml").exists()
    fresh.update([verdict("wrong")])
    assert [entry.id for entry in read_known_failures(tmp_path / "new.toml")] == ["edges/relu"]
    text = RELU + "expires = 2020-01-01\n"
    expired = known(tmp_path, text, updates=True)
    expired.update([verdict("wrong")])
    assert expired.reason_to_accept(verdict("wrong")) == ""
    assert (tmp_path / "known.toml").read_text() == text


def test_pytest_accepts_what_is_known_and_fails_for_what_holds_or_is_new(folder: Folder) -> None:
    (folder.path / "known.toml").write_text(MULTIPLY + ADD)
    chosen = [f"--grade-select=operators/{name}" for name in ("add", "multiply", "relu")]
    result = folder.grade("WRONG", *chosen, "--expect=known.toml", "-rxf")
    result.assert_outcomes(failed=2, xfailed=1)
    result.stdout.fnmatch_lines([
        "the known failure operators/add is passed now: gone by now; delete its entry from known.toml*",
        "XFAIL refgrad::operators/multiply - known failure: lopsided",
        "FAILED refgrad::operators/add - the known failure operators/add is passed now*",
    ])
    folder.grade("WRONG", *chosen, "--expect=known.toml", "--grade-update").assert_outcomes(passed=1, xfailed=2)
    ids = [entry.id for entry in read_known_failures(folder.path / "known.toml")]
    assert ids == ["operators/multiply", "operators/relu"]
    folder.grade("WRONG", *chosen, "--expect=known.toml").assert_outcomes(passed=1, xfailed=2)


def test_a_check_that_waits_for_a_known_failure_fails_no_session(folder: Folder) -> None:
    (folder.path / "known.toml").write_text('[[known_failure]]\nid = "operators/relu"\nreason = "twice"\n')
    folder.grade("WRONG", "--grade-select=edges/relu").assert_outcomes(failed=1)
    assert folder.grade("WRONG", "--grade-select=edges/relu", "--expect=known.toml").ret == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--grade-update"], "*name their file with --expect FILE*"),
        (["--expect=none.toml"], "*none.toml: there is no such file*"),
    ],
)
def test_pytest_refuses_what_cannot_be_done(folder: Folder, arguments: list[str], problem: str) -> None:
    result = folder.grade("RIGHT", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([problem])
