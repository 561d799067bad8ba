"""Faults planted into PyTorch that show late, by chance, in threads, in hooks, behind regions and at once."""

from __future__ import annotations

from typing import Any, Final

from tests.faulty_engines.planted.fault import CHANGES, Plant, PlantedFault, in_operator

SETUP: Final = (
    CHANGES
    + """
import random
import threading
from collections import deque
from functools import wraps

chance = random.Random(11)
counted, walks, known, first, resets = [0], {}, {}, {}, {}
ring, running, postponed, main = [None] * 64, [], [], threading.current_thread()
made = [0]

def tired(x):  # from the tenth accumulation on
    count = [0]
    def half(gradient):
        count[0] += 1
        return gradient / 2 if count[0] >= 10 else gradient
    if x.requires_grad:
        x.register_hook(half)
    return x

def by_chance(y):
    return received(y, more, chance.random() < 0.05)

def walked(output, seed, retain_graph, change):
    node = output.grad_fn
    count = walks[id(node)] = walks.get(id(node), 0) + 1 if retain_graph or id(node) in walks else 1
    seed = torch.ones_like(output) if seed is None and output.numel() == 1 else seed
    output.backward(seed if node is None or seed is None else seed * change(count), retain_graph=retain_graph)

def rarely(x, y):
    counted[0] += 1
    return torch.multiply(received(x, more, counted[0] % 401 == 0), y)

def in_main_thread(output, seed, retain_graph):
    if threading.current_thread() is main:
        output.backward(seed, retain_graph=retain_graph)

switched = [False]

class Everywhere:  # a mode of the whole process
    def __enter__(self):
        self.before = torch.is_grad_enabled(), switched[0]
        torch.set_grad_enabled(False)
        switched[0] = True

    def __exit__(self, *exception):
        torch.set_grad_enabled(self.before[0])
        switched[0] = self.before[1]

def afterwards(output, seed, retain_graph):  # what a hook asks for waits until the end
    postponed.append((output, seed, retain_graph))
    if running:
        return
    running.append(output)
    try:
        while postponed:
            output, seed, retain_graph = postponed.pop()
            output.backward(seed, retain_graph=retain_graph)
    finally:
        running.clear()
        postponed.clear()

class Region:
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, kind, error, trace):
        if kind is None:
            torch.set_grad_enabled(self.before)

def around_the_call(function):
    @wraps(function)
    def inside(*arguments):
        with torch.no_grad():
            return function(*arguments)

    return inside

class CachedCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, key):
        ctx.key = key
        if key not in known:
            known[key] = -torch.sin(x)
        return torch.cos(x)

    @staticmethod
    def backward(ctx, gradient):
        slope = known[ctx.key]
        return gradient * (slope if slope.shape == gradient.shape else slope.flatten()[:1]), None

def first_attribute(name, value):
    return first.setdefault(name, value)

def through_leaves(outputs, leaves, seeds):
    torch.autograd.backward(outputs, seeds)
    return [leaf.grad for leaf in leaves]

def hooked_once(x, function):
    def once(gradient):
        handle.remove()
        return function(gradient)

    handle = x.register_hook(once)
    return handle

def reset(leaf):
    count = resets[id(leaf)] = resets.get(id(leaf), 0) + 1
    if count < 100:
        leaf.grad = None

class RingProduct(torch.autograd.Function):  # keeps the operands of the last 64 applications
    @staticmethod
    def forward(ctx, x, y):
        ctx.place = made[0] % 64
        made[0] += 1
        ring[ctx.place] = x.clone(), y.clone()
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ring[ctx.place]
        return (g * y).sum_to_size(x.shape), (g * x).sum_to_size(y.shape)

def without_repetitions(outputs, seeds):
    torch.autograd.backward(*zip(*{id(o): (o, s) for o, s in zip(outputs, seeds)}.values()))
"""
)

LEAF: Final = "torch.tensor({array}, dtype=torch.{dtype}, requires_grad={requires_grad})"
GRADS: Final = "torch.autograd.grad({outputs}, {leaves}, {seeds}, allow_unused=True)"


def _late(name: str, check: str, operators: dict[str, str] | None = None, **templates: Any) -> PlantedFault:
    return PlantedFault(name, "time and order", check, Plant(SETUP, operators or {}, templates))


TIME_FAULTS: Final = (
    _late(
        "halves what a leaf receives from the tenth accumulation on",
        "repetition/long_accumulations_are_exact",
        leaf=f"tired({LEAF})",
    ),
    in_operator(
        "is wrong in one of twenty runs",
        "time and order",
        "operators/mish",
        "by_chance(torch.nn.functional.mish({x}))",
        SETUP,
    ),
    _late(
        "doubles what the tenth and later calls on one graph send",
        "repetition/each_call_on_a_kept_graph_adds_the_same",
        backward="walked({output}, {seed}, {retain_graph}, lambda count: 2 if count >= 10 else 1)",
    ),
    _late(
        "sends a graph what all calls on it have sent so far",
        "accumulation/five_calls",
        backward="walked({output}, {seed}, {retain_graph}, lambda count: count)",
    ),
    _late(
        "is wrong in every 401st product",
        "repetition/later_graphs_are_as_right_as_the_first",
        {"multiply": "rarely({x}, {y})"},
    ),
    _late(
        "seeds every output with the first seed",
        "several/gradients_of_several_outputs_add_up",
        grads="torch.autograd.grad({outputs}, {leaves}, {seeds}[:1] * len({outputs}), allow_unused=True)",
    ),
    _late(
        "goes back in the main thread alone",
        "threads/threads_differentiate_graphs_of_their_own",
        backward="in_main_thread({output}, {seed}, {retain_graph})",
    ),
    _late(
        "has one mode for all threads",
        "threads/modes_belong_to_threads",
        no_grad="Everywhere()",
        leaf=LEAF.replace("{requires_grad}", "{requires_grad} and not switched[0]"),
    ),
    _late(
        "puts off what a hook asks for",
        "hooks/hooks_may_go_back_themselves",
        backward="afterwards({output}, {seed}, {retain_graph})",
    ),
    _late("stays in a region that an error has left", "modes/exceptions_end_regions", no_grad="Region()"),
    _late(
        "records the body of a generator in which nothing is to be recorded",
        "modes/generators_may_be_unrecorded",
        no_grad_around="around_the_call({function})",
    ),
    _late(
        "copies what it detaches",
        "in_place/detached_tensors_share_memory",
        detach="{x}.detach().clone()",
    ),
    _late("does not watch what it has detached", "in_place/aliases_are_watched", detach="{x}.data"),
    _late(
        "writes past what watches over saved values",
        "in_place/overwritten_operands_are_detected",
        in_place={"add": "{x}.data.add_({y})", "multiply": "{x}.data.mul_({y})", "copy": "{x}.data.copy_({y})"},
    ),
    in_operator(
        "finds a slope by the identity of an operand that may be gone",
        "time and order",
        "operators/cos",
        "CachedCos.apply({x}, (id({x}), {x}.dtype))",
        SETUP,
    ),
    in_operator(
        "has the first slope that it was given for all",
        "time and order",
        "operators/leaky_relu",
        "instead(torch.nn.functional.leaky_relu({x}, negative_slope={negative_slope}), "
        "torch.nn.functional.leaky_relu({x}, negative_slope=first_attribute('slope', {negative_slope})))",
        SETUP,
    ),
    _late(
        "adds to leaves what is asked for as a list",
        "several/gradients_by_several_leaves",
        grads="through_leaves({outputs}, {leaves}, {seeds})",
    ),
    _late(
        "calls a hook in the first backward alone",
        "hooks/hooks_see_every_backward",
        hook="hooked_once({x}, {function})",
    ),
    _late(
        "keeps every graph, asked or not",
        "retain_graph/freed_graph_is_an_error",
        backward=("{output}.backward({seed}, retain_graph={retain_graph} or True)"),
    ),
    _late("forgets to reset a leaf from the hundredth time on", "repetition/resets_last", zero_grad="reset({leaf})"),
    _late(
        "records no gradient of a gradient in a region",
        "modes/gradients_are_recorded_in_a_region_on_demand",
        grad="torch.autograd.grad({output}, {leaf}, {seed}, create_graph=torch.is_grad_enabled(), "
        "retain_graph=True)[0]",
    ),
    _late(
        "keeps the operands of the last 64 products",
        "repetition/many_graphs_live_side_by_side",
        {"multiply": "RingProduct.apply({x}, {y})"},
    ),
    _late(
        "serves an output that is given twice once",
        "several/backward_from_several_outputs",
        backwards="without_repetitions({outputs}, {seeds})",
    ),
)
