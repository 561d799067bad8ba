"""A project's pyproject.toml holds the defaults of grading, and a mistake there is one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from refgrad.grading.settings import DefaultsError, read_defaults


def project(folder: Path, table: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(f"[tool.refgrad]\n{table}\n")
    return path


def test_defaults_have_the_names_of_options_and_paths_relative_to_the_file(tmp_path: Path) -> None:
    project(tmp_path, 'profile = "smoke"\ntime-limit = 3\nexpect = "ci/known.toml"\nselect = ["edges/*"]')
    expected = {
        "profile": "smoke",
        "time_limit": 3,
        "expect": tmp_path / "ci" / "known.toml",
        "select": ("edges/*",),
    }
    assert read_defaults(tmp_path) == expected
    (tmp_path / "deep" / "down").mkdir(parents=True)
    assert read_defaults(tmp_path / "deep" / "down") == expected


def test_a_path_in_the_folder_that_a_command_runs_in_stays_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, 'output = "out"')
    monkeypatch.chdir(tmp_path)
    assert read_defaults(tmp_path) == {"output": Path("out")}


def test_a_project_without_the_table_has_no_defaults(tmp_path: Path) -> None:
    assert read_defaults(tmp_path) == {}
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert read_defaults(tmp_path) == {}


def test_tools_that_are_no_table_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool = 3\n")
    with pytest.raises(DefaultsError, match=r'tool: 3 is not of type "object"$'):
        read_defaults(tmp_path)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (
            "profiel = 'smoke'",
            r"\.profiel: there is no such key, did you mean 'profile'\? there are profile, seed, ",
        ),
        ("engine = 'torch'", r"tool\.refgrad\.engine: there is no such key; there are profile, seed, "),
        ("seed = '3'", r"""tool\.refgrad\.seed: "3" is not of type "integer"$"""),
        ("seed = true", r"""tool\.refgrad\.seed: true is not of type "integer"$"""),
        ("select = 'edges/*'", r"""tool\.refgrad\.select: "edges/\*" is not of type "array"$"""),
        ("select = [3]", r"""tool\.refgrad\.select\[0\]: 3 is not of type "string"$"""),
        ("seed = ", "cannot be read"),
    ],
)
def test_a_mistake_is_reported_in_one_line(tmp_path: Path, table: str, problem: str) -> None:
    path = project(tmp_path, table)
    with pytest.raises(DefaultsError, match=problem) as caught:
        read_defaults(tmp_path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
