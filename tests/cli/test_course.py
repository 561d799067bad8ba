"""``refgrad course`` grades the engine of each student, with points, feedback, pages and JSON for Gradescope."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from syrupy.assertion import SnapshotAssertion

from refgrad.cli import course, main
from refgrad.cli.course import engine_files
from refgrad.cli.failure import Status
from refgrad.pytest_plugin.plan import PlanError
from tests.cli.conftest import Terminal
from tests.grading import scalar_tape

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "grade-a-course.md"

POINTS = """
required = ["add", "tanh"]
recursion = 5

[[points]]
name = "Operators"
select = "operators/*"
points = 40

[[points]]
select = "sharing/*diamond*"
points = 30
"""

ENGINES = {
    "right": scalar_tape.SOURCE,
    "wrong": scalar_tape.SOURCE.replace("(1 - out.data**2)", "(1 - out.data)"),
    "unclosed": "class Value:\n    def __init__(self\n",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder, and return it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """Return the output folder of a course of three engines, and how the command ended."""
    files = {f"engines/{name}.py": source for name, source in ENGINES.items()}
    folder = written(tmp_path_factory.mktemp("course"), {"points.toml": POINTS, **files})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(main, ["course", "engines", "--points", "points.toml", "--workers", "1"])
    return folder / "out", result


def test_an_engine_that_cannot_be_graded_does_not_stop_the_others(graded: tuple[Path, Result]) -> None:
    out, result = graded
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[:3] == [
        "right: 70 of 75 points",
        "unclosed: 0 of 75 points",
        "wrong: 56.67 of 75 points",
    ]
    assert "\nreport: out/right/report/right.json\n" in (out / "right" / "grade.txt").read_text(encoding="utf-8")


def test_the_page_shows_all_engines_side_by_side(graded: tuple[Path, Result], snapshot: SnapshotAssertion) -> None:
    assert (graded[0] / "course.md").read_text(encoding="utf-8") == snapshot


@pytest.mark.parametrize("student", ["wrong", "unclosed"])
def test_results_are_as_gradescope_reads_them(
    graded: tuple[Path, Result], student: str, snapshot: SnapshotAssertion
) -> None:
    assert (graded[0] / student / "results.json").read_text(encoding="utf-8") == snapshot


def test_the_links_of_the_page_lead_to_reports(graded: tuple[Path, Result]) -> None:
    links = re.findall(r"\]\((.*?)\)", (graded[0] / "course.md").read_text(encoding="utf-8"))
    assert links == ["right/report/README.md", "wrong/report/README.md"]
    assert all((graded[0] / link).is_file() for link in links)


def test_the_site_has_a_page_of_the_course_and_one_of_each_engine(graded: tuple[Path, Result]) -> None:
    page = (graded[0] / "site" / "course.html").read_text(encoding="utf-8")
    assert re.findall(r'<th scope="row">(?:<a href="(.*?)">)?(\w+)', page) == [
        ("engine-right.html", "right"),
        ("", "unclosed"),
        ("engine-wrong.html", "wrong"),
    ]
    assert '<a href="course.html" aria-current="page">course</a>' in page
    assert (graded[0] / "site" / "engine-wrong.html").is_file()


@pytest.mark.parametrize(
    ("files", "engines", "students"),
    [
        (["e/ann.py", "e/bob.py", "e/_own.py", "e/notes.txt"], ["e"], {"ann": "e/ann.py", "bob": "e/bob.py"}),
        (["e/ann/x.py", "e/bob/x.py"], ["e"], {"ann": "e/ann/x.py", "bob": "e/bob/x.py"}),
        (["e/ann/x.py", "e/bob/x.py"], ["e/ann/x.py", "e/bob/x.py"], {"ann": "e/ann/x.py", "bob": "e/bob/x.py"}),
        (["x.toml", "e/ann.py"], ["x.toml", "e"], {"x": "x.toml", "ann": "e/ann.py"}),
    ],
    ids=["files", "folders", "one name", "both"],
)
def test_a_student_is_named_after_the_file_or_after_its_folder(
    tmp_path: Path, files: list[str], engines: list[str], students: dict[str, str]
) -> None:
    written(tmp_path, dict.fromkeys(files, ""))
    found = engine_files([tmp_path / each for each in engines])
    assert {name: path.relative_to(tmp_path).as_posix() for name, path in found.items()} == students


@pytest.mark.parametrize("files", [[], ["ann/x.py", "ann/y.py", "bob/x.py"]], ids=["none", "two of one student"])
def test_students_without_exactly_one_file_are_refused(tmp_path: Path, files: list[str]) -> None:
    written(tmp_path, dict.fromkeys(files, ""))
    with pytest.raises(PlanError, match=re.escape("name the files, such as DIR/*/engine.py")):
        engine_files([tmp_path])


def test_an_engine_without_tensors_has_feedback_and_no_points(terminal: Terminal) -> None:
    written(terminal.folder, {"points.toml": POINTS, "ann.py": "x = 1\n"})
    result = terminal.invoke("course", "ann.py", "--points", "points.toml")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "ann: 0 of 75 points")
    assert "- nothing that was tried works for" in (terminal.folder / "out" / "course.md").read_text(encoding="utf-8")


def test_an_adapter_stands_for_an_engine_of_which_none_can_be_made(terminal: Terminal) -> None:
    written(terminal.folder, {"points.toml": '[[points]]\nselect = "operators/add"\npoints = 4\n'})
    micrograd_like = (
        'name = "bob"\nkind = "tape"\nsetup = "import mine"\nleaf = "mine.Value({scalar})"\nvalue = "{x}.data"\n'
        'backward = "{output}.backward()"\ngradient = "{leaf}.grad"\nscalars_only = true\n\n'
        '[operators]\nadd = "{x} + {y}"\n'
    )
    written(terminal.folder, {"mine.py": scalar_tape.SOURCE, "ann.toml": micrograd_like})
    result = terminal.invoke("course", "ann.toml", "--points", "points.toml", "--workers", "1")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "ann: 4 of 4 points")


def test_defaults_of_a_project_are_those_of_a_course(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[object] = []

    def graded_with(*_: object, seed: int, **__: object) -> Status:
        seeds.append(seed)
        return Status.BROKEN

    monkeypatch.setattr(course, "grade_engines", graded_with)
    written(terminal.folder, {"points.toml": POINTS, "ann.py": "", "pyproject.toml": "[tool.refgrad]\nseed = 7\n"})
    assert terminal.invoke("course", "ann.py", "--points", "points.toml").exit_code == 4
    assert seeds == [7]


def test_a_fault_of_refgrad_is_reported_and_does_not_stop_the_others(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(engines: list[str], **_: object) -> None:
        raise KeyError(Path(engines[0]).stem)

    monkeypatch.setattr(course, "grade_engines", broken)
    written(terminal.folder, {"points.toml": POINTS, "e/ann.py": "", "e/bob.py": ""})
    result = terminal.invoke("course", "e", "--points", "points.toml")
    assert result.exit_code == 4
    outputs = [
        json.loads((terminal.folder / "out" / name / "results.json").read_text(encoding="utf-8"))["output"]
        for name in ("ann", "bob")
    ]
    assert outputs == ["KeyError('ann')", "KeyError('bob')"]


def test_a_signal_ends_the_course(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "grade_engines", lambda *_, **__: Status.TERMINATED)
    written(terminal.folder, {"points.toml": POINTS, "e/ann.py": "", "e/bob.py": ""})
    assert terminal.invoke("course", "e", "--points", "points.toml").exit_code == 143
    assert not (terminal.folder / "out" / "bob").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("points = 40", "points = 0", "points[0].points: 0 is less than or equal to the minimum of 0"),
        ("recursion", "recursoin", "recursoin: there is no such key, did you mean 'recursion'?"),
        ("operators/*", "operator/*", "'operator/*' matches no check, or none that has no points yet"),
        ('"sharing/*diamond*"', '"operators/exp"', "'operators/exp' matches no check, or none that has no points yet"),
        ('"tanh"', '"tahn"', "required: no [[points]] selects 'operators/tahn', did you mean 'operators/tan'?"),
    ],
)
def test_a_file_of_points_that_cannot_be_used_is_one_line_and_status_2(
    terminal: Terminal, old: str, new: str, message: str
) -> None:
    assert old in POINTS
    written(terminal.folder, {"points.toml": POINTS.replace(old, new), "e/ann.py": ""})
    result = terminal.invoke("course", "e", "--points", "points.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: points.toml: {message}")
    assert result.stderr.count("\n") == 1


@pytest.mark.whole
@pytest.mark.turns(2)
def test_the_example_of_the_guide_gives_the_page_that_it_shows(terminal: Terminal) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    (points,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    ann, fault = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (right,) = (line for line in ann.splitlines() if line.startswith("        return Value(y, "))
    bob = ann.replace(f"{right}\n", fault)
    assert bob != ann
    written(terminal.folder, {"points.toml": points, "engines/ann.py": ann, "engines/bob.py": bob})
    (command,) = re.findall(r"```\nrefgrad (course engines .*)\n```", text)
    result = terminal.invoke(*command.split(), "--workers", "1")
    assert result.exit_code == 0
    (printed, page) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert result.stdout == printed
    assert page in (terminal.folder / "out" / "course.md").read_text(encoding="utf-8")
