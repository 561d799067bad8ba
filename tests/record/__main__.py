"""``python -m tests.record FILE``: a record of what refgrad decides, to hold a rebuild against.

Each line of FILE is one decision as JSON: the scenarios and the verdict of each check on the reference engine (seeds 0,
1 and 2), the verdicts on other engines, what ``check_gradients`` says of the functions of the tests, and whether the
programs of committed reports are confirmed. Engines that are not installed are left out. What FILE holds already is not
decided again. ``--sample`` takes a fixed part that needs some five minutes; ``--compare OTHER`` prints what differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from refgrad import check_gradients
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.settings import Settings
from refgrad.native.adapter import find_adapter
from refgrad.native.engine import Engine
from refgrad.report.confirmation import confirm
from refgrad.report.document import read_report
from refgrad.report.findings import scripts
from refgrad.scenario import Scenario

REPORTS: Final = Path(__file__).parents[2] / "reports"
SEEDS: Final = (0, 1, 2)
ENGINES: Final = ("autograd", "mygrad", "torch")
LIBRARIES: Final = ("autograd", "jax", "mygrad", "torch")

SAMPLED: Final = {"check": 8, "verdicts": 3, "function": 8, "finding": 60}
"""One in how many decisions of a kind belongs to the sample; ``verdicts`` counts the engines."""

WHOLE: Final = {"check": 1, "verdicts": 1, "function": 1, "finding": 10}
"""The same for the whole record: a program takes a second, and there are thousands."""

Row = dict[str, Any]


def rows(shares: dict[str, int], known: set[str]) -> Iterator[Row]:
    """Yield the decisions that are not known yet."""
    for seed in SEEDS[: 1 if shares["check"] > 1 else None]:
        yield from _checks(seed, shares["check"], known)
    for engine in ENGINES[:: shares["verdicts"]]:
        if find_spec(engine) and f"engine/{engine}" not in known:
            yield from _verdicts(engine)
    for library in filter(find_spec, LIBRARIES):
        for case in import_module(f"tests.checking.functions.{library}_table").CASES:
            name = f"function/{library}/{case.name}"
            if _is_taken(name, shares["function"]) and name not in known:
                report = check_gradients(
                    case.function, case.inputs(), case.library, raise_exception=False, **case.options
                )
                yield {"name": name, "outcome": report.outcome, "method": report.method}
    for engine in filter(find_spec, ENGINES):
        for script in scripts(read_report(REPORTS / f"{engine}.json")):
            name = f"finding/{engine}/{script.verdict.id}/{script.verdict.scenario_id}"
            if _is_taken(name, shares["finding"]) and name not in known:
                yield {"name": name, "answer": confirm(script).answer}


def _is_taken(name: str, share: int) -> bool:
    return int(sha256(name.encode()).hexdigest(), 16) % share == 0


def _checks(seed: int, share: int, known: set[str]) -> Iterator[Row]:
    """Grade the reference engine; a check's scenarios are those that were run until its verdict was there.

    Which these are depends on the checks before it, so all are run where one is not known.
    """
    checks = {f"check/{seed}/{check.id}": check for check in all_checks()}
    taken = {name: check for name, check in checks.items() if _is_taken(name, share)}
    if taken.keys() <= known:
        return
    engine, met = Engine(find_adapter("refgrad")), set[str]()

    def note(scenario: Scenario) -> Any:
        met.add(scenario.id)

    engine.watch = note
    bench = Bench(engine, Settings("smoke", seed))
    for name, check in taken.items():
        met.clear()
        verdict = bench.grade(check)
        digest = sha256(" ".join(sorted(met)).encode()).hexdigest()[:16]
        if name not in known:
            yield {"name": name, "verdict": verdict.verdict, "examples": verdict.examples, "scenarios": digest}


def _verdicts(engine: str) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "refgrad", "grade", engine, "--profile", "smoke", "--output", folder]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        for verdict in read_report(Path(folder) / f"{engine}.json").verdicts:
            shown = {name: getattr(verdict, name) or None for name in ("verdict", "level", "scenario_id", "cause")}
            yield {"name": f"verdict/{engine}/{verdict.id}", **shown}
    yield {"name": f"engine/{engine}"}


def read(path: Path) -> dict[str, Row]:
    """Return the decisions of a record by name; none where there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {row["name"]: row for row in map(json.loads, lines)}


def main() -> int:
    """Make a record, or compare two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--compare", type=Path, metavar="OTHER")
    given = parser.parse_args()
    if given.compare is not None:
        one, other = read(given.file), read(given.compare)
        differing = [(one[name], other[name]) for name in one.keys() & other.keys() if one[name] != other[name]]
        for pair in sorted(differing, key=lambda pair: pair[0]["name"]):
            sys.stdout.write("- {}\n+ {}\n".format(*map(json.dumps, pair)))
        sys.stdout.write(f"{len(one.keys() & other.keys())} decisions in both, {len(differing)} differ\n")
        return int(bool(differing))
    with given.file.open("a", encoding="utf-8") as file:
        for row in rows(SAMPLED if given.sample else WHOLE, set(read(given.file))):
            file.write(json.dumps(row) + "\n")
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
