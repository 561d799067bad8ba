"""How is a scenario written as a program of the engine's own library, that a maintainer can paste?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from refgrad.harness.adapter import AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.harness.execution import needed_applications, relevant_leaves
from refgrad.harness.template import Template
from refgrad.interpreter import keywords
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Leaf, Read, Scenario, ZeroGrad


def reproduce(scenario: Scenario, adapter: AnyAdapter) -> str:
    """Return a program that imports nothing of refgrad and prints what the scenario reads."""
    head = adapter.setup.strip()
    imports = "" if "import numpy as np" in head else "import numpy as np\n"
    body = _tape_lines(scenario, adapter) if isinstance(adapter, TapeAdapter) else _functional_lines(scenario, adapter)
    return f"{imports}{head}\n\n" + "\n".join(body) + "\n"


def array_literal(constant: Constant) -> str:
    """Return numpy code for an array, exact to the last bit (NaN's payload excepted)."""
    array = constant.to_numpy()
    dtype = "" if array.dtype in (np.float64, np.bool_) else f", dtype=np.{array.dtype}"
    if array.size == 0:
        return f"np.zeros({array.shape}{dtype or (', dtype=bool' if array.dtype == np.bool_ else '')})"
    text = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({text}{dtype})"


def _leaf_line(leaf: Leaf, adapter: AnyAdapter) -> str:
    array = leaf.value.to_numpy()
    template = adapter.leaf if leaf.requires_grad else adapter.constant_text
    fields = {
        "array": array_literal(leaf.value),
        "scalar": repr(array.item()) if array.ndim == 0 else "None",
        "requires_grad": repr(leaf.requires_grad),
    }
    return f"{leaf.name} = {Template(template).render(fields)}"


def _apply_line(step: Apply, adapter: AnyAdapter) -> str:
    operator = operator_table()[step.operator]
    first = operator.arguments[0]
    names: dict[str, str] = (
        {first.name: f"[{', '.join(step.arguments)}]"}
        if first.variadic
        else dict(zip(operator.argument_names, step.arguments, strict=True))
    )
    attributes: dict[str, Any] = operator.bind(keywords(step))
    fields = names | {name: repr(value) for name, value in attributes.items()}
    return f"{step.name} = {Template(adapter.operators[step.operator]).render(fields)}"


def _seed(seed: Constant, adapter: AnyAdapter) -> str:
    return Template(adapter.seed).render({"array": array_literal(seed)})


def _tape_lines(scenario: Scenario, adapter: TapeAdapter) -> Iterator[str]:
    for step in scenario.steps:
        match step:
            case Leaf():
                yield _leaf_line(step, adapter)
            case Apply():
                yield _apply_line(step, adapter)
            case Backward(output=output, seed=seed, retain_graph=retain_graph):
                text = "None" if seed is None else _seed(seed, adapter)
                fields = {"output": output, "seed": text, "retain_graph": repr(retain_graph)}
                yield Template(adapter.backward).render(fields)
            case ZeroGrad(name=name):
                yield Template(adapter.zero_grad or "").render({"leaf": name})
            case Read(what="value", name=name):
                yield f"print({Template(adapter.value).render({'x': name})})  # value of {name}"
            case Read(name=name):
                yield f"print({Template(adapter.gradient).render({'leaf': name})})  # gradient of {name}"


def _functional_lines(scenario: Scenario, adapter: FunctionalAdapter) -> Iterator[str]:
    for leaf in scenario.leaves:
        yield _leaf_line(leaf, adapter)
    values = {step.name for step in scenario.steps if isinstance(step, Read) and step.what == "value"}
    if values:
        yield from (_apply_line(step, adapter) for step in scenario.applications)
        yield from (f"print({Template(adapter.value).render({'x': name})})  # value of {name}" for name in sorted(values))
    for number, (_, step) in enumerate(scenario.backwards, 1):
        names = relevant_leaves(scenario, step.output)
        yield ""
        yield f"def program_{number}({', '.join(names)}):"
        yield from (f"    {_apply_line(inner, adapter)}" for inner in needed_applications(scenario, step.output))
        yield f"    return {step.output}"
        yield ""
        call = Template(adapter.vjp).render({"function": f"program_{number}", "primals": f"[{', '.join(names)}]"})
        yield f"output, pullback = {call}"
        seed = f"np.ones_like({Template(adapter.value).render({'x': 'output'})})"
        text = Template(adapter.seed).render({"array": seed}) if step.seed is None else _seed(step.seed, adapter)
        yield f"print(pullback({text}))  # cotangents of {', '.join(names)}"
