"""How a runner's process is waited for."""

import sys
import time

import pytest

from refgrad.native.process import EndingError, RunnerProcess, processor_time

pytestmark = pytest.mark.turns(2)

SLOW = (
    "import json, sys, time\n"
    "request = json.loads(sys.stdin.readline())\n"
    "time.sleep(request['sleep'])\n"
    "print(json.dumps({'id': request['id'], 'done': True}), flush=True)\n"
)


def asked(waited: list[float], monkeypatch: pytest.MonkeyPatch, seconds: float) -> bool:
    times = iter(waited)
    monkeypatch.setattr("refgrad.native.process.processor_time", lambda _: (0.0, next(times, waited[-1])))
    process = RunnerProcess([sys.executable, "-c", SLOW])
    try:
        return bool(process.ask({"id": 1, "sleep": seconds}, 1.0)["done"])
    finally:
        process.kill()


@pytest.mark.parametrize(("pipe", "size"), [(0, 10**6), (1, 1)])
def test_a_runner_that_closes_a_pipe_is_noticed_while_it_runs_on(
    pipe: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refgrad.native.process.SECONDS_TO_END", 0.2)
    process = RunnerProcess([sys.executable, "-Sc", f"import os, time\nos.close({pipe})\ntime.sleep(100)"])
    try:
        with pytest.raises(EndingError, match="closed its pipe of answers"):
            process.ask({"id": 1, "text": "x" * size}, 5.0)
    finally:
        process.kill()


def test_a_runner_inherits_its_pipes_and_its_marks_only() -> None:
    listing = "import json, os\ninput()\nprint(json.dumps({'id': 1, 'open': sorted(os.listdir('/proc/self/fd'))}))"
    process = RunnerProcess([sys.executable, "-Sc", listing])
    try:
        assert len(process.ask({"id": 1}, 60.0)["open"]) == 5  # three pipes, the marks, and the listed folder
    finally:
        process.kill()


def test_what_a_process_waits_for_a_processor_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked([0.0, 2.0], monkeypatch, 1.4)


@pytest.mark.parametrize(("waited", "sleep"), [([0.0, 0.1], 1.7), ([0.0, 100.0], 20.0)])
def test_a_process_that_was_not_kept_waiting_or_takes_far_too_long_is_ended(
    waited: list[float], sleep: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EndingError, match="gave no answer within 1 s"):
        asked(waited, monkeypatch, sleep)


def test_the_system_reports_how_long_a_process_has_run_and_waited() -> None:
    process = RunnerProcess([sys.executable, "-c", f"sum(range(10**6))\n{LONG}"])
    try:
        process.ask({"id": 1, "size": 1}, 60.0)
        used, waited = processor_time(process.pid)
        assert used > 0.0
        assert waited >= 0.0
    finally:
        process.kill()
    assert processor_time(process.pid) == (0.0, 0.0)


LONG = (
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    request = json.loads(line)\n"
    "    print(json.dumps({'id': request['id'], 'text': 'x' * request['size']}), flush=True)\n"
)


def test_the_time_to_read_an_answer_grows_as_its_size() -> None:
    process = RunnerProcess([sys.executable, "-c", LONG])
    seconds = []
    try:
        for number, size in enumerate((1 << 22, 1 << 26), 1):
            started = time.process_time()
            assert len(process.ask({"id": number, "size": size}, 60.0)["text"]) == size
            seconds.append(time.process_time() - started)
    finally:
        process.kill()
    assert (
        seconds[1] < 64 * seconds[0]
    )  # sixteen times the size takes 256 times as long where each part is searched again


def test_a_process_that_does_not_answer_was_busy_or_waiting() -> None:
    for code, how in (("while True: pass", "busy"), ("import time; time.sleep(100)", "waiting")):
        process = RunnerProcess([sys.executable, "-c", code])
        with pytest.raises(EndingError, match=f"^gave no answer within 1 s, and was {how}$"):
            process.ask({"id": 1}, 1.0)
        assert process.ended


def test_a_command_that_cannot_be_run_is_one_error() -> None:
    process = RunnerProcess(["/no/such/interpreter"])
    with pytest.raises(EndingError, match=r"^'/no/such/interpreter' cannot be run: No such file or directory$"):
        process.ask({"id": 1}, 60.0)
