"""``python -m tests.mutation``: plant faults into the core, and show which tests kill them."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.mutation.faults import Fault
from tests.mutation.journal import Journal, Trial
from tests.mutation.page import page
from tests.mutation.planter import TABLES, all_faults, core, sample
from tests.mutation.reach import FOLDERS, Reach, recorded
from tests.mutation.run import Planting
from tests.mutation.trial import load_once
from tests.repository.sources import ROOT

PAGE = ROOT / "reports" / "mutation.md"


def main() -> None:
    """Try the faults that are not in the journal yet, and write the page."""
    options = _options()
    faults = all_faults((*core(), *TABLES))
    chosen = faults if options.all else sample(faults, options.sample, options.seed)
    wanted = [fault for fault in chosen if options.only in fault.id]
    options.state.mkdir(exist_ok=True)
    journal = Journal(options.state / "trials.jsonl")
    done = {trial.fault.id for trial in journal.known(wanted, survivors=not options.again)}
    load_once()
    _try([fault for fault in wanted if fault.id not in done], recorded(options.state, options.tests), journal)
    if not options.only:
        PAGE.write_text(page(journal.known(chosen, survivors=True), len(faults), options.seed), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=600, help="how many faults are planted")
    parser.add_argument("--seed", type=int, default=0, help="what the choice of them follows from")
    parser.add_argument("--all", action="store_true", help="plant every fault")
    parser.add_argument("--only", default="", help="plant those whose names contain this, and write no page")
    parser.add_argument("--tests", nargs="*", default=FOLDERS, help="the folders of tests that may kill a fault")
    parser.add_argument("--state", type=Path, default=ROOT / ".mutation", help="where the run keeps what it found")
    parser.add_argument("--again", action="store_true", help="try once more what survived the last time")
    return parser.parse_args()


def _try(faults: list[Fault], reach: dict[str, Reach], journal: Journal) -> None:
    with tempfile.TemporaryDirectory() as folder:
        planting = Planting(Path(folder), reach)
        for number, fault in enumerate(faults, 1):
            trial = planting.trial(fault)
            journal.add(trial)
            sys.stderr.write(f"{number}/{len(faults)} {_told(trial)}\n")


def _told(trial: Trial) -> str:
    return f"{trial.fault.id}\n    {trial.killer or f'SURVIVED {trial.tests} tests of {trial.seconds:.0f} s'}"


if __name__ == "__main__":
    main()
