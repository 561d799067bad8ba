"""Is an engine found by name or by module:object, and is a mistake in either said clearly?"""

from __future__ import annotations

from pathlib import Path

import pytest

from refgrad.harness import AdapterError, find_adapter, registered_engines


def test_the_reference_engine_and_the_supported_engines_are_registered() -> None:
    assert {"refgrad", "torch", "jax", "autograd", "mygrad", "micrograd"} <= set(registered_engines())
    assert find_adapter("refgrad").name == "refgrad"


def test_an_adapter_of_ones_own_is_found_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_adapter.py").write_text(
        "from refgrad.harness import FunctionalAdapter\n"
        "ADAPTER = FunctionalAdapter(name='mine', setup='', leaf='{array}', vjp='vjp({function}, {primals})')\n"
        "OTHER = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    assert find_adapter("my_own_adapter:ADAPTER").name == "mine"
    with pytest.raises(AdapterError, match="'my_own_adapter:OTHER' is int, not a"):
        find_adapter("my_own_adapter:OTHER")
    with pytest.raises(AdapterError, match="module 'my_own_adapter' has no 'MISSING'"):
        find_adapter("my_own_adapter:MISSING")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torhc", "there is no engine 'torhc'; there are: autograd, jax, micrograd, mygrad, paddle, refgrad, torch"),
        (
            "no_such_module:ADAPTER",
            "'no_such_module:ADAPTER': the module cannot be imported: No module named 'no_such_module'",
        ),
    ],
)
def test_an_engine_that_is_not_there_is_named(name: str, message: str) -> None:
    with pytest.raises(AdapterError) as caught:
        find_adapter(name)
    assert message in str(caught.value)
