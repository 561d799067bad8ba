"""What is the verdict on a behaviour that a probe tests?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from refgrad.harness.probes import Probing, probe
from refgrad.harness.verdict import Verdict

if TYPE_CHECKING:
    from refgrad.harness.checks import BehaviourCheck
    from refgrad.harness.grading import Grader


def judge_probe(grader: Grader, check: BehaviourCheck, probing: Probing) -> Verdict:
    """Run the probe; its program is the reproduction, made to show what was found."""
    shown = probe(grader.engine, probing, grader.settings)
    verdict = grader.verdict(check, shown.outcome, shown.message, shown.scenario, shown.examples)
    return replace(verdict, reproduction=shown.program or verdict.reproduction)
