"""Each kind of malformed text gets one clear message."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refgrad.scenario import Scenario, ScenarioError, parse
from tests.effort import each
from tests.scenario.arbitrary_scenarios import scenarios

X = "x = leaf float64[2] {1 2} requires_grad\n"

MALFORMED = {
    # what the line is
    "frobnicate x": "line 2: unknown step 'frobnicate'; write NAME = ... to make a tensor",
    "backwrd x": "line 2: unknown step 'backwrd', did you mean 'backward'?",
    "= exp x": "line 2: unknown step '='; write NAME = ... to make a tensor",
    "y =": "line 2: the line ends where an operator should be",
    "y = = x": "line 2: '=' is not an identifier",
    # names
    "for = exp x": "line 2: 'for' is a Python keyword, not an identifier",
    "2y = exp x": "line 2: '2y' is not an identifier",
    "é = exp x": "line 2: 'é' is not an identifier",
    "y = exp z": "line 2: 'z' is not defined by an earlier step",
    "y = exp y": "line 2: 'y' is not defined by an earlier step",
    "y = exp x\nbackward xx": "line 3: 'xx' is not defined by an earlier step, did you mean 'x'?",
    "x = exp x": "line 2: 'x' is already defined",
    "read grad None": "line 2: 'None' is a Python keyword, not an identifier",
    "zero grad w": "line 2: 'w' is not defined by an earlier step",
    # operators
    "y = multipy x x": "line 2: unknown operator 'multipy', did you mean 'multiply'?",
    "y = zzz x": "line 2: unknown operator 'zzz'",
    "y = multiply x": "line 2: operator 'multiply' takes 2 arguments, not 1",
    "y = exp x x": "line 2: operator 'exp' takes 1 argument, not 2",
    "y = stack": "line 2: operator 'stack' takes at least 1 argument, not 0",
    # attributes
    "y = reshape x": "line 2: operator 'reshape' needs attribute 'shape'",
    "y = sum x axes=0": "line 2: operator 'sum' has no attribute 'axes', did you mean 'axis'?",
    "y = exp x axis=0": "line 2: operator 'exp' has no attribute 'axis'",
    "y = sum x axis=0 axis=1": "line 2: attribute 'axis' is given twice",
    "y = add x axis=0 x": "line 2: argument 'x' follows an attribute",
    "y = sum x axis=": "line 2: the line ends where a value should be",
    "y = sum x axis=(0": "line 2: the line ends where ')' should be",
    "y = sum x axis=(0)": "line 2: a tuple of one item is written with a comma: (1,)",
    "y = sum x axis=(0 1)": "line 2: '1' stands where ')' should be",
    "y = sum x axis=True": (
        "line 2: 'True' is no value: write none, true, false, a number, a string, a slice or a tuple"
    ),
    "y = sum x axis=99999999999999999999": "line 2: an integer does not fit in 64 bits",
    "y = sum x axis=999999999999999999999": "line 2: '999999999999999999999' does not fit in 64 bits",
    "y = index x index=1:2:0": "line 2: the step of a slice must not be 0",
    "y = index x index=1.5:2": "line 2: 1.5 cannot be the start of a slice",
    "y = index x index=1:2.5": "line 2: '2.5' is not an identifier",
    'y = index x index="a': "line 2: the string '\"a' is not closed",
    'y = index x index="\\q"': "line 2: '\"\\\\q\"' is not a string of JSON",
    "y = index x index=" + "(" * 17: "line 2: tuples are nested more than 16 deep",
    # constants
    "y = leaf": "line 2: the line ends where a dtype should be",
    "y = leaf float65[1] {1}": "line 2: unknown dtype 'float65', did you mean 'float64'?",
    "y = leaf float64 {1}": "line 2: '{' stands where '[' should be",
    "y = leaf float64[1 {1}": "line 2: the line ends where ']' should be",
    "y = leaf float64[1]": "line 2: the line ends where '{' should be",
    "y = leaf float64[1] {1": "line 2: the line ends where '}' should be",
    "y = leaf float64[2 2] {1}": "line 2: the lengths of a shape are separated by commas: '2 2'",
    "y = leaf float64[2,] {1 2}": "line 2: the lengths of a shape are separated by commas: '2 ,'",
    "y = leaf float64[a] {1}": "line 2: 'a' is not an integer",
    "y = leaf float64[-1] {}": "line 2: the lengths of a shape must be integers that are not negative, not (-1,)",
    "y = leaf float64[2, 2] {1 2 3}": "line 2: shape (2, 2) needs 4 values, not 3",
    "y = leaf float64[] {}": "line 2: shape () needs 1 value, not 0",
    "y = leaf float64[99999999999] {1}": "line 2: shape (99999999999,) is too large",
    "y = leaf float64[1] {0x1.8}": "line 2: '0x1.8' is not a float",
    "y = leaf float64[1] {1_0}": "line 2: '1_0' is not a float",
    "y = leaf float64[1] {1e999}": "line 2: '1e999' is too large for float64",
    "y = leaf float64[1] {0x1p+1024}": "line 2: '0x1p+1024' is too large for float64",
    "y = leaf float32[1] {1e39}": "line 2: a value is too large for float32",
    "y = leaf int64[1] {1.5}": "line 2: '1.5' is not an integer",
    "y = leaf bool[1] {1}": "line 2: '1' is not true or false",
    "y = leaf float64[] {1} require_grad": "line 2: 'require_grad' follows what should be the end of the line",
    # actions
    "backward": "line 2: the line ends where the output's name should be",
    "backward x seed": "line 2: the line ends where a dtype should be",
    "backward x retain_graph seed float64[] {1}": "line 2: 'seed' follows what should be the end of the line",
    "read gradient x": (
        "line 2: 'gradient' is no observation: write grad, value, requires_grad, is_leaf, recorded or hook"
    ),
    "read grad": "line 2: the line ends where a name should be",
    "read grad x x": "line 2: 'x' follows what should be the end of the line",
    "zero x": "line 2: 'x' stands where 'grad' should be",
}


@each(("line", "message"), MALFORMED.items())
def test_a_malformed_line_is_named_with_the_rule_that_it_breaks(line: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(X + line)
    assert str(caught.value) == message


def test_lines_are_counted_with_blank_ones_and_comments() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse("# a comment\n\n" + X + "\n  # another\ny = exp z # here\n")
    assert caught.value.line == 6
    assert caught.value.step is None
    assert caught.value.rule == "'z' is not defined by an earlier step"


def test_a_long_word_is_cut_in_the_message() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse("q" * 300_000)
    assert len(str(caught.value)) < 200


@given(st.text())
def test_any_text_is_a_scenario_or_a_scenario_error(text: str) -> None:
    assert_read_or_refused(text)


WORDS = """
    x y = leaf exp sum axis float64 float32 int64 bool [ ] { } ( ) , : 0 1 -1 nan 0x1p+0 1e999 none true " # \\
    backward seed read zero grad retain_graph requires_grad
"""


@given(st.lists(st.sampled_from([*WORDS.split(), "\n"]), max_size=30))
def test_any_words_are_a_scenario_or_a_scenario_error(words: list[str]) -> None:
    assert_read_or_refused(" ".join(words))


@given(scenarios(), st.randoms(use_true_random=False))
def test_a_damaged_scenario_is_a_scenario_or_a_scenario_error(scenario: Scenario, rng: random.Random) -> None:
    characters = list(scenario.text)
    for _ in range(3):
        if characters:
            characters[rng.randrange(len(characters))] = rng.choice(scenario.text + '\0é(:{}"#')
    assert_read_or_refused("".join(characters))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 300_000,
        "[" * 300_000 + "]" * 300_000,
        '{"schema": ' * 300_000 + "1" + "}" * 300_000,
        X + "y = index x index=" + "(" * 300_000,
        X + "y = index x index=" + '"\\' * 150_000,
        X + "y = index x index=" + "1:" * 150_000,
        "x = leaf float64[" + "9" * 300_000 + "] {}",
        "x = leaf float64[1] {" + "9" * 300_000 + "}",
        "x = leaf float64[1] {0x" + "f" * 300_000 + "p" + "+1" * 2 + "}",
        "x = leaf float64[1] {0x1p+" + "9" * 300_000 + "}",
        "x = leaf float64[" + "0, " * 300_000 + "0] {}",
        "x = leaf int64[1] {" + "9" * 300_000 + "}",
        " " * 300_000 + "=" * 300_000,
    ],
    ids=lambda text: f"{text[40:60]}...",
)
def test_huge_nonsense_is_refused_quickly(text: str) -> None:
    started = time.process_time()
    with pytest.raises(ScenarioError) as caught:
        parse(text)
    assert time.process_time() - started < 3
    assert len(str(caught.value)) < 200


def assert_read_or_refused(text: str) -> None:
    try:
        scenario = parse(text)
    except ScenarioError as refusal:
        error = refusal
    else:
        assert parse(scenario.text) == scenario
        return
    assert error.line is not None
