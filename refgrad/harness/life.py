"""How does an engine take the steps in which tensors change: regions, writes, hooks and flags?"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from refgrad.harness.observation import Observation
from refgrad.scenario import (
    Delete,
    Detach,
    Enter,
    Hook,
    Leave,
    Read,
    RequireGrad,
    RetainGrad,
    Slice,
    StopRequiringGrad,
    Unhook,
    Write,
)

if TYPE_CHECKING:
    from refgrad.harness.adapter import TapeAdapter
    from refgrad.harness.execution import Engine


def native_index(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return Python's own index."""
    return tuple(item.to_native() if isinstance(item, Slice) else item for item in index)


@dataclass(slots=True)
class Life:
    """What an engine's tensors, regions and hooks are at some point of a scenario."""

    engine: Engine
    adapter: TapeAdapter
    tensors: dict[str, Any]
    regions: list[AbstractContextManager[Any]] = field(default_factory=list)
    handles: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, list[Observation]] = field(default_factory=dict)

    def step(self, step: object) -> Observation:  # noqa: C901 (one case for each kind of step)
        """Take a step, and return what it showed."""
        match step:
            case Detach(name=name, source=source):
                self.tensors[name] = self.run(self.adapter.detach, x=self.tensors[source])
            case Enter():
                self.enter(step)
            case Leave():
                self.leave(step)
            case RequireGrad(name=name):
                self.run(self.adapter.set_requires_grad, x=self.tensors[name], requires_grad=True)
            case StopRequiringGrad(name=name):
                self.run(self.adapter.set_requires_grad, x=self.tensors[name], requires_grad=False)
            case Delete(name=name):
                del self.tensors[name]
            case Write():
                self.write(step)
            case Hook():
                self.hook(step)
            case Unhook(name=name):
                self.run(self.adapter.unhook, handle=self.handles[name])
            case RetainGrad(name=name):
                self.run(self.adapter.retain_grad, x=self.tensors[name])
            case Read(what="hook", name=name):
                return together(self.seen[name])
            case Read(what=what, name=name):
                return Observation(np.asarray(bool(self.run(self.adapter.flags[what], x=self.tensors[name]))))
        return Observation()

    def run(self, template: str | None, **fields: Any) -> Any:
        """Run a template that the engine is known to have."""
        assert template is not None
        return self.engine.run(template, **fields)

    def enter(self, step: Enter) -> None:
        """Enter a region; one that cannot be entered can still be left."""
        self.regions.append(nullcontext())
        region = self.run(self.adapter.no_grad if step.mode == "no_grad" else self.adapter.enable_grad)
        region.__enter__()
        self.regions[-1] = region

    def leave(self, step: Leave) -> None:
        """Leave the region that was entered last."""
        region = self.regions.pop()
        if not step.by_error:
            region.__exit__(None, None, None)
            return
        region.__exit__(KeyError, KeyError("left by error"), None)

    def write(self, step: Write) -> None:
        """Overwrite a tensor."""
        tensor, operand = self.tensors[step.name], self.tensors[step.operand]
        if step.index is None:
            self.run(self.adapter.in_place[step.action], x=tensor, y=operand)
        else:
            self.run(self.adapter.in_place_at[step.action], x=tensor, y=operand, index=native_index(step.index))

    def hook(self, step: Hook) -> None:
        """Hook into a gradient: what is seen is copied at once, as the library may go on to change it."""
        seen: list[Observation] = []

        def function(gradient: Any) -> Any:
            seen.append(self.engine.look(self.adapter.value, self.adapter.value_dtype, x=gradient))
            return None if step.factor is None else gradient * step.factor

        self.handles[step.name] = self.run(self.adapter.hook, x=self.tensors[step.tensor], function=function)
        self.seen[step.name] = seen


def together(observations: list[Observation]) -> Observation:
    """Return arrays along a new first axis."""
    arrays = [observation.array for observation in observations if observation.array is not None]
    return Observation(np.stack(arrays), dtype=observations[0].dtype) if arrays else Observation(np.zeros(0))
