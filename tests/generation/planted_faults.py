"""Faults of imaginary engines, told from the scenario alone."""

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

from refgrad.interpreter import Float64, evaluate, keywords
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from tests.generation.scenario_audit import reached


def _walked(scenario: Scenario) -> list[str]:
    """The operators that a backward walks over."""
    names = frozenset().union(*(reached(scenario, step.output) for _, step in scenario.backwards))
    return [step.name for step in scenario.applications if step.name in names]


def wrong_tanh(scenario: Scenario) -> bool:
    """The rule of tanh is wrong."""
    return any(step.operator == "tanh" and step.name in _walked(scenario) for step in scenario.applications)


def fan_out_overwritten(scenario: Scenario) -> bool:
    """A tensor that three operands of one graph are keeps one of their contributions."""
    for _, backward in scenario.backwards:
        walked = reached(scenario, backward.output)
        operands = Counter(n for step in scenario.applications if step.name in walked for n in step.arguments)
        if any(count >= 3 and name in walked for name, count in operands.items()):
            return True
    return False


def two_inner_axes_not_summed(scenario: Scenario) -> bool:
    """An operand that is stretched along two axes which it has is summed over one of them."""
    values = evaluate(scenario, Float64())
    for step in scenario.applications:
        row = operator_table()[step.operator]
        if step.name in _walked(scenario) and row.elementwise and len(step.arguments) > 1:
            result = values[step.name].shape
            for shape in (values[name].shape for name in step.arguments):
                pairs = zip(reversed(shape), reversed(result), strict=False)
                if sum(have == 1 and got > 1 for have, got in pairs) >= 2:
                    return True
    return False


def maximum_over_two_axes(scenario: Scenario) -> bool:
    """The largest entry along two axes is looked up along one."""
    values = evaluate(scenario, Float64())
    for step in scenario.applications:
        if step.operator == "max" and step.name in _walked(scenario):
            shape, axis = values[step.arguments[0]].shape, operator_table()["max"].bind(keywords(step))["axis"]
            axes = range(len(shape)) if axis is None else [axis] if isinstance(axis, int) else axis
            if sum(shape[a] > 1 for a in axes) >= 2:
                return True
    return False


def second_backward_overwrites(scenario: Scenario) -> bool:
    """A leaf that two backward calls reach keeps what the last of them brings."""
    leaves = {leaf.name for leaf in scenario.leaves}
    brought = Counter(n for _, step in scenario.backwards for n in reached(scenario, step.output) & leaves)
    return max(brought.values()) >= 2


def repeated_index_overwritten(scenario: Scenario) -> bool:
    """An entry that is taken twice receives one contribution."""
    values = evaluate(scenario, Float64())
    for step in scenario.applications:
        given = dict(step.attributes)
        if step.name in _walked(scenario) and step.operator == "take" and isinstance(given["indices"], tuple):
            length = values[step.arguments[0]].shape[int(str(given.get("axis", 0)))]
            flat = [i % length for i in _flat(given["indices"])]
            if len(set(flat)) < len(flat):
                return True
    return False


def _flat(indices: object) -> list[int]:
    return [j for i in indices for j in _flat(i)] if isinstance(indices, tuple) else [int(str(indices))]


FAULTS: Mapping[str, Callable[[Scenario], bool]] = MappingProxyType({
    "wrong tanh": wrong_tanh,
    "fan-out overwritten": fan_out_overwritten,
    "two inner axes not summed": two_inner_axes_not_summed,
    "maximum over two axes": maximum_over_two_axes,
    "second backward overwrites": second_backward_overwrites,
    "repeated index overwritten": repeated_index_overwritten,
})
