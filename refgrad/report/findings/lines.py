"""Printed programs as lines: the looks of their steps, and what is put in place of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from refgrad.grading.judging.evidence import Evidence, Subject
from refgrad.report.findings.looks import bare, unmasked
from refgrad.scenario import Read, Scenario

LOOK: Final = re.compile(r"^(?P<margin> *)(?P<call>print\(.*\))  # (?P<what>.*)$")
DTYPES: Final = {"torch": r"^import torch$", "jnp": r"\bas jnp$", "tf": r"\bas tf$", "np": r"\bas np$"}
"""By the name of a module that has dtypes, how a program imports it; NumPy comes last, since others import it, too."""

PRINTED: Final = re.compile(r"^ *print\(")
PASSED_OVER: Final = re.compile(r"^( *)except Exception as error:\n\1    print\(.*\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Program:
    """The lines of a printed program, with the scenario that it came from, and the evidence that it is to show.

    ``known`` says that it is of a library whose engine file comes with refgrad.
    """

    lines: Sequence[str]
    evidence: Evidence
    scenario: Scenario | None
    known: bool = True

    def bare(self, shown: ast.expr) -> str:
        """Return the expression of a tensor that is looked at, which is there.

        Of a library that is not known nobody can say what the functions do that read it, nor whether its tensors turn
        into numbers without them: they stay.
        """
        return bare(shown) if self.known else unmasked(shown)

    def told(self, shown: ast.expr) -> str:
        """Return the expression of a tensor that is looked at, or of ``None``."""
        return bare(shown) if self.known else ast.unparse(shown)

    def look(self, what: str) -> tuple[int, list[ast.expr], str]:
        """Return where the look is that showed the fact, what it prints, and its margin. Raises LookupError."""
        found = [
            (number, match)
            for number, line in enumerate(self.lines)
            if (match := LOOK.match(line)) and match["what"] == what
        ]
        wanted = self._reads(what) or len(found)
        number, match = found[wanted - 1]
        return number, printed(match["call"]), match["margin"]

    def _reads(self, what: str) -> int:
        """Return how many steps up to the one of the fact look at this."""
        steps = self.scenario.steps[: self.evidence.step] if self.scenario else ()
        return sum(isinstance(step, Read) and label_of(step) == what for step in steps)

    def asserting(self, what: str, got: Callable[..., str], test: str, said: str) -> str:
        """Return the program whose look ends in an assertion on what it ``got`` of the expressions that are shown.

        Raises LookupError where nothing of the kind is shown.
        """
        number, shown, margin = self.look(what)
        form = "f" if "{" in said else ""
        return self.ended(number, margin, [f"got = {got(*shown)}", f"assert {test}, {form}{quoted(said)}"])

    def up_to(self, name: str) -> Program:
        """Return the program up to where a result is made, if that is at its top."""
        made = [number for number, line in enumerate(self.lines) if line.startswith(f"{name} = ")]
        return replace(self, lines=self.lines[: made[0] + 1]) if made else self

    def ended(self, number: int, margin: str, lines: Sequence[str]) -> str:
        """Return the program with these lines in place of a look, and without all other looks."""
        before = without_prints(self.lines[:number])
        return "\n".join([*before, *(margin + line for line in lines)]) + "\n"


def without_prints(lines: Sequence[str]) -> list[str]:
    """Return lines without those that print; an error that was only printed is passed over."""
    text = PASSED_OVER.sub(r"\1except Exception:\n\1    pass", "\n".join(lines))
    return [line for line in text.splitlines() if not PRINTED.match(line)]


def printed(line: str) -> list[ast.expr]:
    """Return what a line prints. Raises LookupError where it is no call of ``print``."""
    match ast.parse(line.strip()).body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[*shown]))]:
            return shown
    raise LookupError(f"{line!r} prints nothing")


def without_looks(program: Program) -> str:
    """Return a program that shows nothing, since it ends with an error before anything could be shown."""
    lines = (line for line in program.lines if not LOOK.match(line))
    return "\n".join(re.sub(r"^print\((attempt\(.*\))\)$", r"\1", line) for line in lines) + "\n"


def what_of(subject: Subject) -> str:
    """Return what a look at an array is called, in the remark behind it."""
    return f"what {subject.name} saw" if subject.of == "hook" else f"{subject.of} of {subject.name}"


def label_of(step: Read) -> str:
    """Return what the look of a step is called."""
    if step.what == "hook":
        return f"what {step.name} saw"
    return f"{'gradient' if step.what == 'grad' else step.what} of {step.name}"


def dtype_in(name: str, program: Program) -> str:
    """Return how the library of a program spells a dtype."""
    text = "\n".join(program.lines)
    for module, bound in DTYPES.items():
        if re.search(bound, text, re.MULTILINE):
            return f"{module}.{name}"
    return repr(name)


def with_imports(text: str, imports: Sequence[str]) -> str:
    """Return a program behind the imports that it lacks."""
    known = text.splitlines()
    bound = {line.rpartition(" ")[2] for line in known if line.startswith(("import ", "from "))}
    lacking = [line for line in imports if line.rpartition(" ")[2] not in bound]
    return "".join(f"{line}\n" for line in lacking) + text


def quoted(text: str) -> str:
    """Return a text in double quotes, for what may stand in an f-string."""
    return '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'
