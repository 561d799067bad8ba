"""An engine whose every word is an attack: markup, quotes, newlines, terminal escapes, lone surrogates, 10 MB."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from refgrad.facts import Died, Evidence
from refgrad.grading.judging.verdict import Verdict
from refgrad.native.statements import Code
from refgrad.report.document import write_report
from tests.report.example import VERDICTS, example_report, verdict

ATTACK: Final = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "' \" onmouseover='document.title=1' {{ 7 * 7 }} {% raw %} ](javascript:owned) ``` "
    "\x1b]0;owned\x07 \u202e \ud800 \r\n"
)
HUGE: Final = "long <b>" * 300_000
LARGE: Final = HUGE[:100_000]
"""What is run as a program: Python itself takes long to read 10 MB."""

PROGRAM: Final = Code(f"x = {ATTACK!r}\nprint(0.1)\n")


def verdicts() -> list[Verdict]:
    """Return failures that say nothing but attacks, one of them of 10 MB."""
    shown = replace(
        VERDICTS[4], message=ATTACK, statement=ATTACK, reproduction=(PROGRAM,), scenario_id="", operator=f"../{ATTACK}"
    )
    odd = replace(shown, id="edges/relu", chapter="edges", operator="relu", scenario=ATTACK)
    odd = replace(odd, reproduction=(Code(ATTACK),))
    died = Evidence(Died(detail=ATTACK, stderr=HUGE), 0)
    large = replace(
        odd, id="graphs/large", chapter="graphs", verdict="crashed", message=HUGE, statement=HUGE, evidence=died
    )
    choice = replace(verdict("edges/abs", "convention", ATTACK), statement=ATTACK)
    return [shown, odd, replace(large, reproduction=(Code(LARGE),)), choice, verdict("leaves/unused", "passed")]


def write_hostile(folder: Path) -> Path:
    """Write the report on the engine into a folder."""
    report = example_report(*verdicts(), name=ATTACK, version=HUGE, python=ATTACK, platform=ATTACK)
    write_report(folder / "hostile.json", replace(report, refgrad=ATTACK))
    return folder / "hostile.json"
