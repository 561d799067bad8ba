"""The table of functions as people write them: what check_gradients says of each, beside the library's own checker.

``python -m tests.benchmarks.written_functions > docs/reference/written-functions.md`` measures it and prints the page;
``python -m tests.benchmarks.written_functions LIBRARY WORDS`` prints those of a library with words in their names.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from refgrad import check_gradients
from tests.checking.functions.case import Case

REPEATS = 3

SLOWEST = 5
"""Number of functions that are named because refgrad is slowest on them, compared with the other checker."""

FACTOR, ADDED = 10.0, 1e3
"""A check may take this many times as long as the other checker, and so many milliseconds more."""


@dataclass(frozen=True, slots=True)
class Row:
    """What two checkers said of a function, and how many milliseconds of processor time each took.

    ``plain_time`` is that of ``check_gradients`` without contexts.
    """

    case: Case
    ours: str
    method: str
    theirs: str
    our_time: float
    plain_time: float
    their_time: float

    @property
    def ours_right(self) -> bool:
        """Whether refgrad called the function what it is."""
        return self.ours == ("right" if self.case.right else "wrong")

    @property
    def theirs_right(self) -> bool:
        """Whether the other checker passed what is right, and refused what is wrong in whatever way."""
        return (self.theirs == "right") == self.case.right

    @property
    def ratio(self) -> float:
        """Time of refgrad over that of the other checker."""
        return self.our_time / self.their_time

    @property
    def plain_ratio(self) -> float:
        """Time of refgrad without contexts over that of the other checker."""
        return self.plain_time / self.their_time

    @property
    def slow(self) -> bool:
        """Whether refgrad took longer than it may."""
        return self.our_time > FACTOR * self.their_time + ADDED


def table(cases: Sequence[Case], peer: Callable[[Case], bool]) -> list[Row]:
    """Run both checkers on all functions."""
    return [_row(case, peer) for case in cases]


def _row(case: Case, peer: Callable[[Case], bool]) -> Row:
    checks = (lambda: _report(case), lambda: _report(case, contexts=()), lambda: _verdict(case, peer))
    (report, _, verdict), (ours, plain, theirs) = _timed(checks)
    return Row(case, report[0], report[1], verdict, ours, plain, theirs)


def _report(case: Case, **options: Any) -> tuple[str, str]:
    options |= case.options
    try:
        report = check_gradients(case.function, case.inputs(), case.library, raise_exception=False, **options)
    except Exception as error:  # noqa: BLE001 (whatever it raises is a row of the table)
        return type(error).__name__, "none"
    return report.outcome, report.method


def _verdict(case: Case, peer: Callable[[Case], bool]) -> str:
    try:
        with warnings.catch_warnings(action="ignore"):
            return "right" if peer(case) else "wrong"
    except Exception as error:  # noqa: BLE001 (as above)
        return type(error).__name__


def _timed(checks: Sequence[Callable[[], Any]]) -> tuple[list[Any], list[float]]:
    """Return what some checks returned that are run in turn, and the least time that each took, in milliseconds."""
    times: list[list[float]] = []
    for _ in range(REPEATS):
        results = []
        times.append([])
        for check in checks:
            before = time.process_time()
            results.append(check())
            times[-1].append(1e3 * (time.process_time() - before))
    return results, list(map(min, zip(*times, strict=True)))


def gradcheck(case: Case) -> bool:
    """Ask PyTorch's own checker."""
    autograd = import_module("torch").autograd
    options = dict(case.options)
    check = autograd.gradgradcheck if options.pop("order", 1) > 1 else autograd.gradcheck
    names = {"forward": "check_forward_ad", "batched": "check_batched_grad"}
    more = {names[name]: value for name, value in options.items() if name in names}
    return bool(check(case.function, case.inputs(), raise_exception=False, **more))


def summary(rows: Sequence[Row], peer: str) -> str:
    """Return the counts and the ratio of times as a table."""
    right = [row for row in rows if row.case.right]
    wrong = [row for row in rows if not row.case.right]
    counts = (
        ("refgrad.check_gradients", [r.ours_right for r in right], [r.ours_right for r in wrong], "our_time"),
        (peer, [r.theirs_right for r in right], [r.theirs_right for r in wrong], "their_time"),
    )
    lines = ["| checker | right ones called right | wrong ones called wrong | median ms |", "|---|---|---|---|"]
    for name, passed, refused, times in counts:
        median = statistics.median(getattr(row, times) for row in rows)
        lines.append(f"| {name} | {sum(passed)} of {len(passed)} | {sum(refused)} of {len(refused)} | {median:.1f} |")
    heads = ("refgrad's time over the other's", "with the default contexts", "without contexts")
    lines += ["", f"| {' | '.join(heads)} |", "|---|---|---|"]
    for name, some in (("all", rows), ("right ones", right), ("wrong ones", wrong)):
        if some:
            with_contexts, plain = (
                statistics.median(getattr(r, each) for r in some) for each in ("ratio", "plain_ratio")
            )
            lines.append(f"| median of {name} | {with_contexts:.2f} | {plain:.2f} |")
    slowest = sorted(rows, key=lambda row: row.ratio, reverse=True)[:SLOWEST]
    named = ", ".join(f"{row.case.name} ({row.our_time:.0f} ms, ratio {row.ratio:.0f})" for row in slowest)
    late = ", ".join(row.case.name for row in rows if row.slow) or "none"
    lines += ["", f"Largest ratios: {named}.", ""]
    lines.append(f"Slower than {FACTOR:.0f} times the other checker plus {ADDED / 1e3:.0f} s: {late}.\n")
    return "\n".join(lines)


def details(rows: Sequence[Row]) -> str:
    """Return a line for each function."""
    return "\n".join(
        f"| {row.case.name} | {row.case.fault or 'right'} | {row.ours} | {row.method} | {row.theirs} "
        f"| {row.our_time:.1f} | {row.plain_time:.1f} | {row.their_time:.1f} |"
        for row in rows
    )


def jax_check(case: Case) -> bool:
    """Ask JAX's own checker, in the modes and up to the order that are asked for."""
    modes = ("fwd", "rev") if case.options.get("forward") else ("rev",)
    order = int(case.options.get("order", 1))
    import_module("jax").config.update("jax_enable_x64", True)  # noqa: FBT003 (JAX's own spelling)
    import_module("jax.test_util").check_grads(case.function, case.inputs(), order, modes)
    return True


def autograd_check(case: Case) -> bool:
    """Ask HIPS autograd's own checker."""
    import_module("autograd.test_util").check_grads(case.function, modes=["rev"], order=1)(*case.inputs())
    return True


PEERS = {
    "torch": ("torch.autograd.gradcheck", gradcheck),
    "jax": ("jax.test_util.check_grads", jax_check),
    "autograd": ("autograd.test_util.check_grads", autograd_check),
}
"""The checker of each library that has one."""


PAGE = """\
# Functions as people write them

<!-- generated by `python -m tests.benchmarks.written_functions`; do not edit -->

The functions of `tests/checking/functions`, right and wrong, and what `check_gradients` and the library's own checker
call them. A checker that raises refuses a function. Times are milliseconds of processor time on one thread, the least
of three; the checkers take turns. Those of refgrad are with the default contexts, and without any.
"""


def section(library: str, words: Sequence[str] = ()) -> str:
    """Return the tables of a library, of all functions or of those with some words in their names."""
    name, peer = PEERS[library]
    cases: Sequence[Case] = import_module(f"tests.checking.functions.{library}_table").CASES
    rows = table([case for case in cases if all(word in case.name for word in words)], peer)
    own = name.split(".")[-1]
    head = f"| function | what is wrong | refgrad | method | {own} | refgrad, ms | no contexts, ms | {own}, ms |\n"
    head += f"|{'---|' * 8}"
    return f"\n## {library}\n\n{summary(rows, name)}\n\n{head}\n{details(rows)}\n"


def main(arguments: Sequence[str]) -> None:
    """Print the page, or the tables of one library."""
    if find_spec("torch") is not None:
        import_module("torch").set_num_threads(1)
    if arguments:
        sys.stdout.write(section(arguments[0], arguments[1:]))
        return
    sys.stdout.write(PAGE + "".join(section(library) for library in PEERS))


if __name__ == "__main__":
    main(sys.argv[1:])
