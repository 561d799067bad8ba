"""Faults that random scenarios of a few entries meet with luck at most are found in every run."""

from __future__ import annotations

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.settings import Settings
from refgrad.scenario import parse
from tests.effort import sampled
from tests.grading.broken import bench, verdict

pytestmark = pytest.mark.turns(2)

BENT = """
def bent(x, condition):
    y = torch.exp(x)
    return y + 1e-3 * (torch.sin(x) - torch.sin(x).detach()) if condition else y

def both(x, y, condition):
    z = torch.logaddexp(x, y)
    return z + 1e-3 * (torch.sin(x) - torch.sin(x).detach()) if condition else z

def tail(x):
    rest = 0 if not x.ndim or x.shape[-1] < 16 else x.shape[-1] % 8
    marks = np.zeros(x.shape)
    marks[..., x.shape[-1] - rest:] += 1e-3 if rest else 0
    return torch.exp(x) + torch.tensor(marks) * (torch.sin(x) - torch.sin(x).detach())

def empty(x):
    if not x.numel() and x.ndim == 3:
        raise ValueError("no entries")
    return torch.exp(x)
"""

EXP = {
    "from the fourth axis on": "bent({x}, {x}.ndim > 3)",
    "from the fifth axis on": "bent({x}, {x}.ndim > 4)",
    "from 64 entries on": "bent({x}, {x}.numel() >= 64)",
    "behind 256 entries": "bent({x}, {x}.numel() > 256)",
    "at one entry more than a power of two": "bent({x}, {x}.numel() == 33)",
    "at one entry less than a power of two": "bent({x}, {x}.numel() == 127)",
    "behind the last full vector": "tail({x})",
    "in a long column": "bent({x}, {x}.ndim == 2 and {x}.shape[0] > 100)",
    "where a length in the middle is 0": "empty({x})",
}

LOGADDEXP = {
    "where one tensor is both operands": "both({x}, {y}, {x} is {y})",
    "where the first operand alone wants a gradient": "both({x}, {y}, {x}.requires_grad and not {y}.requires_grad)",
    "where the second operand is stretched along a fourth axis": "both({x}, {y}, {x}.ndim > 3 and {y}.ndim < 4)",
}


@pytest.mark.parametrize("seed", sampled([0, 1], 2))
@pytest.mark.parametrize(
    ("operator", "spelling"),
    [*(("exp", text) for text in EXP.values()), *(("logaddexp", text) for text in LOGADDEXP.values())],
    ids=[*EXP, *LOGADDEXP],
)
def test_a_fault_is_found_whatever_the_seed(operator: str, spelling: str, seed: int) -> None:
    broken = bench(BENT, operators={operator: spelling})
    found = verdict(Bench(broken.engine, Settings("standard", seed)), f"operators/{operator}")
    assert found.failed


def test_a_long_row_is_shrunk_to_its_first_entry_that_fails() -> None:
    found = verdict(bench(BENT, "standard", operators={"exp": "bent({x}, {x}.numel() > 20)"}), "operators/exp")
    assert [leaf.value.size for leaf in parse(found.scenario).leaves] == [21]


def test_an_operator_without_faults_passes_with_all_of_its_fixed_cases() -> None:
    assert verdict(bench(profile="standard"), "operators/multiply").verdict == "passed"
