"""A language is one object, which is asked for all that depends on the language."""

from __future__ import annotations

import ast
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from refgrad.native.adapter import AdapterError, FunctionalAdapter, TapeAdapter
from refgrad.native.languages import LANGUAGES, Language
from refgrad.native.statements import Call, Delete, Lambda, LocalFunction, Name, Names, Show, Statement, Value
from refgrad.scenario import Constant
from tests.repository.sources import PACKAGE, name_of, python_files, syntax_tree
from tests.snapshots.placement import PlainText

ALL = list(LANGUAGES.values())
WITH_RUNNERS = [language for language in ALL if language.runner]


def by_name(language: Language) -> str:
    return language.name


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(PlainText)


def test_no_other_module_compares_the_name_of_a_language() -> None:
    names = LANGUAGES.keys() - {"none"}
    comparing = [
        name_of(path)
        for path in python_files(PACKAGE)
        if path.parent.name != "languages"
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.Compare)
        and any(isinstance(each, ast.Constant) and each.value in names for each in ast.walk(node))
    ]
    assert comparing == []


@pytest.mark.parametrize("language", WITH_RUNNERS, ids=by_name)
def test_the_command_of_a_runner_names_its_file(language: Language) -> None:
    command = language.command("an interpreter")
    assert Path(command[-1]).is_file()
    assert ("an interpreter" in command) == ("{python}" in language.runner)


@pytest.mark.parametrize("language", ALL, ids=by_name)
def test_every_language_prints_a_program(language: Language, snapshot: SnapshotAssertion) -> None:
    pull = Call(language.pull, {"pullback": Name("pullback"), "seed": Name("z")}, ("c", "d"), unpack=True)
    twice = LocalFunction("twice", ("x",), (Call("{x} + {x}", {"x": Name("x")}, ("y",)),), "y")
    other = LocalFunction(
        "other", ("u", "v"), (Call("{list}", {"list": Names(("u", "v"))}, ("w",)), Delete("w"), twice), "v"
    )
    calls = [Call(text, {"x": Value(-1.5), "y": Name("a")}) for text in ("f({x}, {y})", "{y}**{x}", "f({x}*{y})", "g")]
    values = Call("[{x}, {y}]", {"x": Value(value=True), "y": Value(None)}, ("b",))
    inner = Call("{x} + {y}", {"x": Call("-{y}", {"y": Name("a")}), "y": Value(float("inf"))})
    shows = [Show("what", inner), Show("what", pull.around("z", inner) or inner)]
    pair = Call("vjp({function})", {"function": Name("other")}, ("p", "q"), unpack=True)
    statements: list[Statement] = [other, pull, pair, *calls, values, *shows]
    body = "\n".join(language.caught(line for each in statements for line in language.lines(each)))
    assert language.whole("unused = 1\n\nused = 2\n\nfunction other(x) {\n}\n", f"{body}\nused") == snapshot


NUMBERS = (None, True, False, 3, -2.5, math.nan, math.inf, -math.inf)
LISTS = ("text", (1, (2.5, None)), slice(None, 2, -1))
ARRAYS = (np.array(-0.1), np.array([[1.5, np.nan], [-np.inf, 0.0]]), np.zeros((0, 2)), np.array([True, False]))


def test_every_language_writes_numbers(snapshot: SnapshotAssertion) -> None:
    assert "\n".join(f"{each.name}: {', '.join(map(each.literal, NUMBERS))}" for each in ALL) == snapshot


@pytest.mark.parametrize("name", ["python", "javascript"])
def test_a_language_with_arrays_writes_lists_and_arrays(name: str, snapshot: SnapshotAssertion) -> None:
    texts = [*map(LANGUAGES[name].literal, LISTS)]
    texts += [LANGUAGES[name].array(Constant.of(array)) for array in (*ARRAYS, np.zeros(2, "float32"))]
    assert "\n".join(texts) == snapshot


def test_a_language_that_is_only_listed_lists_regions_and_functions() -> None:
    language = LANGUAGES["none"]
    body = (Call("{x} sin", {"x": Name("x")}, ("y",)),)
    region = Call("quiet")
    assert list(language.region(region, ["x = 1"], by_error=True)) == ["within quiet, which an error ends", "    x = 1"]
    assert list(language.lines(LocalFunction("f", ("x",), body, "y"))) == [
        "function f of x",
        "    y = x sin",
        "    result y",
    ]
    assert list(language.lines(Call("split", {}, ("a", "b"), unpack=True))) == [
        "a_and_b_found = split",
        "a = a_and_b_found part 1",
        "b = a_and_b_found part 2",
    ]


@pytest.mark.parametrize("language", ALL, ids=by_name)
def test_suffixes_and_names_are_of_one_language_each(language: Language) -> None:
    others = [each for each in ALL if each is not language]
    assert language.suffix not in {each.suffix for each in others}
    assert LANGUAGES[language.name] is language


@pytest.mark.parametrize("name", sorted(name for name, language in LANGUAGES.items() if not language.new_list))
def test_a_language_without_lists_of_arrays_has_no_hooks(name: str) -> None:
    with pytest.raises(TypeError, match="has no function of gradient"):
        LANGUAGES[name].argument(Lambda(("gradient",), Call("{gradient}", {"gradient": Name("gradient")})))


def test_an_adapter_in_a_language_without_hooks_may_not_have_one() -> None:
    fields: dict[str, Any] = {
        "name": "mine",
        "setup": "",
        "leaf": "{array}",
        "backward": "{output}",
        "gradient": "{leaf}",
    }
    with pytest.raises(AdapterError, match="hook: leave it out; programs in java cannot record what a hook receives"):
        TapeAdapter(**fields, language="java", hook="{x}.hook({function})")


def test_the_default_of_value_is_that_of_the_language() -> None:
    values = {
        language.name: FunctionalAdapter(
            name="mine", setup="", leaf="{array}", vjp="vjp({function}, {primals})", language=language.name
        ).value
        for language in WITH_RUNNERS
    }
    assert values.pop("python") == "np.asarray({x})"
    assert set(values.values()) == {"{x}"}


def test_a_package_that_is_not_installed_has_no_version() -> None:
    versions = {language.version("no-such-package-of-refgrad", sys.executable) for language in ALL}
    assert versions == {"unknown"}


@pytest.mark.parametrize(
    ("name", "part", "defined"),
    [
        (
            "cpp",
            "template <class F>\nstd::pair<Tensor, Pullback> vjp(F f, const std::vector<Tensor>& primals) {\n",
            "vjp",
        ),
        ("cpp", "inline double value(double x) { return x; }\n", "value"),
        ("cpp", "using Tensor = adouble;\n", "Tensor"),
        ("cpp", "#include <vector>\n", "vector"),
        ("cpp", "#include <cmath>\n", ""),
        ("java", "import java.util.List;\n", "List"),
        ("java", "final class Forward {\n", "Forward"),
        ("r", "vjp <- function(program, primals) {\n", "vjp"),
        ("r", "library(torch)\n", ""),
        ("javascript", "function twice(x) {\n", "twice"),
        ("python", "def leaf(array):\n", "leaf"),
        ("python", "set_printoptions(17)\n", ""),
    ],
)
def test_a_part_of_a_setup_defines_one_name_or_is_kept(name: str, part: str, defined: str) -> None:
    assert LANGUAGES[name].defines(part) == defined
