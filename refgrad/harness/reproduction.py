"""How is a scenario written as a program of the engine's own library, that a maintainer can paste?"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from refgrad.harness.adapter import AnyAdapter, FunctionalAdapter, TapeAdapter
from refgrad.harness.execution import Engine
from refgrad.harness.life_lines import as_program, life_lines
from refgrad.harness.relevance import needed_results, relevant_leaves
from refgrad.harness.template import Template
from refgrad.interpreter import keywords
from refgrad.operators import operator_table
from refgrad.scenario import Apply, Backward, Constant, Grad, Jvp, Leaf, Read, Scenario, Step, ZeroGrad
from refgrad.scenario.promotion import floating_dtypes, promoted


def reproduce(scenario: Scenario, engine: Engine, *, seeds: bool = False) -> str:
    """Return a program that imports nothing of refgrad and prints what the scenario reads.

    With ``seeds``, a program for a tape engine prints in the end what has become of the seeds, too.
    """
    adapter = engine.adapter
    spelled = {step.name: engine.spelling(step, scenario) for step in scenario.applications}
    if isinstance(adapter, TapeAdapter):
        lines = (
            _with_seeds(scenario, adapter, spelled)
            if seeds
            else _tape_lines(scenario, adapter, spelled, lambda seed: _seed(seed, adapter))
        )
        body = "\n".join(lines)
    else:
        body = "\n".join(_functional_lines(scenario, adapter, spelled))
    return with_setup(adapter, body)


def with_setup(adapter: AnyAdapter, body: str) -> str:
    """Return a program of an engine's library with the imports, and those functions, that it needs."""
    head = _needed(adapter.setup, body)
    imports = "" if re.search(r"\bas np$", head, re.MULTILINE) else "import numpy as np\n"
    return f"{imports}{head}\n\n{body}\n"


def _needed(setup: str, body: str) -> str:
    """Return an adapter's setup without the functions that neither the program nor another needed function calls."""
    statements = ast.parse(setup).body
    lines = setup.splitlines()
    texts = ["\n".join(lines[s.lineno - 1 : s.end_lineno]) for s in statements]
    kept = [not isinstance(statement, ast.FunctionDef) for statement in statements]
    for _ in statements:
        known = "\n".join([body, *(text for text, keep in zip(texts, kept, strict=True) if keep)])
        for i, statement in enumerate(statements):
            kept[i] = kept[i] or (
                isinstance(statement, ast.FunctionDef) and bool(re.search(rf"\b{statement.name}\b", known))
            )
    parts = []
    for statement, text, keep in zip(statements, texts, kept, strict=True):
        if keep:
            parts.append(f"\n{text}\n" if isinstance(statement, ast.FunctionDef) else text)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip()


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
    return f"{leaf.name} = {Template(template).of_dtype(leaf.value.dtype).render(fields)}"


def _apply_line(step: Apply, spelled: Mapping[str, str]) -> str:
    operator = operator_table()[step.operator]
    first = operator.arguments[0]
    names: dict[str, str] = (
        {first.name: f"[{', '.join(step.arguments)}]"}
        if first.variadic
        else dict(zip(operator.argument_names, step.arguments, strict=True))
    )
    attributes: dict[str, Any] = operator.bind(keywords(step))
    fields = names | {name: repr(value) for name, value in attributes.items()}
    return f"{step.name} = {Template(spelled[step.name]).render(fields)}"


def _seed(seed: Constant, adapter: AnyAdapter) -> str:
    return Template(adapter.seed).of_dtype(seed.dtype).render({"array": array_literal(seed)})


def _with_seeds(scenario: Scenario, adapter: TapeAdapter, spelled: Mapping[str, str]) -> Iterator[str]:
    """Bind seeds to names, counted from 1, ahead of the steps, and print them behind the last."""
    seeds = [step.seed for step in scenario.steps if isinstance(step, Backward | Grad) and step.seed is not None]
    names = [f"seed_{number}" for number in range(1, len(seeds) + 1)]
    left = iter(names)
    yield from (f"{name} = {_seed(seed, adapter)}" for name, seed in zip(names, seeds, strict=True))
    yield from _tape_lines(scenario, adapter, spelled, lambda _: next(left))
    template = Template("{x}" if adapter.seed == "{array}" else adapter.value)
    yield from (f"print({template.render({'x': name})})  # {name.replace('_', ' ')}" for name in names)


def _tape_lines(
    scenario: Scenario, adapter: TapeAdapter, spelled: Mapping[str, str], seed_text: Callable[[Constant], str]
) -> Iterator[str]:
    return as_program(scenario, adapter, lambda step: _step_lines(step, scenario, adapter, spelled, seed_text))


def _step_lines(
    step: Step,
    scenario: Scenario,
    adapter: TapeAdapter,
    spelled: Mapping[str, str],
    seed_text: Callable[[Constant], str],
) -> Iterator[str]:
    match step:
        case Leaf():
            yield _leaf_line(step, adapter)
        case Apply():
            yield _apply_line(step, spelled)
        case Grad(name=name, output=output, leaf=leaf, seed=seed):
            fields = {"output": output, "leaf": leaf, "seed": "None" if seed is None else seed_text(seed)}
            yield f"{name} = {Template(adapter.grad or '').render(fields)}"
        case Jvp():
            yield from _jvp_lines(scenario, step, adapter, spelled)
        case Backward(output=output, seed=seed, retain_graph=retain_graph):
            text = "None" if seed is None else seed_text(seed)
            fields = {"output": output, "seed": text, "retain_graph": repr(retain_graph)}
            yield Template(adapter.backward).render(fields)
        case ZeroGrad(name=name):
            template = adapter.zero_grad_to_zeros if step.to_zeros else adapter.zero_grad
            yield Template(template or "").render({"leaf": name})
        case Read(what="value", name=name):
            texts = [Template(text).render({"x": name}) for text in (adapter.value, adapter.value_dtype_text)]
            yield f"print({', '.join(texts[: _shown(scenario)])})  # value of {name}"
        case Read(what="grad", name=name):
            templates = (adapter.gradient, adapter.gradient_dtype_text)
            texts = [Template(text).render({"leaf": name}) for text in templates]
            yield f"print({', '.join(texts[: _shown(scenario)])})  # gradient of {name}"
        case _:
            yield from life_lines(step, adapter)


def _shown(scenario: Scenario) -> int:
    """Return 2 where dtypes are printed beside numbers, else 1."""
    return 1 if all(leaf.value.dtype in ("float64", "bool") for leaf in scenario.leaves) else 2


def _functional_lines(scenario: Scenario, adapter: FunctionalAdapter, spelled: Mapping[str, str]) -> Iterator[str]:
    for leaf in scenario.leaves:
        yield _leaf_line(leaf, adapter)
    values = {step.name for step in scenario.steps if isinstance(step, Read) and step.what == "value"}
    if values or scenario.jvps:
        for defining in scenario.definitions.values():
            yield from _result_lines(scenario, defining, adapter, spelled)
        for name in sorted(values):
            texts = [Template(text).render({"x": name}) for text in (adapter.value, adapter.value_dtype_text)]
            yield f"print({', '.join(texts[: _shown(scenario)])})  # value of {name}"
    pullbacks: dict[str, str] = {}
    for _, step in scenario.backwards:
        names = relevant_leaves(scenario, step.output)
        if step.output not in pullbacks:
            pullbacks[step.output] = f"pullback_of_{step.output}"
            yield from _program_lines(scenario, step.output, names, adapter, spelled)
        text = _functional_seed(step, adapter, scenario)
        yield f"print({pullbacks[step.output]}({text}))  # cotangents of {', '.join(names)}"


def _functional_seed(step: Backward | Grad, adapter: FunctionalAdapter, scenario: Scenario) -> str:
    if step.seed is not None:
        return _seed(step.seed, adapter)
    dtype = promoted(floating_dtypes(scenario)[step.output])
    ones = f"np.ones_like({Template(adapter.value).render({'x': f'output_{step.output}'})})"
    return Template(adapter.seed).of_dtype(dtype).render({"array": ones})


def _result_lines(
    scenario: Scenario, step: Step, adapter: FunctionalAdapter, spelled: Mapping[str, str]
) -> Iterator[str]:
    if isinstance(step, Apply):
        yield _apply_line(step, spelled)
    elif isinstance(step, Grad):
        yield from _program_lines(scenario, step.output, [step.leaf], adapter, spelled)
        yield f"{step.name} = pullback_of_{step.output}({_functional_seed(step, adapter, scenario)})[0]"
    elif isinstance(step, Jvp):
        yield from _jvp_lines(scenario, step, adapter, spelled)


def _jvp_lines(scenario: Scenario, step: Jvp, adapter: AnyAdapter, spelled: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield f"def function_of_{step.name}({', '.join(step.leaves)}):"
    for result in needed_results(scenario, step.output):
        if isinstance(result, Apply):
            yield f"    {_apply_line(result, spelled)}"
    yield f"    return {step.output}"
    yield ""
    fields = {
        "function": f"function_of_{step.name}",
        "primals": f"[{', '.join(step.leaves)}]",
        "tangents": f"[{', '.join(_seed(tangent, adapter) for _, tangent in step.tangents)}]",
    }
    yield f"_, {step.name} = {Template(adapter.jvp or '').render(fields)}"


def _program_lines(
    scenario: Scenario, output: str, names: list[str], adapter: FunctionalAdapter, spelled: Mapping[str, str]
) -> Iterator[str]:
    yield ""
    yield f"def program_{output}({', '.join(names)}):"
    for step in needed_results(scenario, output):
        yield from (f"    {line}".rstrip() for line in _result_lines(scenario, step, adapter, spelled))
    yield f"    return {output}"
    yield ""
    call = Template(adapter.vjp).render({"function": f"program_{output}", "primals": f"[{', '.join(names)}]"})
    yield f"output_{output}, pullback_of_{output} = {call}"
