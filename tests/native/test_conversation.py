"""Every runner answers the recorded requests, and a runner from outside that answers them can be graded."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema_rs import Draft202012Validator

from refgrad.errors import EngineStartError
from refgrad.grading.bench import Bench
from refgrad.grading.checks.families import all_checks
from refgrad.grading.settings import EFFORTS, Settings
from refgrad.native.adapter import AdapterError, AnyAdapter, read_adapter
from refgrad.native.adapter.registry import adapter_data, adapter_of
from refgrad.native.engine import Engine, Isolation, launch, reproduce, start
from refgrad.native.languages import LANGUAGES
from refgrad.native.process import Limits, RunnerProcess
from refgrad.native.runner import ProcessRunner
from refgrad.scenario import parse
from refgrad.specification import specs_directory

pytestmark = pytest.mark.turns(2)

HERE: Final = Path(__file__).parent / "protocol"
CONVERSATION: Final = [json.loads(line) for line in (HERE / "conversation.jsonl").read_text().splitlines()]
RUNNER: Final = str(HERE / "stack_runner.py")

COMMANDS: Final = {name: each.command() for name, each in LANGUAGES.items() if each.runner}
COMMANDS["stacks"] = [sys.executable, RUNNER]

NEEDS: Final = {"cpp": "g++", "java": "javac"}
"""Compilers that the runners of some languages need."""

INFIX: Final = {"$SUM": "{x} + {y}", "$LESS": "{x} < {y}", "$APPLY": "{f}({x})", "$SETUP": ""}
SPELLED: Final[Mapping[str, Mapping[str, str]]] = {
    "cpp": {
        **INFIX,
        "$APPLY": "{f}(std::vector<Tensor>{{Tensor{{{x}}}}}).number",
        "$SETUP": "#include <functional>\n#include <vector>\n"
        "struct Tensor { double number; };\n"
        "inline Tensor operator+(const Tensor& x, const Tensor& y) { return {x.number + y.number}; }\n"
        "using Pullback = std::function<std::vector<double>(Tensor)>;\n",
    },
    "java": {
        **INFIX,
        "$APPLY": "{f}.of(java.util.List.of({x}))",
        "$SETUP": "interface Program { double of(java.util.List<Double> primals); }",
    },
    "r": {**INFIX, "$APPLY": "{f}(list({x}))"},
    "stacks": {"$SUM": "{x} {y} plus", "$LESS": "{x} {y} less", "$APPLY": "{x} {f}", "$SETUP": ""},
}
"""Replacements for the texts in the recorded requests in languages that spell them in another way."""


def spelled(value: Any, texts: Mapping[str, str]) -> Any:
    """Return a request in the language of a runner."""
    if isinstance(value, dict):
        return {key: spelled(each, texts) for key, each in value.items()}
    if isinstance(value, list):
        return [spelled(each, texts) for each in value]
    return texts.get(value, value) if isinstance(value, str) else value


def fits(expected: Any, answer: Any, *, may_refuse: bool) -> bool:
    """Return True if an answer has all members that are expected, or a refusal in place of one that it may refuse."""
    if may_refuse and is_refusal(answer):
        return True
    if expected == "$REFUSAL":
        return "NotImplementedError" in answer
    if isinstance(expected, dict) and isinstance(answer, dict):
        exact = not expected and "error" in answer
        return not exact and all(
            key in answer and fits(each, answer[key], may_refuse=may_refuse) for key, each in expected.items()
        )
    if isinstance(expected, list) and isinstance(answer, list):
        pairs = zip(expected, answer, strict=False)
        return len(expected) == len(answer) and all(fits(*pair, may_refuse=may_refuse) for pair in pairs)
    return bool(expected == answer)


def is_refusal(answer: Any) -> bool:
    """Return True if the answer of a step or of a request says that the runner does not offer something."""
    return isinstance(answer, dict) and "NotImplementedError" in answer.get("error", {}).get("bases", ())


@pytest.fixture(params=sorted(COMMANDS))
def runner(request: pytest.FixtureRequest) -> Iterator[tuple[str, RunnerProcess]]:
    name = request.param
    needed = NEEDS.get(name, COMMANDS[name][0])
    if shutil.which(needed) is None:
        pytest.skip(f"needs {needed}")
    process = RunnerProcess(COMMANDS[name])
    yield name, process
    process.stop()


def test_a_runner_answers_the_recorded_requests(runner: tuple[str, RunnerProcess]) -> None:
    name, process = runner
    schemas = specs_directory() / "schema"
    valid = Draft202012Validator(json.loads((schemas / "runner-answer.schema.json").read_text(encoding="utf-8")))
    for each in CONVERSATION:
        answer = process.ask(spelled(each["request"], SPELLED.get(name, INFIX)), 60.0)
        valid.validate(answer)
        assert fits(each["answer"], answer, may_refuse=each.get("may_refuse", False)), (each["about"], answer)


@pytest.mark.parametrize(
    ("expected", "answer", "may_refuse", "outcome"),
    [
        ({}, {}, False, True),
        ({}, {"error": {"bases": []}}, False, False),
        ({"error": {}}, {"error": {"bases": ["Error"]}}, False, True),
        ([{"flag": True}], [{"flag": False}], False, False),
        ([{"flag": True}], [], True, False),
        ([{"flag": True}], [{"error": {"bases": ["NotImplementedError"]}}], True, True),
        ([{"flag": True}], [{"error": {"bases": ["ValueError"]}}], True, False),
        ({"error": {"bases": "$REFUSAL"}}, {"error": {"bases": ["ValueError"]}}, False, False),
    ],
)
def test_answers_are_compared(expected: Any, answer: Any, *, may_refuse: bool, outcome: bool) -> None:
    assert fits(expected, answer, may_refuse=may_refuse) is outcome


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> AnyAdapter:
    """The adapter of the engine of stacks, whose runner is started by this interpreter."""
    return read_adapter(written(tmp_path_factory.mktemp("stacks"), "python3", sys.executable))


def written(folder: Path, *replaced: str) -> Path:
    """Write the engine file of stacks and its runner to a folder, with texts replaced, and return its path."""
    text = (HERE / "stacks.toml").read_text(encoding="utf-8")
    for old, new in zip(replaced[::2], replaced[1::2], strict=True):
        text = text.replace(old, new)
    shutil.copy(RUNNER, folder)
    (folder / "stacks.toml").write_text(text, encoding="utf-8")
    return folder / "stacks.toml"


@pytest.fixture(scope="module")
def engine(stacks: AnyAdapter) -> Iterator[Engine]:
    runner = ProcessRunner(stacks)
    yield Engine(stacks, runner)
    runner.stop()


def test_an_engine_of_a_runner_from_outside_is_graded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EFFORTS["smoke"], "small_graphs", 2)
    bench = Bench(engine, settings=Settings("smoke"))
    chosen = [c for c in all_checks() if c.id.split("/")[0] in {"operators", "accumulation", "sharing", "graphs"}]
    verdicts = {check.id: bench.grade(check).verdict for check in chosen}
    assert {name for name, verdict in verdicts.items() if verdict == "wrong"} == {"operators/cos"}
    assert {verdicts[f"operators/{name}"] for name in ("add", "multiply", "sin")} == {"passed"}
    assert verdicts["graphs/small"] == "passed"
    assert not {"crashed", "hung", "unexpected-error"} & set(verdicts.values())


SCENARIO = "x = leaf float64[] {0x1p-1} requires_grad\ny = sin x\nbackward y seed float64[] {0x1p+1}\nread grad x\n"


def test_its_program_lists_the_templates(engine: Engine) -> None:
    assert reproduce(parse(SCENARIO), engine).splitlines()[-4:] == [
        "x = 0.5 True leaf",
        "y = x sin",
        "y 2.0 backward",
        "show x gradient  # gradient of x",
    ]


def test_it_is_started_in_a_process_of_its_own(stacks: AnyAdapter) -> None:
    assert isinstance(start(stacks).runner, ProcessRunner)
    with pytest.raises(EngineStartError, match="leave out --in-process"):
        launch(stacks, Isolation(in_process=True))


def test_it_stays_what_it_is_as_data(stacks: AnyAdapter) -> None:
    again = adapter_of(json.loads(json.dumps(adapter_data(stacks))))
    assert (again.runner, again.language) == (stacks.runner, "none")


def test_a_path_is_seen_from_the_engine_file(stacks: AnyAdapter, tmp_path: Path) -> None:
    assert stacks.runner is not None
    assert Path(stacks.runner.command[1]).is_file()
    family = tmp_path / "family.toml"
    family.write_text('name = "family"\nkind = "family"\n[runner]\ncommand = ["../run", "-x", "run"]\n')
    folder = tmp_path / "below"
    folder.mkdir()
    path = written(
        folder,
        '[runner]\ncommand = ["python3", "./stack_runner.py"]\n',
        "",
        "setup",
        'extends = ["../family.toml"]\nsetup',
    )
    runner = read_adapter(path).runner
    assert runner is not None
    assert runner.command == (str(tmp_path / ".." / "run"), "-x", "run")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ('["./no_such_runner"]', "no_such_runner' cannot be run: No such file or directory"),
        ('["{python}", "-c", "input(); print(1)"]', "answered another request than it was sent: b'1'"),
        ('["{python}", "-c", "input(); print(\'hi\')"]', "wrote to the pipe of answers what is no answer: b'hi'"),
        ('["{python}", "-c", ""]', "the process ended with exit status 0"),
        ('["{python}", "-c", "input(); print({one})"]', "the runner answered {'id': 1} to hello"),
        ('["{python}", "-c", "input(); print({bad})"]', "the answer {'id': 1, 'error': 'no'} is malformed: "),
        ('["{python}", "-c", "input(); print({old})"]', "the runner answered {'id': 1, 'hello': {'protocol': 0}} to"),
    ],
)
def test_the_error_of_a_runner_that_fails_names_the_protocol(command: str, message: str, tmp_path: Path) -> None:
    answers = {"one": {"id": 1}, "bad": {"id": 1, "error": "no"}, "old": {"id": 1, "hello": {"protocol": 0}}}
    texts = {name: repr(json.dumps(answer)).replace('"', '\\"') for name, answer in answers.items()}
    changed = command.format(python=sys.executable, **texts)
    adapter = read_adapter(written(tmp_path, '["python3", "./stack_runner.py"]', changed))
    with pytest.raises(EngineStartError) as caught:
        ProcessRunner(adapter, limits=Limits(start=20.0))
    error = str(caught.value)
    assert error.startswith("engine 'stacks' cannot be started: ")
    assert message in error
    assert error.endswith("is its runner.command, which must answer as docs/reference/runner-protocol.md describes")


def test_the_error_of_a_runner_that_never_answers_names_the_protocol(tmp_path: Path) -> None:
    waiting = json.dumps([sys.executable, "-c", "import time; time.sleep(60)"])
    adapter = read_adapter(written(tmp_path, '["python3", "./stack_runner.py"]', waiting))
    with pytest.raises(EngineStartError, match=r"gave no answer within 1 s.* must answer as docs"):
        ProcessRunner(adapter, limits=Limits(start=1.0))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[runner]", '[runner]\nprinter = "lua"', r"runner\.printer: 'lua' is not among \['python', .*, 'none'\]"),
        ("[runner]", "[runner]\ncomand = []", r"runner\.comand: there is no such key, did you mean 'command'"),
        ('["python3", "./stack_runner.py"]', "[]", r"runner\.command: \[\] has less than 1 item"),
        ("setup =", 'language = "java"\nsetup =', "language: 'java', but programs are printed as runner.printer says"),
        ("setup =", 'hook = "{x} {function} hook"\nsetup =', "hook: leave it out; programs in none cannot record"),
    ],
)
def test_a_mistake_in_the_engine_file_is_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, old, new)
    with pytest.raises(AdapterError, match=message) as caught:
        read_adapter(path)
    assert str(caught.value).startswith(str(path))


def test_programs_of_a_runner_from_outside_may_be_printed_in_a_known_language(tmp_path: Path) -> None:
    changes = ("[runner]", '[runner]\nprinter = "javascript"', "{x} sin", "sin({x})")
    adapter = read_adapter(written(tmp_path, *changes))
    assert adapter.syntax is LANGUAGES["javascript"]
    assert adapter.command(sys.executable)[0] == "python3"
