"""From where does a random life of a graph walk back, with which seeds, and what does it keep?"""

from __future__ import annotations

from refgrad.scenario import Backward, Constant, Grad
from refgrad.strategies.life_draft import LARGEST, LifeDraft, LifeMemory, LifeName


def walk_back(life: LifeDraft) -> None:
    """Walk back from something that requires grad, or seldom from anything."""
    usable = [name for name in life.names if name.requires]
    walk_from(life, life.any() if life.trouble() or not usable else life.any(usable))


def walk_again(life: LifeDraft) -> None:
    """Walk back from where a walk began before."""
    walked = [name for name in life.names if name.name in life.walked]
    if walked:
        walk_from(life, life.choices.choice(walked))


def walk_from(life: LifeDraft, output: LifeName) -> None:
    """Walk back from here, with a seed or without, and keep the graph or not."""
    keep = "retain_graph" in life.profile.features and life.choices.boolean(0.6)
    life.walked.add(output.name)
    life.touched.add(output.name)
    life.steps.append(Backward(output.name, _seed(life, output), keep))


def _seed(life: LifeDraft, output: LifeName) -> Constant | None:
    if "seed" not in life.profile.features:
        return None
    if life.trouble() and life.choices.boolean(0.3):
        return life.constant((2,) if output.shape != (2,) else ()) if life.choices.boolean(0.5) else None
    return life.constant(output.shape) if output.shape or life.choices.boolean(0.3) else None


def record_gradient(life: LifeDraft) -> None:
    """Record a gradient of something that was computed."""
    leaves = [name for name in life.names if name.name in life.roots]
    usable = [name for name in life.names if name.requires and not name.leaf]
    if leaves and usable:
        output, leaf = life.choices.choice(usable[-6:]), life.choices.choice(leaves)
        step = Grad(life.fresh("h"), output.name, leaf.name, _seed(life, output))
        life.define(step, leaf.shape, LifeMemory(LARGEST, viewed=True), requires=True)
