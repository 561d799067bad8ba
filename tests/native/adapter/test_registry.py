"""An engine is found by name, by module:object or by the path of a file, and a mistake in these is said clearly."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints, version
from pathlib import Path
from typing import Any

import pytest

from refgrad.errors import EngineStartError
from refgrad.native import engine_names
from refgrad.native.adapter import AdapterError, TapeAdapter, engine_version, find_adapter
from refgrad.native.engine import start
from refgrad.native.engine_names import GROUP, engines_directory, registered_engines, shipped_engines

pytestmark = pytest.mark.turns(2)

OWN = """
name = "mine"
kind = "functional"
setup = ""
leaf = "{array}"
vjp = "vjp({function}, {primals})"
"""

EVERYTHING_THAT_AN_IMPORT_MAY_RAISE = [
    ("raise SystemExit(0)", "SystemExit: 0"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt: "),
    ("class Odd(BaseException): pass\nraise Odd('no')", "Odd: no"),
    ("raise RuntimeError('no')", "RuntimeError: no"),
    ("import no_such_library", "No module named 'no_such_library'"),
    ("def", "SyntaxError: invalid syntax"),
    ("def __getattr__(name):\n    raise SystemExit(3)", "SystemExit: 3"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points of the group, beside the shipped engines."""
    points: list[EntryPoint] = []

    def entry_points(**wanted: Any) -> EntryPoints:
        return EntryPoints(points).select(**wanted)

    monkeypatch.setattr(engine_names, "entry_points", entry_points)
    return points


def test_the_reference_engine_and_the_supported_engines_are_registered() -> None:
    assert set(shipped_engines()) >= {"refgrad", "torch", "jax", "autograd", "mygrad", "micrograd", "paddle"}
    assert set(shipped_engines()) == {path.stem for path in engines_directory().glob("*.toml")}
    assert set(shipped_engines()) <= set(registered_engines())
    assert find_adapter("refgrad").name == "refgrad"


def test_an_engine_is_one_object_so_that_it_is_started_once() -> None:
    assert find_adapter("refgrad") is find_adapter("refgrad")
    assert start(find_adapter("refgrad")) is start(find_adapter("refgrad"))


def test_an_adapter_of_ones_own_is_found_in_the_current_folder(here: Path) -> None:
    (here / "my_own_adapter.py").write_text(
        "from refgrad import FunctionalAdapter\n"
        "ADAPTER = FunctionalAdapter(name='mine', setup='', leaf='{array}', vjp='vjp({function}, {primals})')\n"
        "OTHER = 3\n"
    )
    assert find_adapter("my_own_adapter:ADAPTER").name == "mine"
    with pytest.raises(AdapterError, match="'my_own_adapter:OTHER' is int, not a"):
        find_adapter("my_own_adapter:OTHER")
    with pytest.raises(AdapterError, match=r"module 'my_own_adapter' has no 'ADAPTRE', did you mean 'ADAPTER'\?"):
        find_adapter("my_own_adapter:ADAPTRE")


def test_a_file_is_found_by_its_path(here: Path) -> None:
    (here / "mine.toml").write_text(OWN)
    assert find_adapter("./mine.toml").name == "mine"
    assert find_adapter(str(here / "mine.toml")) is find_adapter("mine.toml")


@pytest.mark.parametrize(("source", "said"), EVERYTHING_THAT_AN_IMPORT_MAY_RAISE)
def test_whatever_an_import_raises_is_one_error(here: Path, source: str, said: str, request: Any) -> None:
    module = f"odd_adapter_{request.node.callspec.indices['source']}"
    (here / f"{module}.py").write_text(source)
    with pytest.raises((AdapterError, EngineStartError)) as caught:
        find_adapter(f"{module}:ADAPTER")
    name = f"{module}:ADAPTER"
    ends = any(word in source for word in ("SystemExit", "KeyboardInterrupt", "BaseException"))
    kind = EngineStartError if ends else AdapterError
    told = (
        f"engine {name!r} cannot be started: its adapter raised "
        if ends
        else f"{name!r}: the module cannot be imported: "
    )
    assert type(caught.value) is kind
    assert str(caught.value).startswith(told + said)
    assert "\n" not in str(caught.value)


def test_an_entry_point_is_an_engine(here: Path, offered: list[EntryPoint]) -> None:
    (here / "offering.py").write_text(
        "import refgrad\nfrom pathlib import Path\nADAPTER = refgrad.read_adapter(Path(__file__).parent / 'own.toml')\n"
    )
    (here / "own.toml").write_text(OWN)
    offered.append(EntryPoint("mine", "offering:ADAPTER", GROUP))
    assert "mine" in registered_engines()
    assert find_adapter("mine").name == "mine"
    assert find_adapter("mine") is find_adapter("mine")


def test_an_entry_point_that_ends_the_process_is_one_error(here: Path, offered: list[EntryPoint]) -> None:
    (here / "ending.py").write_text("raise SystemExit(0)")
    offered.append(EntryPoint("mine", "ending:ADAPTER", GROUP))
    with pytest.raises(EngineStartError, match=r"^engine 'mine' cannot be started: its adapter raised SystemExit: 0$"):
        find_adapter("mine")


def test_an_entry_point_does_not_take_the_name_of_a_shipped_engine(offered: list[EntryPoint]) -> None:
    offered.append(EntryPoint("refgrad", "no_such_module:ADAPTER", GROUP))
    assert isinstance(find_adapter("refgrad"), TapeAdapter)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "torhc",
            ("there is no engine 'torhc', did you mean 'torch'? there are: adolc, algopy, autograd, "),
        ),
        ("nobody", "there is no engine 'nobody'; there are: adolc, algopy, autograd, "),
        (
            "no_such_module:ADAPTER",
            "'no_such_module:ADAPTER': the module cannot be imported: No module named 'no_such_module'",
        ),
        ("module:", "'module:' is not of the form module:object"),
        ("./no_such_file.toml", "no_such_file.toml: there is no such file"),
    ],
)
def test_an_engine_that_is_not_there_is_named(name: str, message: str, offered: list[EntryPoint]) -> None:
    assert not offered
    with pytest.raises(AdapterError) as caught:
        find_adapter(name)
    assert message in str(caught.value)


def test_the_version_of_an_engine_is_that_of_its_package() -> None:
    adapter = find_adapter("refgrad")
    assert engine_version(replace(adapter, distribution="numpy")) == version("numpy")
    assert engine_version(replace(adapter, distribution=None)) == "unknown"
