"""What ends a measurement decides its result, and too much time or memory counts only if it is measured again."""

from types import SimpleNamespace
from typing import Any

import pytest

from refgrad.facts import Measured
from refgrad.grading import measurements
from refgrad.grading.measurements import Measurement, Reading, take_measurement
from refgrad.grading.settings import Settings
from refgrad.native.library import HangingError, RaisedError
from refgrad.native.observation import Raised
from refgrad.native.process import Ending, EndingError

GROWING = Reading("wrong", fact=Measured(quantity="memory"))


@pytest.mark.parametrize(
    ("error", "reading"),
    [
        (RaisedError(Raised("E", "no", ("NotImplementedError",))), Reading("unsupported", "raised E: no")),
        (RaisedError(Raised("E", "no", ())), Reading("inconclusive", "cannot be judged: raised E: no")),
        (HangingError("f"), Reading("inconclusive", "cannot be judged: f gives no answer", operators=("f",))),
        (EndingError(Ending("hung", "no answer")), Reading("hung", "no answer")),
    ],
)
def test_an_error_is_a_result(error: Exception, reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(*_: Any) -> Reading:
        raise error

    monkeypatch.setattr(measurements, "METHODS", {"m": raising})
    engine: Any = SimpleNamespace()
    assert take_measurement(engine, Measurement("m", {}), Settings()) == reading


@pytest.mark.parametrize(
    ("first", "renewed", "result"),
    [(GROWING, True, "passed"), (GROWING, False, "wrong"), (Reading("wrong"), True, "wrong")],
)
def test_too_much_is_measured_again_in_a_new_process(
    first: Reading, *, renewed: bool, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = iter([first, Reading("passed")])
    monkeypatch.setattr(measurements, "METHODS", {"m": lambda *_: next(results)})
    engine: Any = SimpleNamespace(runner=SimpleNamespace(renew=lambda: renewed))
    assert take_measurement(engine, Measurement("m", {}), Settings()).outcome == result
