"""A malformed adapter is refused with one clear error, before an engine is started; features follow from templates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from refgrad.errors import EngineStartError
from refgrad.generation import operator_scenario
from refgrad.grading.judging.examination import examine
from refgrad.lifecycle import ErrorKind, Policy
from refgrad.native.adapter import FEATURES, AdapterError, FunctionalAdapter
from refgrad.native.adapter.adapter import checked_adapter
from refgrad.native.adapter.fields import STATEFUL_FEATURES
from refgrad.native.engine import Engine, start
from refgrad.native.languages import LANGUAGES
from refgrad.native.runners.python_runner import REMEMBERED
from refgrad.scenario import parse
from refgrad.scenario.constants import FLOATING
from tests.native.tiny_engine import tiny_adapter


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"operators": {"sume": "{x}"}},
            (
                "adapter 'tiny': operators['sume']: there is no such operator, did you mean 'sum'? see `refgrad list "
                "operators`"
            ),
        ),
        (
            {"operators": {"add": "{x} + {z}"}},
            "adapter 'tiny': operators['add']: unknown placeholder {z}; it may use ['x', 'y']",
        ),
        (
            {"operators": {"add": "{x} +"}},
            "adapter 'tiny': operators['add']: template '{x} +' is not an expression: invalid syntax",
        ),
        (
            {"leaf": "Tiny({o})"},
            (
                "adapter 'tiny': leaf: unknown placeholder {o}; it may use "
                "['array', 'dtype', 'requires_grad', 'scalar', 'shape']"
            ),
        ),
        (
            {"backward": "{loss}.backward()"},
            "adapter 'tiny': backward: unknown placeholder {loss}; it may use ['output', 'retain_graph', 'seed']",
        ),
        (
            {"lacks": frozenset({"speed"})},
            f"adapter 'tiny': lacks 'speed', which is not a feature; there are {sorted(FEATURES)}",
        ),
        (
            {"in_place": {"add": "{x}.add_({y})"}},
            "adapter 'tiny': in_place: there must be a template for each of ['add', 'multiply', 'copy']",
        ),
        (
            {"in_place_at": {"add": "{x}[{index}].add_({y})"}},
            "adapter 'tiny': in_place_at: there must be a template for each of ['add', 'multiply', 'copy']",
        ),
        (
            {"in_place_at": dict.fromkeys(["add", "multiply", "copy"], "{x}[{at}].add_({y})")},
            "adapter 'tiny': in_place_at['add']: unknown placeholder {at}; it may use ['index', 'x', 'y']",
        ),
        ({"node": "{x}"}, "adapter 'tiny': parents: missing; node needs it"),
        ({"parents": "{node}.parents"}, "adapter 'tiny': node: missing; parents needs it"),
        (
            {"errors": {"freed": "RuntimeError"}},
            f"adapter 'tiny': errors['freed']: no kind of error; there are {list(get_args(ErrorKind))}",
        ),
        (
            {"errors": {"no-graph": "*"}},
            "adapter 'tiny': errors['no-graph']: '*' is no regular expression: nothing to repeat at position 0",
        ),
        (
            {"refusals": ("(",)},
            (
                "adapter 'tiny': refusals[0]: '(' is no regular expression: missing ), unterminated subpattern "
                "at position 0"
            ),
        ),
        (
            {"refusals": ("Error: no gradient", "Error")},
            "adapter 'tiny': refusals[1]: 'Error' fits errors that say nothing",
        ),
        ({"dtypes": ("float8",)}, f"adapter 'tiny': dtypes: 'float8' is not among {sorted(FLOATING)}"),
        (
            {"language": "none"},
            f"adapter 'tiny': language: 'none' is not among {[each for each in LANGUAGES if each != 'none']}",
        ),
        ({"inventory": "mine"}, "adapter 'tiny': inventory: 'mine' is not of the form module:function"),
    ],
)
def test_a_malformed_adapter_is_refused(changes: Any, message: str) -> None:
    with pytest.raises(AdapterError) as caught:
        tiny_adapter(**changes)
    assert str(caught.value) == message


def test_something_that_is_no_adapter_is_refused() -> None:
    with pytest.raises(
        AdapterError, match=r"^mine:ADAPTER is dict, not a refgrad\.TapeAdapter or refgrad\.FunctionalAdapter$"
    ):
        checked_adapter({}, "mine:ADAPTER")


def test_features_follow_from_the_templates() -> None:
    full = tiny_adapter(
        lacks=frozenset(),
        backward="{output}.backward({seed}, keep={retain_graph})",
        grad="grad({output}, {leaf}, {seed})",
    )
    others = {"forward_mode", "mixed_modes", "graph"}
    ways = {name for name in FEATURES if name.startswith("call:")}
    assert full.features == frozenset(FEATURES) - STATEFUL_FEATURES.keys() - others - ways
    assert tiny_adapter(ways={"vmap": "vmap({function})(*{inputs})"}).features >= {"call:vmap"}
    plain = tiny_adapter(lacks=frozenset(), backward="{output}.backward()", zero_grad=None)
    assert plain.features == {"arrays", "accumulate", "error:no-graph", "error:freed-graph", "error:implicit-seed"}
    keeping = tiny_adapter(lacks=frozenset(), policy=Policy(frees="never", implicit_seed="ones"), scalars_only=True)
    assert keeping.features == {"accumulate", "error:no-graph", "seed", "error:seed-shape", "retain_graph", "zero_grad"}


def test_a_functional_engine_has_nothing_to_free() -> None:
    adapter = FunctionalAdapter(name="f", setup="", leaf="{array}", vjp="vjp({function}, {primals})")
    assert adapter.features == {"arrays", "seed", "retain_graph", "accumulate", "zero_grad"}
    both = replace(adapter, forward_vjp="forward_vjp({function}, {primals})", nests=True)
    assert both.features == adapter.features | {"double_backward", "mixed_modes"}


def test_an_engine_that_cannot_be_started_says_why() -> None:
    with pytest.raises(
        EngineStartError,
        match=r"^engine 'tiny' cannot be started: ModuleNotFoundError: No module named 'no_such_engine'$",
    ):
        start(tiny_adapter(setup="import no_such_engine"))


@pytest.mark.parametrize(
    ("known", "package"), [({"extra": "tiny"}, '"refgrad[tiny]"'), ({"distribution": "tiny-engine"}, "tiny-engine")]
)
def test_an_engine_that_is_not_installed_is_told_with_the_command_that_installs_it(known: Any, package: str) -> None:
    with pytest.raises(EngineStartError) as caught:
        start(tiny_adapter(setup="import no_such_engine", **known))
    assert str(caught.value).endswith(f"No module named 'no_such_engine'; `pip install {package}` installs it")


def test_an_engine_that_is_installed_and_broken_is_not_told_to_be_installed() -> None:
    with pytest.raises(EngineStartError, match=r"ZeroDivisionError: division by zero$"):
        start(tiny_adapter(setup="1 / 0", extra="tiny"))


def test_operators_that_a_library_calls_alike_need_not_be_spelled() -> None:
    engine = start(tiny_adapter(setup="import numpy as np\nfrom tests.native.tiny_tape import Tiny", alike=("np",)))
    assert engine.operators["exp"] == "np.exp({x})"
    assert engine.operators["arctan2"] == "np.arctan2({y}, {x})"
    assert engine.operators["add"] == "{x} + {y}"
    assert "sigmoid" not in engine.operators
    assert "sum" not in engine.operators


def test_what_a_library_calls_alike_but_means_otherwise_is_not_offered() -> None:
    setup = "import numpy as np\nfrom tests.native.tiny_tape import Tiny"
    engine = start(tiny_adapter(setup=setup, alike=("np",), unlike=frozenset({"ldexp"})))
    assert "exp2" in engine.operators
    assert "ldexp" not in engine.operators


def test_a_library_forgets_after_every_so_many_scenarios() -> None:
    setup = "from tests.native.tiny_tape import Tiny\nforgotten = []"
    engine = Engine(tiny_adapter(setup=setup, forget="forgotten.append(True)"))
    for seed in range(2 * REMEMBERED + 1):
        assert len(engine.namespace["forgotten"]) == seed // REMEMBERED
        examine(operator_scenario(seed, "add"), engine)
    assert len(engine.namespace["forgotten"]) == 2


def test_an_operator_may_be_computed_in_float64_only() -> None:
    adapter = tiny_adapter(dtypes=("float64", "float32"), double_only=frozenset({"erf"}))
    scenario = parse("x = leaf float32[] {0x1p+0} requires_grad\ny = erf x\nbackward y\n")
    assert adapter.dtypes_lacking(scenario) == ["float32"]
    assert adapter.dtypes_lacking(parse(scenario.text.replace("erf", "exp"))) == []
    assert adapter.dtypes_lacking(parse(scenario.text.replace("float32", "float64"))) == []


def test_an_operator_may_lack_dtypes_of_16_bits() -> None:
    adapter = tiny_adapter(dtypes=("float64", "float32", "float16"), no_half=frozenset({"erf"}))
    scenario = parse("x = leaf float16[] {0x1p+0} requires_grad\ny = erf x\nbackward y\n")
    assert adapter.dtypes_lacking(scenario) == ["float16"]
    assert adapter.dtypes_lacking(parse(scenario.text.replace("erf", "exp"))) == []
    assert adapter.dtypes_lacking(parse(scenario.text.replace("float16", "float32"))) == []
