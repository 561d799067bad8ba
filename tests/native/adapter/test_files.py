"""Engine files are read as written, families are merged row by row, and every mistake is one error that names it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.grading.judging.examination import examine
from refgrad.lifecycle import Policy
from refgrad.native.adapter import AdapterError, FunctionalAdapter, TapeAdapter, read_adapter, spell
from refgrad.native.engine import Engine, start
from refgrad.native.engine_names import engines_directory, shipped_engines
from refgrad.operators import operator_table
from refgrad.scenario import parse
from tests.native.tiny_engine import tiny_adapter

FILES = count()
TINY: Mapping[str, Any] = {
    "name": "tiny",
    "kind": "tape",
    "setup": "from tests.native.tiny_tape import Tiny",
    "leaf": "Tiny({array}, requires_grad={requires_grad})",
    "value": "{x}.data",
    "backward": "{output}.backward({seed})",
    "gradient": "{leaf}.grad",
    "zero_grad": "setattr({leaf}, 'grad', None)",
    "operators": {"add": ["{x} + {y}"], "multiply": ["{x} * {y}"]},
    "lacks": ["error:freed-graph", "error:implicit-seed", "error:seed-shape", "error:no-graph"],
}


def toml(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def written(folder: Path, document: Mapping[str, Any], name: str = "") -> Path:
    """An engine file of this document."""
    path = folder / f"{name or f'file{next(FILES)}'}.toml"
    text = "".join(f"{json.dumps(field)} = {toml(value)}\n" for field, value in document.items())
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, **fields: Any) -> TapeAdapter:
    """The adapter of the tiny engine's file with some fields more, or other ones."""
    adapter = read_adapter(written(folder, {**TINY, **fields}))
    assert isinstance(adapter, TapeAdapter)
    return adapter


def family(folder: Path, name: str = "", **fields: Any) -> str:
    """How a file in this folder names a family with these fields."""
    return f"./{written(folder, {'name': 'f', 'kind': 'family', **fields}, name).name}"


def refused(folder: Path, **fields: Any) -> str:
    """What is said of the tiny engine's file with these fields, less the path of the file, with which it begins."""
    path = written(folder, {**TINY, **fields})
    with pytest.raises(AdapterError) as caught:
        read_adapter(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{folder}/")
    return message.partition(": ")[2]


def test_paths_in_the_command_of_a_runner_begin_at_the_folder_of_the_file(tmp_path: Path) -> None:
    command = ["sh", "./run.sh", "../tool", "-v", ".hidden"]
    runner = read(tmp_path, setup="", runner={"command": command}).runner
    assert runner is not None
    assert runner.command == ("sh", str(tmp_path / "run.sh"), str(tmp_path / "../tool"), "-v", ".hidden")


def test_a_file_and_a_python_object_are_the_same_adapter(tmp_path: Path) -> None:
    fields = {field: value for field, value in vars(read(tmp_path)).items() if field != "policy"}
    assert fields == {field: value for field, value in vars(tiny_adapter()).items() if field != "policy"}
    assert read(tmp_path).policy == tiny_adapter().policy
    assert read(tmp_path).features == tiny_adapter().features


def test_fields_have_the_types_of_the_python_object(tmp_path: Path) -> None:
    adapter = read(tmp_path, policy={"frees": "never"}, alike=["np"], unlike=["ldexp"], dtypes=["float64", "float32"])
    assert adapter.policy == Policy(frees="never")
    assert (adapter.alike, adapter.unlike, adapter.dtypes) == (("np",), frozenset({"ldexp"}), ("float64", "float32"))


OPERATORS = sorted(operator_table())


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[str]]:
    """Rows of spellings that differ."""
    names = draw(st.lists(st.sampled_from(OPERATORS), unique=True, max_size=5))
    modules = st.lists(st.sampled_from(["me", "me.nn", "other"]), unique=True, min_size=1)
    return {name: [spell(module, [name])[name] for module in draw(modules)] for name in names}


@given(table=tables())
def test_the_first_spelling_of_a_row_is_the_main_one(table: dict[str, list[str]], tmp_path_factory: Any) -> None:
    adapter = read(tmp_path_factory.getbasetemp(), operators=table)
    assert adapter.operators == {name: row[0] for name, row in table.items()}
    assert adapter.aliases == {name: tuple(row[1:]) for name, row in table.items() if row[1:]}


def test_a_single_spelling_needs_no_list(tmp_path: Path) -> None:
    assert read(tmp_path, operators={"add": "{x} + {y}"}).operators == {"add": "{x} + {y}"}


@given(below=tables(), above=tables())
def test_a_row_replaces_that_of_a_family_and_the_others_stay(
    below: dict[str, list[str]], above: dict[str, list[str]], tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.getbasetemp()
    adapter = read(folder, extends=[family(folder, operators=below)], operators=above)
    assert adapter.operators == {name: row[0] for name, row in {**below, **above}.items()}
    both = read(folder, extends=[family(folder, operators=below), family(folder, operators=above)], operators={})
    assert (both.operators, both.aliases) == (adapter.operators, adapter.aliases)


def test_spellings_are_added_to_those_of_a_family(tmp_path: Path) -> None:
    base = family(tmp_path, operators={"add": ["{x} + {y}", "add({x}, {y})"]})
    before = read(tmp_path, extends=[base], operators={"add": ["plus({x}, {y})", "..."]})
    assert (before.operators["add"], before.aliases["add"]) == ("plus({x}, {y})", ("{x} + {y}", "add({x}, {y})"))
    behind = read(tmp_path, extends=[base], operators={"add": ["...", "plus({x}, {y})"]})
    assert (behind.operators["add"], behind.aliases["add"]) == ("{x} + {y}", ("add({x}, {y})", "plus({x}, {y})"))


def test_what_modules_have_is_not_spelled_and_may_have_further_spellings(tmp_path: Path) -> None:
    adapter = read(tmp_path, alike=["me"], operators={"abs": ["{alike}", "abs({x})"], "exp": ["{alike}"]})
    assert adapter.operators == {}
    assert adapter.aliases == {"abs": ("abs({x})",)}


def test_operators_that_are_called_by_the_names_of_the_table_are_listed(tmp_path: Path) -> None:
    adapter = read(tmp_path, calls={"me": ["sum", "stack"], "me.nn": ["glu"]}, operators={"sum": ["...", "{x}.sum()"]})
    assert adapter.operators == {**spell("me", ["sum", "stack"]), **spell("me.nn", ["glu"])}
    assert adapter.aliases == {"sum": ("{x}.sum()",)}
    assert read(tmp_path, calls={"me": "all"}).operators.keys() == operator_table().keys()


def test_families_of_families_are_extended_and_modules_stand_for_their_placeholders(tmp_path: Path) -> None:
    lower = family(tmp_path, operators={"sum": ["{np}.sum({x})"]}, detach="{np}.detach({x})", setup="'{np}'")
    upper = family(tmp_path, extends=[lower], operators={"mean": ["{np}.mean({x})"]}, modules={"np": "you"})
    fields = {name: value for name, value in TINY.items() if name not in {"setup", "operators"}}
    adapter = read_adapter(written(tmp_path, {**fields, "extends": [upper], "modules": {"np": "me"}}))
    assert isinstance(adapter, TapeAdapter)
    assert adapter.operators == {"sum": "me.sum({x})", "mean": "me.mean({x})"}
    assert adapter.detach == "me.detach({x})"
    assert adapter.setup == "'{np}'"


def test_errors_and_policies_are_merged_by_key_and_other_tables_are_replaced(tmp_path: Path) -> None:
    policy = {"frees": "never", "keeps": "all"}
    writes = {"add": "{x}.add_({y})", "multiply": "{x}.mul_({y})", "copy": "{x}.copy_({y})"}
    base = family(
        tmp_path,
        errors={"no-graph": "A", "seed-shape": "B"},
        policy=policy,
        in_place=writes,
    )
    adapter = read(tmp_path, extends=[base], errors={"no-graph": "C"}, policy={"keeps": "leaves"})
    assert adapter.errors == {"no-graph": "C", "seed-shape": "B"}
    assert adapter.policy == Policy(frees="never")
    assert adapter.in_place == writes
    with pytest.raises(AdapterError, match=r"in_place: there must be a template for each of"):
        read(tmp_path, extends=[base], in_place={"add": "{x}.add_({y})"})


def test_operators_of_a_family_that_an_engine_lacks_are_left_out(tmp_path: Path) -> None:
    base = family(tmp_path, operators={"sum": ["sum({x})"], "mean": ["mean({x})"]})
    assert read(tmp_path, extends=[base], without=["mean"], operators={}).operators == {"sum": "sum({x})"}


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"leef": "x"}, "leef: there is no such key, did you mean 'leaf'?"),
    ({"kind": "graph"}, 'kind: "graph" is not one of "tape", "functional", "family"'),
    ({"kind": "family"}, "kind: a family is no engine; write 'tape' or 'functional'"),
    ({"leaf": 3}, 'leaf: 3 is not of type "string"'),
    ({"vjp": "vjp({function}, {primals})"}, "vjp: there is no such key here"),
    ({"operators": {"sume": ["{x}"]}}, "operators.sume: there is no such operator, did you mean 'sum'? see `refgrad"),
    ({"operators": {"add": 1}}, 'operators.add: 1 is not of types "string", "array"'),
    (
        {"operators": {"add": ["{x} + {z}"]}},
        "adapter 'tiny': operators['add']: unknown placeholder {z}; it may use ['x', 'y']",
    ),
    ({"operators": {"add": ["..."]}}, "operators.add: '...' stands for a family's spellings, and none has this row"),
    (
        {"policy": {"freed": "never"}},
        "policy.freed: there is no such key, did you mean 'frees'? there are frees, implicit_seed, ",
    ),
    ({"policy": {"frees": "yes"}}, 'policy.frees: "yes" is not one of "saved", "never", "always", "connected"'),
    (
        {"errors": {"seed_shape": "x"}},
        "errors.seed_shape: there is no such key, did you mean 'seed-shape'? there ",
    ),
    ({"without": ["add"]}, "without.add: no family that the file extends has this row; leave it out"),
    (
        {"without": ["sume"]},
        "without.sume: there is no such operator, did you mean 'sum'? see `refgrad list",
    ),
    ({"calls": {"me": ["summ"]}}, "calls.me: 'summ': there is no such operator, did you mean 'sum'? see `refgrad"),
    ({"extends": ["numpylike"]}, "extends: there is no family 'numpylike', did you mean 'numpy-like'? there are numpy"),
    ({"extends": ["./nobody.toml"]}, "there is no such file"),
    ({"lacks": ["speed"]}, 'lacks[0]: "speed" is not one of "arrays", "seed", '),
]


@pytest.mark.parametrize(("fields", "message"), MISTAKES, ids=[message[:20] for _, message in MISTAKES])
def test_a_mistake_is_one_error_that_names_the_file_and_the_field(
    fields: dict[str, Any], message: str, tmp_path: Path
) -> None:
    assert refused(tmp_path, **fields).startswith(message)


@pytest.mark.parametrize("field", ["leaf", "backward", "gradient", "setup"])
def test_a_field_that_is_missing_is_named_with_an_example(field: str, tmp_path: Path) -> None:
    path = written(tmp_path, {name: value for name, value in TINY.items() if name != field})
    with pytest.raises(AdapterError, match=rf"{field}: missing; a tape engine needs it, such as {field} = "):
        read_adapter(path)


def test_a_field_of_another_kind_in_a_family_is_named(tmp_path: Path) -> None:
    base = family(tmp_path, vjp="vjp({function}, {primals})")
    assert refused(tmp_path, extends=[base]) == "vjp: a tape engine has no such field; a family gives it"


def test_a_circle_of_families_is_named(tmp_path: Path) -> None:
    family(tmp_path, "one", extends=["./two.toml"])
    family(tmp_path, "two", extends=["./one.toml"])
    assert refused(tmp_path, extends=["./one.toml"]) == "extends: a circle: one -> two -> one"


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe", b"a = 1\na = 2", b"a = " + b"[" * 5000])
def test_what_is_no_toml_is_one_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(AdapterError, match=r"broken.toml: cannot be read( as TOML)?: "):
        read_adapter(path)


def test_a_folder_is_no_engine_file(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(AdapterError, match=r"folder.toml: cannot be read"):
        read_adapter(tmp_path / "folder.toml")


JUNK = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8) | st.sampled_from(["{x}", "...", "{", "add"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELD_NAMES = st.sampled_from([*TINY, "extends", "calls", "without", "modules", "policy", "errors", "in_place", "grad"])


def is_read(path: Path) -> bool:
    """Whether a file is not refused."""
    with suppress(AdapterError):
        read_adapter(path)
        return True
    return False


@given(fields=st.dictionaries(FIELD_NAMES | st.text(max_size=5), JUNK, max_size=3))
def test_whatever_stands_in_a_file_it_is_an_adapter_or_one_error(fields: dict[str, Any], tmp_path_factory: Any) -> None:
    path = written(tmp_path_factory.getbasetemp(), {**TINY, **fields})
    with nullcontext() if is_read(path) else pytest.raises(AdapterError, match=re.escape(str(path.parent))):
        assert isinstance(read_adapter(path), TapeAdapter | FunctionalAdapter)


def extras() -> set[str]:
    """Return the extras that the project offers, one for each engine that may share an interpreter with refgrad."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return set(project["optional-dependencies"])


@pytest.mark.parametrize("name", shipped_engines())
def test_every_shipped_engine_is_read_and_bears_the_name_of_its_file(name: str) -> None:
    adapter = read_adapter(shipped_engines()[name])
    assert adapter.name == name
    assert adapter.distribution is not None
    library = name.partition("-")[0]  # a variant of an engine bears its name in front
    assert adapter.extra == (library if library in extras() else None)


@pytest.mark.parametrize("name", shipped_engines())
def test_no_engine_repeats_a_row_that_its_families_have(name: str, tmp_path: Path) -> None:
    document = tomllib.loads(shipped_engines()[name].read_text(encoding="utf-8"))
    own = document.pop("operators", {})
    if not own:
        return  # it has nothing to repeat
    for other in (each for each in document.get("extends", ()) if each.startswith("./")):
        (tmp_path / other).write_bytes((engines_directory() / other).read_bytes())
    full, inherited = read_adapter(shipped_engines()[name]), read_adapter(written(tmp_path, document))
    rows = [{o: (a.operators.get(o), a.aliases.get(o)) for o in own} for a in (full, inherited)]
    assert [operator for operator in own if rows[0][operator] == rows[1][operator]] == []


def test_every_family_is_extended_by_some_engine() -> None:
    families = {path.stem for path in (engines_directory() / "families").glob("*.toml")}
    files = [tomllib.loads(path.read_text(encoding="utf-8")) for path in engines_directory().rglob("*.toml")]
    extended = {name for document in files for name in document.get("extends", ())}
    assert {name for name in extended if not name.startswith("./")} == families


def test_an_engine_file_extends_that_of_an_engine_of_another_kind(tmp_path: Path) -> None:
    written(tmp_path, TINY, "tape")
    setup = {"setup": "...\ndef pulled(function, primals): ..."}
    other = {"name": "pulled", "kind": "functional", "extends": ["./tape.toml"], "vjp": "pulled({function}, {primals})"}
    adapter = read_adapter(written(tmp_path, {**other, **setup, "lacks": []}))
    assert isinstance(adapter, FunctionalAdapter)
    assert adapter.operators == {"add": "{x} + {y}", "multiply": "{x} * {y}"}
    assert adapter.setup == f"{TINY['setup']}\ndef pulled(function, primals): ..."


def test_a_setup_that_goes_on_behind_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="none has one"):
        read_adapter(written(tmp_path, {**TINY, "setup": "...\nimport math"}))


def test_the_engine_of_a_file_is_run(tmp_path: Path) -> None:
    text = "x = leaf float64[] {0x1.8p+0} requires_grad\ny = multiply x x\nbackward y\nread grad x\n"
    engine = start(read(tmp_path))
    assert examine(parse(text), engine).outcome == "passed"
    assert examine(parse(text), Engine(replace(engine.adapter, operators={"multiply": "{x} + {y}"}))).outcome == "wrong"
