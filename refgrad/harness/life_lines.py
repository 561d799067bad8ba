"""How are the steps in which tensors change written as lines of a library's code?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from refgrad.harness.life import native_index
from refgrad.harness.template import Template
from refgrad.lifecycle import Fails, predict
from refgrad.scenario import (
    Delete,
    Detach,
    Enter,
    Hook,
    Leave,
    Read,
    RequireGrad,
    RetainGrad,
    Scenario,
    Step,
    StopRequiringGrad,
    Unhook,
    Write,
)

if TYPE_CHECKING:
    from refgrad.harness.adapter import TapeAdapter


def life_lines(step: Step, adapter: TapeAdapter) -> Iterator[str]:  # noqa: C901 (one case for each kind of step)
    """Yield the lines of one step, regions excepted."""
    match step:
        case Detach(name=name, source=source):
            yield f"{name} = {_rendered(adapter.detach, x=source)}"
        case RequireGrad(name=name):
            yield _rendered(adapter.set_requires_grad, x=name, requires_grad="True")
        case StopRequiringGrad(name=name):
            yield _rendered(adapter.set_requires_grad, x=name, requires_grad="False")
        case Delete(name=name):
            yield f"del {name}"
        case Write(index=None):
            yield _rendered(adapter.in_place[step.action], x=step.name, y=step.operand)
        case Write():
            at = repr(native_index(step.index or ()))
            yield _rendered(adapter.in_place_at[step.action], x=step.name, y=step.operand, index=at)
        case Hook():
            yield from _hook_lines(step, adapter)
        case Unhook(name=name):
            yield _rendered(adapter.unhook, handle=name)
        case RetainGrad(name=name):
            yield _rendered(adapter.retain_grad, x=name)
        case Read(what="hook", name=name):
            yield f"print(seen_by_{name})  # what {name} saw"
        case Read(what=what, name=name):
            yield f"print({_rendered(adapter.flags[what], x=name)})  # {what} of {name}"


def _rendered(template: str | None, **fields: str) -> str:
    return Template(template or "").render(fields)


def _hook_lines(step: Hook, adapter: TapeAdapter) -> Iterator[str]:
    yield f"seen_by_{step.name} = []"
    noted = f"seen_by_{step.name}.append(np.array({_rendered(adapter.value, x='gradient')}))"
    answer = "" if step.factor is None else f" or gradient * {step.factor!r}"
    function = f"lambda gradient: {noted}{answer}"
    yield f"{step.name} = {_rendered(adapter.hook, x=step.tensor, function=function)}"


def as_program(scenario: Scenario, adapter: TapeAdapter, lines_of: Callable[[Step], Iterable[str]]) -> Iterator[str]:
    """Yield the lines of all steps, those inside of regions indented; an error that is due does not end the program."""
    predictions = predict(scenario, adapter.policy)
    by_error = _left_by_error(scenario.steps)
    last = max((at for at, step in enumerate(scenario.steps) if not isinstance(step, Leave)), default=0)
    indent = ""
    entered: list[bool] = []
    for at, (step, prediction) in enumerate(zip(scenario.steps, predictions, strict=True)):
        if isinstance(step, Enter):
            entered.append(by_error[at])
            if by_error[at]:
                yield f"{indent}try:"
                indent += "    "
            yield f"{indent}with {_rendered(adapter.no_grad if step.mode == 'no_grad' else adapter.enable_grad)}:"
            indent += "    "
            if isinstance(scenario.steps[at + 1], Leave):
                yield f"{indent}pass"
        elif isinstance(step, Leave):
            if step.by_error:
                yield f'{indent}raise KeyError("left by error")'
            indent = indent[: -8 if entered.pop() else -4]
            yield from [f"{indent}except KeyError:", f"{indent}    pass"] if step.by_error else []
        elif isinstance(prediction, Fails) and at < last:
            yield from (f"{indent}{line}" for line in _caught(lines_of(step)))
        else:
            yield from (f"{indent}{line}" for line in lines_of(step))


def _caught(lines: Iterable[str]) -> Iterator[str]:
    yield "try:"
    yield from (f"    {line}" for line in lines)
    yield "except Exception as error:"
    yield '    print(f"{type(error).__name__}: {error}")'


def _left_by_error(steps: Iterable[Step]) -> dict[int, bool]:
    """Say of each region, by where it is entered, whether an exception leaves it."""
    waiting: list[int] = []
    found: dict[int, bool] = {}
    for at, step in enumerate(steps):
        if isinstance(step, Enter):
            waiting.append(at)
        elif isinstance(step, Leave):
            found[waiting.pop()] = step.by_error
    return found
