"""What failed on some engine once is tried on every engine, and files of it say what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks.check import RegressionError, _chapter, regressions
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine
from refgrad.scenario import parse
from refgrad.specification import specs_directory
from tests.grading.broken import CHECKS, bench, verdict

TEXT = "a = leaf float64[] {0x1.8p-20} requires_grad\nb = exp a\nbackward b\nread grad a\n"
ROW = f"[[exp]]\nfound = \"an engine 1.0\"\nscenario = '''\n{TEXT}'''\n"


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of specifications whose regressions can be written."""
    for path in specs_directory().iterdir():
        if path.name != "regressions":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "regressions").mkdir()
    monkeypatch.setenv("REFGRAD_SPECS", str(tmp_path))
    _chapter.cache_clear()
    yield tmp_path / "regressions"
    _chapter.cache_clear()


def test_every_row_is_of_a_check_that_draws_and_is_right_on_the_reference_engine() -> None:
    bench = Bench(Engine(find_adapter("refgrad")), Settings("smoke"))
    folder = specs_directory() / "regressions"
    met = [f"{path.stem}/{name}" for path in folder.glob("*.toml") for name in _chapter(path.stem)]
    assert met
    for name in met:
        check = CHECKS[name]
        assert check.draws
        assert not [each.id for each in regressions(name) if bench.examine(each, check).failed]


@pytest.mark.parametrize("seed", range(3))
def test_a_fault_that_only_a_regression_meets_is_reported_for_every_seed(specs: Path, seed: int) -> None:
    wrong = (
        "def bent(x):\n    y = torch.exp(x)\n    return y * 2 if x.detach().numpy().tolist() == 1.5 / 2**20 else y\n"
    )
    broken = bench(wrong, operators={"exp": "bent({x})"})
    unknown = verdict(Bench(broken.engine, Settings("smoke", seed)), "operators/exp")
    (specs / "operators.toml").write_text(ROW, encoding="utf-8")
    _chapter.cache_clear()
    known = verdict(Bench(broken.engine, Settings("smoke", seed)), "operators/exp")
    assert (unknown.verdict, known.verdict) == ("passed", "wrong")


@pytest.mark.parametrize("helper", ["tanh", "multiply"])
def test_a_regression_is_not_tried_if_another_operator_may_be_wrong(helper: str) -> None:
    """Tanh helps to try no other operator; multiply does, and is wrong here."""
    engine = bench("", operators={"multiply": "{x} * {y} * 1.0001", "tanh": "torch.tanh({x})"})
    text = f"a = leaf float64[] {{0x1p+0}} requires_grad\nb = exp a\nc = {helper} b{' a' * (helper == 'multiply')}\n"
    check = CHECKS["contracts/exp"]
    assert check.met(parse(f"{text}backward c"), engine) is None
    assert check.met(parse(TEXT), engine) == parse(TEXT)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[[exp]", "operators.toml: cannot be read as TOML: Expected"),
        ("[[exp]]\nfound = 1", """operators.toml: exp\\[0\\]: 'scenario' is missing"""),
        (ROW.replace("exp a", "nothing"), "operators.toml: operators/exp: line 2"),
    ],
)
def test_a_malformed_file_is_an_error(specs: Path, content: str, problem: str) -> None:
    (specs / "operators.toml").write_text(content, encoding="utf-8")
    with pytest.raises(RegressionError, match=problem):
        regressions("operators/exp")
