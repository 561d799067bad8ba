"""Is an adapter that says too much, too little or the wrong thing of its engine found out, claim by claim?"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from refgrad.grading.bench import Bench
from refgrad.grading.checks import claims
from refgrad.grading.checks.claims import Claim, ClaimError, all_claims, claims_about
from refgrad.grading.checks.families import all_checks
from refgrad.grading.judging.verdict import Verdict
from refgrad.grading.settings import Settings
from refgrad.lifecycle import Policy
from refgrad.native.adapter import FEATURES, AnyAdapter, FunctionalAdapter, TapeAdapter, find_adapter
from refgrad.native.engine import Engine, start
from refgrad.native.engine_names import shipped_engines
from refgrad.scenario.constants import FLOATING
from tests.grading import scalar_tape

CLAIMS = {check.name: check for check in all_checks() if isinstance(check, Claim)}

WRITES = ("add", "multiply", "copy")

SETUP = """
import refgrad.engine as torch
leaves = []

def noted(x):
    leaves.append(x)
    return x

def replacing(output, seed, retain_graph):
    for x in leaves:
        x.grad = None
    output.backward(seed, retain_graph=retain_graph)
"""


def reference(**changes: Any) -> TapeAdapter:
    adapter = find_adapter("refgrad")
    assert isinstance(adapter, TapeAdapter)
    return replace(adapter, **changes)


def verdict(adapter: AnyAdapter, name: str) -> Verdict:
    return Bench(Engine(adapter), Settings("smoke")).grade(CLAIMS[name])


def writing(template: str) -> dict[str, Any]:
    return {"in_place": dict.fromkeys(WRITES, template)}


TOO_MUCH: Mapping[str, Mapping[str, Any]] = {
    "arrays": {"leaf": "torch.tensor(np.mean({array}), requires_grad={requires_grad})"},
    "seed": {"seed": "torch.ones({array}.shape)"},
    "retain_graph": {"backward": "{output}.backward({seed}, retain_graph={retain_graph} and False)"},
    "accumulate": {
        "setup": SETUP,
        "leaf": "noted(torch.tensor({array}, requires_grad={requires_grad}))",
        "backward": "replacing({output}, {seed}, {retain_graph})",
    },
    "zero_grad": {"zero_grad": "{leaf}.grad"},
    "zero_grad_to_zeros": {"zero_grad_to_zeros": "{leaf}.grad"},
    "double_backward": {"grad": "torch.grad({output}, {leaf}, {seed})[0]"},
    "forward_mode": {"jvp": "({function}(*{primals}), {tangents}[0])"},
    "detach": {"detach": "{x} * 1.0"},
    "no_grad": {"no_grad": "torch.enable_grad()"},
    "enable_grad": {"enable_grad": "__import__('contextlib').nullcontext()"},
    "set_requires_grad": {"set_requires_grad": "({x}, {requires_grad})"},
    "in_place": writing("{x} + {y}"),
    "in_place_at_index": {"in_place_at": dict.fromkeys(WRITES, "({x} + {y})[{index}]")},
    "hooks": {"hook": "{x}.register_hook(lambda gradient: ({function}(gradient), None)[1])"},
    "unhook": {"unhook": "{handle}"},
    "retain_grad": {"retain_grad": "{x}.requires_grad"},
    "call:rule": {"ways": {"rule": "{function}(*{inputs})"}},
    "call:checkpoint": {"ways": {"checkpoint": "{function}(*{inputs}).detach()"}},
    "call:jit": {"ways": {"jit": "{function}(*{inputs}).detach()"}},
    "call:loop": {"ways": {"loop": "{function}(*{inputs})"}},
    "call:vmap": {"ways": {"vmap": "{function}(*{inputs}).detach()"}},
    "call:jacrev": {"ways": {"jacrev": "torch.jacrev({function})(*{inputs}).detach()"}},
    "call:jacfwd": {"ways": {"jacfwd": "torch.jacfwd({function})(*{inputs}).detach()"}},
    "call:hessian": {"ways": {"hessian": "{function}(*{inputs})"}},
    "read_requires_grad": {"requires_grad": "{x} is not None"},
    "read_is_leaf": {"is_leaf": "{x} is not None"},
    "read_recorded": {"recorded": "{x}.requires_grad"},
    "error:no-graph": {"backward": "{output}.requires_grad and {output}.backward({seed}, retain_graph={retain_graph})"},
    "error:implicit-seed": {
        "backward": "{output}.backward(torch.ones({output}.shape) if {seed} is None else {seed}, "
        "retain_graph={retain_graph})"
    },
    "error:seed-shape": {"seed": "torch.tensor(np.resize({array}, (2,)))"},
    "error:freed-graph": {"backward": "{output}.backward({seed}, retain_graph=True or {retain_graph})"},
    "error:modified-in-place": writing("{x}.data.overwrite({x}.numpy() + 1.0 * {y}.item())"),
    "error:leaf-in-place": writing("{x} is {y}"),
    "error:write-shape": writing("{x}.add_({y}.sum())"),
    "error:hook-on-constant": {"hook": "{x}.requires_grad and {x}.register_hook({function})"},
    "error:retain-grad-on-constant": {"retain_grad": "{x}.requires_grad and {x}.retain_grad()"},
    "error:requires-grad-of-non-leaf": {"set_requires_grad": "{x}.is_leaf and {x}.requires_grad_({requires_grad})"},
}
"""By feature: templates of an adapter that declares it still, though by what they spell there is no such thing."""

WRONG_POLICIES: Mapping[str, str] = {
    "frees": "never",
    "implicit_seed": "ones",
    "unrecorded_views": "open",
    "keeps": "all",
    "accumulates": "replaces",
}

FUNCTIONAL = FunctionalAdapter(
    name="functional",
    setup="""
import refgrad.engine as torch

def vjp(function, primals):
    moving = [x * 1.0 if x.requires_grad else x.detach().requires_grad_() for x in primals]
    output = function(*moving)

    def pullback(seed):
        found = torch.grad([output], moving, [seed], create_graph=True, allow_unused=True)
        return [torch.zeros(x.shape) if cotangent is None else cotangent for x, cotangent in zip(moving, found)]

    return output, pullback

def forgetful(function, primals):
    output, pullback = vjp(function, primals)
    calls = []

    def another(seed):
        calls.append(seed)
        return [x * (1.0 / len(calls)) for x in pullback(seed)]

    return output, another
""",
    leaf="torch.tensor({array})",
    value="{x}.detach().numpy()",
    seed="torch.tensor({array})",
    vjp="vjp({function}, {primals})",
    nests=True,
    operators={"add": "{x} + {y}", "multiply": "{x} * {y}"},
)


SCALAR = TapeAdapter(
    name="scalar",
    setup=scalar_tape.SOURCE,
    leaf="Value({scalar})",
    value="{x}.data",
    backward="{output}.backward()",
    gradient="{leaf}.grad",
    operators={"add": "{x} + {y}", "multiply": "{x} * {y}"},
    policy=Policy(frees="never", keeps="all"),
    scalars_only=True,
)


UNTOLD = {"graph"}
"""Features that no scenario can show: measurements of introspection look at them."""


def test_a_claim_is_tried_on_an_engine_of_just_its_operators_and_features(monkeypatch: pytest.MonkeyPatch) -> None:
    product = replace(SCALAR, operators={"multiply": "{x} * {y}"})
    assert {"multiply"} == Engine(product).operators.keys() == CLAIMS["accumulate"].scenarios[0].operators
    monkeypatch.setattr(claims, "required_features", lambda _: product.features | {"accumulate"})
    assert verdict(product, "accumulate").verdict == "passed"


def test_every_feature_every_policy_and_every_dtype_has_a_claim() -> None:
    named = {kind: [claim.name for claim in all_claims() if claim.kind == kind] for kind in ("features", "dtypes")}
    assert set(named["features"]) == set(FEATURES) - UNTOLD
    assert set(named["dtypes"]) == set(FLOATING)
    assert {c.name for c in all_claims() if c.kind == "policies"} == {field.name for field in fields(Policy)}
    assert len({claim.id for claim in all_claims()}) == len(all_claims())


BUNDLED = [name for name in shipped_engines() if name != "neograd"]
"""neograd declares what its documentation says, and does not keep it: see its report."""


@pytest.mark.engines
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_adapters_say_all_that_is_so_and_nothing_else(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"needs refgrad[{name}]")
    bench = Bench(start(find_adapter(name)), Settings("smoke"))
    assert {v.id: v.message for v in map(bench.grade, CLAIMS.values()) if v.failed} == {}


def test_a_policy_that_is_refuted_by_a_reshape_has_a_verdict() -> None:
    found = verdict(reference(requires_grad="True"), "unrecorded_views")
    assert (found.verdict, found.level) == ("missing", "MUST")


def test_the_lies_are_about_every_feature() -> None:
    assert set(TOO_MUCH) == set(FEATURES) - UNTOLD - {"mixed_modes"}  # which no tape has


def test_a_forward_mode_that_cannot_be_differentiated_is_reported() -> None:
    pulled = "vjp({function}, {primals})"
    assert verdict(replace(FUNCTIONAL, forward_vjp=pulled), "mixed_modes").verdict == "passed"
    cut_off = "vjp({function}, [x.detach() for x in {primals}])"
    found = verdict(replace(FUNCTIONAL, forward_vjp=cut_off), "mixed_modes")
    assert (found.verdict, found.level) == ("missing", "MUST")
    assert found.message.endswith("put 'mixed_modes' into lacks")


@pytest.mark.parametrize("feature", TOO_MUCH)
def test_a_declared_feature_that_is_absent_is_reported(feature: str) -> None:
    found = verdict(reference(**TOO_MUCH[feature]), feature)
    assert (found.verdict, found.level) == ("missing", "MUST")
    assert found.message.startswith(f"{feature} is declared, but step ")
    assert found.scenario
    assert found.reproduction


@pytest.mark.parametrize("feature", sorted(TOO_MUCH.keys() - {"call:jit"}))  # which the reference engine has not
def test_a_feature_that_works_and_is_not_declared_is_reported(feature: str) -> None:
    found = verdict(reference(lacks=frozenset({feature})), feature)
    assert (found.verdict, found.level) == ("missing", "SHOULD")
    assert found.message == f"{feature} is there, and not declared: take {feature!r} out of lacks"


@pytest.mark.parametrize("feature", ["zero_grad", "error:no-graph", "error:seed-shape", "retain_grad", "hooks"])
def test_a_feature_that_is_absent_as_declared_is_in_order(feature: str) -> None:
    found = verdict(reference(lacks=frozenset({feature}), **TOO_MUCH[feature]), feature)
    assert (found.verdict, found.message) == ("passed", f"{feature} is not there, as declared")


@pytest.mark.parametrize("field", WRONG_POLICIES)
def test_a_policy_that_the_engine_does_not_follow_is_reported(field: str) -> None:
    said: dict[str, Any] = {field: WRONG_POLICIES[field]}
    found = verdict(reference(policy=Policy(**said)), field)
    assert found.verdict == "missing"
    assert found.message.startswith(f"the policy says {field}={WRONG_POLICIES[field]!r}, but ")
    assert repr(getattr(Policy(), field)) in found.message
    assert found.level == ("SHOULD" if field == "unrecorded_views" else "MUST")


def test_an_engine_that_frees_all_is_told_from_one_that_frees_what_was_saved() -> None:
    found = verdict(reference(policy=Policy(frees="always")), "frees")
    assert "carried on silently where an error is due (freed-graph); it does as frees='saved' says" in found.message


@pytest.mark.parametrize(("setup", "advised"), [(scalar_tape.OVERWRITES, True), (scalar_tape.ALL_ASSIGN, False)])
def test_no_policy_is_advised_that_a_suspected_fault_would_hide_in(setup: str, *, advised: bool) -> None:
    found = verdict(replace(SCALAR, setup=setup), "accumulates")
    assert found.verdict == "missing"
    assert ("it does as accumulates='overwrites' says" in found.message) is advised


def test_a_dtype_that_is_not_kept_is_reported() -> None:
    found = verdict(reference(leaf="torch.tensor({array}.astype(float), requires_grad={requires_grad})"), "float32")
    assert found.verdict == "missing"
    assert found.message.endswith("if there is none, leave 'float32' out of dtypes")


def test_a_fault_of_an_operator_is_not_blamed_on_a_claim() -> None:
    operators = {**reference().operators, "multiply": "{x} * {y} * 2.0"}
    assert verdict(reference(operators=operators), "double_backward").message == (
        "cannot be judged: multiply fails by itself"
    )


def test_a_functional_engine_is_held_to_what_it_says() -> None:
    bench = Bench(Engine(FUNCTIONAL), Settings("smoke"))
    verdicts = {name: bench.grade(check).verdict for name, check in CLAIMS.items()}
    assert {name for name, outcome in verdicts.items() if outcome == "passed"} == {
        "accumulate", "arrays", "double_backward", "float64", "retain_graph", "seed", "zero_grad",
    }  # fmt: skip
    assert {outcome for outcome in verdicts.values() if outcome != "passed"} == {"unsupported"}


def test_a_pullback_that_gives_something_else_when_it_is_called_again_is_reported() -> None:
    found = verdict(replace(FUNCTIONAL, vjp="forgetful({function}, {primals})"), "retain_graph")
    assert found.verdict == "missing"


def test_nesting_that_works_and_is_not_declared_is_reported() -> None:
    found = verdict(replace(FUNCTIONAL, nests=False), "double_backward")
    assert (found.level, found.message) == ("SHOULD", "double_backward is there, and not declared: say `nests = true`")


def test_nesting_that_does_not_work_is_reported() -> None:
    setup = FUNCTIONAL.setup.replace("create_graph=True", "retain_graph=True")
    found = verdict(replace(FUNCTIONAL, setup=setup), "double_backward")
    assert found.message.endswith("if there is none, say `nests = false`")


def test_a_malformed_row_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("operators", "claims"):
        (tmp_path / folder).mkdir()
    (tmp_path / "claims" / "dtypes.toml").write_text('[float64]\nscenarios = ["x = leef"]')
    monkeypatch.setenv("REFGRAD_SPECS", str(tmp_path))
    with pytest.raises(ClaimError, match=r"dtypes\.toml: row 'float64': "):
        claims_about.__wrapped__("dtypes")
