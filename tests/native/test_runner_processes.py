"""Programs of one batch are answered each for itself, whatever becomes of the others."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from refgrad.native.adapter import TapeAdapter
from refgrad.native.engine import Engine, Isolation, launch, observe, prepare
from refgrad.native.library import Library
from refgrad.native.process import Ending, Limits
from refgrad.native.runner import LocalRunner, ProcessRunner
from refgrad.scenario import Scenario, parse
from tests.native.misbehaving_engines import MISBEHAVIOURS, SETUP
from tests.native.tiny_engine import tiny_adapter

pytestmark = pytest.mark.turns(2)

LEAVING, HANGING = ("leaves with status 3", "never ends")
Start = Callable[..., ProcessRunner]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return what starts an engine whose exponential misbehaves."""
    runners: list[ProcessRunner] = []

    def started(name: str, seconds: float = 1.0) -> ProcessRunner:
        (misbehaviour,) = (each for each in MISBEHAVIOURS if each.name == name)
        runners.append(ProcessRunner(misbehaviour.adapter(), limits=Limits(program=seconds)))
        return runners[-1]

    yield started
    for runner in runners:
        runner.stop()


def scenario(operator: str, value: int) -> Scenario:
    return parse(f"x = leaf float64[] {{0x1p+{value}}} requires_grad\ny = {operator} x\nbackward y\nread grad x\n")


def test_only_the_programs_that_end_the_process_are_lost(start: Start) -> None:
    runner = start(LEAVING)
    engine = Engine(runner.adapter, runner)
    names = ["sin", "exp", "sin", "sin", "exp", "sin"]
    programs = [engine.program(scenario(name, number)) for number, name in enumerate(names)]
    answers = runner.run(programs)
    assert [isinstance(answer, Ending) for answer in answers] == [name == "exp" for name in names]
    assert runner.endings == 2
    assert {answer.step for answer in answers if isinstance(answer, Ending)} == {2}


SPOILING = '    globals()["sin"] = lambda x: {}'
WEARING = "    exp.runs = getattr(exp, 'runs', 0) + 1\n    os._exit(3) if exp.runs > 1 else None"


def ended(body: str, names: Sequence[str]) -> list[bool]:
    """Return in which programs, one for each operator, the process of an engine with this exponential ends."""
    adapter = tiny_adapter(setup=SETUP.format(body=body), operators={"exp": "exp({x})", "sin": "sin({x})"})
    runner = ProcessRunner(adapter, limits=Limits(program=1.0))
    engine = Engine(runner.adapter, runner)
    try:
        answers = runner.run([engine.program(scenario(name, number)) for number, name in enumerate(names)])
    finally:
        runner.stop()
    return [isinstance(answer, Ending) for answer in answers]


@pytest.mark.parametrize("end", ["os._exit(3)", "time.sleep(60)"])
def test_a_program_is_not_to_blame_for_what_another_one_did_to_their_process(end: str) -> None:
    assert ended(SPOILING.format(end), ["sin", "exp", "sin", "exp", "sin"]) == [False] * 5


def test_a_program_that_ends_a_process_when_it_is_run_again_is_to_blame() -> None:
    assert ended(WEARING, ["sin", "exp", "sin", "exp"]) == [False, False, False, True]


def test_what_was_run_ahead_is_not_run_again_and_stops_at_the_first_end(start: Start) -> None:
    runner = start(LEAVING)
    engine = Engine(runner.adapter, runner)
    first, fatal, after = scenario("sin", 1), scenario("exp", 2), scenario("sin", 3)
    prepare([first, fatal, after], engine)
    assert runner.endings == 1
    assert observe(first, engine)[-1].array is not None
    assert observe(fatal, engine)[1].ending is not None
    assert observe(fatal, engine)[1].ending is not None
    assert observe(after, engine)[-1].array is not None
    assert runner.endings == 1


def test_a_program_that_hangs_is_ended_and_told_in_which_step(start: Start) -> None:
    runner = start(HANGING, 0.5)
    seen = observe(scenario("exp", 1), Engine(runner.adapter, runner))
    ending = seen[1].ending
    assert ending is not None
    assert (ending.outcome, ending.step) == ("hung", 2)


def test_a_program_that_hangs_has_its_own_time_and_not_that_of_its_batch(start: Start) -> None:
    runner = start(HANGING, 0.5)
    engine = Engine(runner.adapter, runner)
    started = time.monotonic()
    (ending,) = runner.run_until_ended([engine.program(scenario("exp", 1)) for _ in range(100)])
    assert isinstance(ending, Ending)
    assert time.monotonic() - started < 100 * runner.limits.program / 2


def test_an_engine_of_refgrad_runs_in_this_process_and_others_do_not_unless_told() -> None:
    adapter = tiny_adapter(setup=SETUP.format(body="    pass"))
    assert isinstance(launch(adapter, Isolation(in_process=True)).runner, LocalRunner)
    runner = launch(adapter, Isolation()).runner
    assert isinstance(runner, ProcessRunner)
    runner.stop()


FROZEN = "import gc\n\nfrozen = gc.get_freeze_count()\n\n\ndef attempt(n):\n    return frozen\n"


def kept_from_the_collector(isolation: Isolation) -> list[float]:
    """Return how many objects of an engine's process the collector does not walk, before each of two timed calls."""
    engine = launch(tiny_adapter(), isolation)
    kept = [Library(engine).run(FROZEN, 1)[0].data for _ in range(2)]
    if isinstance(engine.runner, ProcessRunner):
        engine.runner.stop()
    return kept


def test_the_collector_does_not_walk_what_an_engine_has_loaded_and_walks_the_process_of_the_grader() -> None:
    before, after = kept_from_the_collector(Isolation())
    assert 0 < before < after
    gc.unfreeze()  # what these tests have frozen themselves, as no user's process has
    assert kept_from_the_collector(Isolation(in_process=True)) == [0, 0]


WAITING = 'import os\n\n\ndef attempt(n):\n    return os.environ["OMP_WAIT_POLICY"]\n'


@pytest.mark.parametrize("chosen", ["", "active"])
def test_threads_of_an_engine_sleep_while_they_wait_unless_the_user_chose(
    chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if chosen:
        monkeypatch.setenv("OMP_WAIT_POLICY", chosen)
    runner = ProcessRunner(tiny_adapter())
    (shown,) = Library(Engine(runner.adapter, runner)).run(WAITING, 1)
    runner.stop()
    assert shown.data == (chosen or "passive")


def errors(adapter: TapeAdapter, times: int) -> list[str]:
    """Return the errors of all steps of a program that is run several times in one process."""
    runner = ProcessRunner(adapter)
    engine = Engine(adapter, runner)
    try:
        ran = [engine.run(engine.program(scenario("exp", number))) for number in range(times)]
    finally:
        runner.stop()
    return [str(step.error) for steps in ran for step in steps if step.error is not None]


def test_a_library_that_raises_the_recursion_limit_when_it_is_imported_keeps_it() -> None:
    setup = SETUP.format(body="    def deep(n): return n and deep(n - 1)\n    deep(2000)")
    adapter = tiny_adapter(setup=f"import sys\nsys.setrecursionlimit(3000)\n{setup}", operators={"exp": "exp({x})"})
    assert errors(adapter, 3) == []


def test_the_functions_of_a_setup_are_found_in_their_module() -> None:
    setup = SETUP.format(body="    assert sys.modules[exp.__module__].exp is exp")
    assert errors(tiny_adapter(setup=setup, operators={"exp": "exp({x})"}), 1) == []


def test_what_programs_leave_in_circles_is_freed_by_and_by() -> None:
    """Others get its addresses then, so that a cache by identity is wrong."""
    adapter = TapeAdapter(
        name="circular",
        setup="import weakref\n\nclass Ring:\n    alive = weakref.WeakSet()\n\n"
        "    def __init__(self):\n        self.itself = self\n        Ring.alive.add(self)\n",
        leaf="Ring()",
        value="len({x}.alive)",
        backward="{output}.itself",
        gradient="None",
        operators={},
    )
    runner = ProcessRunner(adapter)
    made = parse("x = leaf float64[] {0x1p+0}\nread value x\n")
    try:
        shown = [observe(made, Engine(adapter, runner))[-1].array for _ in range(20)]
    finally:
        runner.stop()
    assert max(int(array) for array in shown if array is not None) < 5
