"""A first adapter has what a library has, under its names, and nothing that means something else."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refgrad.errors import UserError
from refgrad.grading.first_adapter.candidates import KNOWN, Asking
from refgrad.grading.first_adapter.choosing import Chosen, choose
from refgrad.grading.first_adapter.library import LibraryModules
from refgrad.grading.first_adapter.writing import _file, engine_file
from refgrad.lifecycle import Policy
from refgrad.native.adapter import TapeAdapter, read_adapter
from refgrad.native.engine import Engine, Isolation, launch
from tests.grading.first_adapter import small_tape
from tests.snapshots.placement import PlainText

pytestmark = pytest.mark.turns(2)

MODULE = "tests.grading.first_adapter.small_tape"


def proposed(field: str, text: str | None) -> str:
    """Take what was found, as ``--yes`` does."""
    if text is None:
        raise UserError(field)
    return text


@pytest.fixture(scope="module")
def chosen() -> Chosen:
    return choose(LibraryModules("small", (MODULE,), sys.executable), Asking(proposed, {}))


@pytest.fixture(scope="module")
def text(chosen: Chosen) -> str:
    return engine_file(chosen)


@pytest.fixture(scope="module")
def engine(text: str, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    path = tmp_path_factory.mktemp("first") / "small.toml"
    path.write_text(text, encoding="utf-8")
    return launch(read_adapter(path), Isolation())


def test_tensors_are_created_read_and_differentiated_as_the_library_does(engine: Engine) -> None:
    adapter = engine.adapter
    assert isinstance(adapter, TapeAdapter)
    assert (adapter.leaf, adapter.value) == (f"{MODULE}.Node({{array}})", "{x}.data")
    assert (adapter.backward, adapter.gradient) == ("{output}.backward({seed})", "{leaf}.grad")
    assert adapter.zero_grad == "setattr({leaf}, 'grad', None)"


def test_the_file_of_a_library(text: str, snapshot: Any) -> None:
    assert text == snapshot(extension_class=PlainText)


def test_the_file_of_a_library_with_all_that_a_file_can_hold(chosen: Chosen, snapshot: Any) -> None:
    started = chosen.started.knowing(
        distribution="small-tape",
        dtype="float32",
        dtypes=("float32", "float64"),
        refusals=("no \N{INCREMENT} of [0-9]+",),
        scalars_only=True,
        setup=f"{chosen.started.adapter.setup}\nimport math",
        policy=Policy(frees="never", keeps="all", accumulates="overwrites"),
    )
    assert engine_file(replace(chosen, started=started)) == snapshot(extension_class=PlainText)


@pytest.mark.parametrize("family", KNOWN["families"])
def test_a_file_that_extends_a_family_has_the_operators_of_the_library(
    family: str, chosen: Chosen, tmp_path: Path
) -> None:
    path = tmp_path / "small.toml"
    path.write_text(_file(chosen, family), encoding="utf-8")
    assert launch(read_adapter(path), Isolation()).operators == chosen.started.operators


def test_a_library_that_keeps_gradients_in_single_precision_is_one_of_float32(snapshot: Any) -> None:
    module = "tests.grading.first_adapter.narrow_tape"
    chosen = choose(LibraryModules("narrow", (module,), sys.executable), Asking(proposed, {}))
    assert engine_file(chosen) == snapshot(extension_class=PlainText)
    adapter = chosen.started.adapter
    assert isinstance(adapter, TapeAdapter)
    assert (adapter.dtype, adapter.leaf) == ("float32", f"{module}.Tensor({{array}}.astype(np.float32))")
    assert {"add": "{x} + {y}", "exp": "{x}.exp()"}.items() <= adapter.operators.items()


def test_the_policy_is_what_the_library_keeps(engine: Engine) -> None:
    policy = engine.adapter.policy
    assert (policy.frees, policy.implicit_seed, policy.accumulates) == ("never", "ones", "adds")


def test_operators_have_the_spellings_that_compute_them(engine: Engine) -> None:
    spelled = {name: set(texts) for name, texts in engine.spellings.items()}
    assert {name for name in ("multiply", "exp", "tanh", "sum", "square") if name not in spelled} <= {"square"}
    assert f"{MODULE}.sum({{x}}, dim={{axis}}, keepdim={{keepdims}})" in spelled["sum"]
    assert "{x} * {y}" in spelled["multiply"]


def test_a_module_of_another_library_that_this_one_imports_is_none_of_its_own(chosen: Chosen) -> None:
    assert hasattr(small_tape, "linalg")
    assert chosen.modules == (MODULE,)


def test_a_name_that_means_something_else_is_left_out(engine: Engine) -> None:
    assert not {"sign", "add", "log", "max"} & set(engine.spellings)


def test_a_function_with_another_meaning_is_reported_by_its_call(chosen: Chosen) -> None:
    assert dict(chosen.unlike) == {"sign": f"{MODULE}.sign({{x}})"}


def test_an_operator_with_a_wrong_gradient_stays_and_one_without_any_is_reported(
    engine: Engine, chosen: Chosen
) -> None:
    assert "tanh" in engine.spellings
    assert "floor" not in engine.spellings
    assert chosen.untaught == ("floor",)
    assert chosen.instead == "the gradient of x1 is missing"


def test_the_file_spells_what_was_chosen(engine: Engine, chosen: Chosen, text: str) -> None:
    assert set(engine.spellings) == set(chosen.started.operators)
    assert engine.adapter.features == chosen.started.adapter.features
    assert len(text.splitlines()) < 40
    assert not any(line.startswith("dtype = ") for line in text.splitlines())


def test_for_a_library_without_any_tensor_the_missing_field_is_named() -> None:
    with pytest.raises(UserError, match="value"):
        choose(
            LibraryModules("textwrap", ("textwrap",), sys.executable),
            Asking(proposed, {"kind": "tape", "leaf": "[{array}]"}),
        )


def test_tensors_that_cannot_be_read_are_reported_with_the_message_of_the_library() -> None:
    options = {"leaf": f"{MODULE}.Node({{array}})", "value": "{x}.lost"}
    with pytest.raises(UserError, match=r"no tensor comes back with leaf = .* and value = \{x\}\.lost: .*'lost'"):
        choose(LibraryModules("small", (MODULE,), sys.executable), Asking(proposed, options))


def test_fields_of_the_user_are_written_unchanged_and_not_tried() -> None:
    spelled = f"({MODULE}.exp({{x}}), {{x}})[1]"
    options = {"operators.sinh": spelled, "zero_grad": "print({leaf})", "is_leaf": "not {x}.parents"}
    chosen = choose(LibraryModules("small", (MODULE,), sys.executable), Asking(proposed, options))
    lines = engine_file(chosen).splitlines()
    assert f'sinh = ["{spelled}"]' in lines
    assert 'zero_grad = "print({leaf})"' in lines
    assert 'is_leaf = "not {x}.parents"' in lines


def test_a_template_of_another_kind_of_adapter_is_refused() -> None:
    options = {"kind": "tape", "vjp": "pulled({function}, {primals})", "backward": "0", "gradient": "0"}
    with pytest.raises(UserError, match="'vjp' is given, which an adapter of the kind 'tape' does not have"):
        choose(LibraryModules("small", (MODULE,), sys.executable), Asking(proposed, options))
