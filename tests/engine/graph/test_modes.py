"""Is recording switched as asked, and restored whatever happens?"""

import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

import refgrad.engine as torch


def test_nothing_is_recorded_inside_no_grad() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = x * 3
        assert not torch.is_grad_enabled()
    assert (y.requires_grad, z.requires_grad, torch.is_grad_enabled()) == (False, True, True)


def test_the_mode_is_restored_after_an_exception() -> None:
    with pytest.raises(ValueError, match="on purpose"), torch.no_grad():
        raise ValueError("on purpose")
    assert torch.is_grad_enabled()


def test_a_failing_backward_restores_the_mode() -> None:
    with pytest.raises(RuntimeError), torch.no_grad():
        torch.tensor(1.0).backward(create_graph=True)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("decorate", [torch.no_grad, torch.no_grad()])
def test_a_function_can_be_decorated(decorate: Any) -> None:
    x = torch.tensor(2.0, requires_grad=True)

    @decorate  # type: ignore[untyped-decorator]
    def doubled(depth: int) -> torch.Tensor:
        """Recursive, so that the mode is entered twice."""
        return x * 2 if depth == 0 else doubled(depth - 1)

    assert not doubled(3).requires_grad
    assert doubled.__doc__ is not None
    assert torch.is_grad_enabled()


def test_the_mode_can_be_set_for_good_and_for_a_while() -> None:
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_a_mode_that_was_set_is_set_again_where_it_is_entered() -> None:
    switched = torch.set_grad_enabled(False)
    torch.set_grad_enabled(True)
    with switched:
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_another_thread_has_a_mode_of_its_own() -> None:
    seen: list[bool] = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def generating(x: Any, modes: list[bool]) -> Generator[Any, Any, str]:
    """Yield results, and note the mode whenever it runs."""
    sent = x
    try:
        while sent is not None:
            modes.append(torch.is_grad_enabled())
            try:
                sent = yield sent * 2
            except ValueError:
                sent = x * 3
    finally:
        modes.append(torch.is_grad_enabled())
    return "done"


def test_a_decorated_generator_records_nothing_whenever_it_runs_and_its_caller_records() -> None:
    x, modes = torch.tensor(1.0, requires_grad=True), list[bool]()
    generator = torch.no_grad()(generating)(x, modes)
    resumes: list[Callable[[], Any]] = [
        lambda: next(generator),
        lambda: generator.send(x),
        lambda: generator.throw(ValueError("once")),
    ]
    for resume in resumes:
        assert not resume().requires_grad
        assert torch.is_grad_enabled()
    with pytest.raises(StopIteration) as stopped:
        generator.send(None)
    assert (stopped.value.value, modes, torch.is_grad_enabled()) == ("done", [False] * 4, True)


def test_a_decorated_generator_that_is_closed_or_raises_leaves_the_mode_as_it_is() -> None:
    x, modes = torch.tensor(1.0, requires_grad=True), list[bool]()
    generator = torch.no_grad()(generating)(x, modes)
    next(generator)
    generator.close()
    with pytest.raises(TypeError):
        next(torch.no_grad()(generating)(object(), modes))
    assert (modes, torch.is_grad_enabled()) == ([False] * 4, True)
