"""What is left of a worker that died: the scenario that it was running last, and the verdict that is made of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from refgrad.grading.checks.behaviour_checks import BehaviourCheck
from refgrad.grading.checks.behaviours import all_behaviours
from refgrad.grading.checks.check import Check
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.measurements import script
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine, reproduce, start
from refgrad.scenario import Scenario, ScenarioError, parse


@dataclass(frozen=True, slots=True)
class LastScenarios:
    """A folder in which each process of a run leaves the scenario that it is running, and sees what others died of."""

    folder: Path

    def follow(self, engine: Engine, worker: str) -> None:
        """Write down every scenario before the engine runs it."""
        file = (self.folder / worker).open("w", encoding="utf-8")

        def write(scenario: Scenario) -> None:
            file.seek(0)
            file.truncate()
            file.write(scenario.text)
            file.flush()

        engine.watch = write

    def last(self, worker: str) -> Scenario | None:
        """Return the scenario that a worker was running last, None if there is none that can be read."""
        try:
            scenario = parse((self.folder / worker).read_text(encoding="utf-8"))
        except (OSError, ScenarioError):
            return None
        return scenario if scenario.steps else None

    @property
    def quarantined(self) -> frozenset[str]:
        """Ids of the scenarios that a worker died of."""
        return frozenset(path.suffix.removeprefix(".") for path in self.folder.glob("quarantined.*"))

    def quarantine(self, scenario: Scenario) -> None:
        """Let no worker run this scenario again."""
        (self.folder / f"quarantined.{scenario.id}").touch()


def crash_verdict(check: Check, engine: str, scenario: Scenario | None) -> Verdict:
    """Return the verdict on a check in which the process of an engine, named as on the command line, died."""
    return Verdict(
        id=check.id,
        chapter=check.chapter,
        operator=check.operator_name,
        level=check.level,
        verdict="crashed",
        statement=check.statement,
        message="the engine's process died" + (" while it ran this scenario" if scenario else ""),
        scenario=scenario.text if scenario else "",
        scenario_id=scenario.id if scenario else "",
        reproduction=_made_apart(_reproduce, engine, scenario.text) if scenario else _script_of(check, engine),
    )


def _made_apart(make: Callable[[str, str], str], engine: str, what: str) -> str:
    """Return a program, made where the engine can be started: in a process of its own."""
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(make, engine, what).result()
    except Exception:  # noqa: BLE001 (the verdict tells enough where an engine does not even start any more)
        return ""


def _script_of(check: Check, engine: str) -> str:
    """Return the program that a probe was running, if the check is one."""
    probed = isinstance(check, BehaviourCheck) and check.behaviour.probing is not None
    return _made_apart(_scripted, engine, check.id) if probed else ""


def _scripted(engine: str, behaviour: str) -> str:
    (probing,) = (each.probing for each in all_behaviours() if each.id == behaviour)
    assert probing is not None
    return script(start(find_adapter(engine)), probing)


def _reproduce(engine: str, text: str) -> str:
    return reproduce(parse(text), start(find_adapter(engine)))
