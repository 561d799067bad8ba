"""Does a replay give the engine's own numbers, bit for bit, and refuse what would not hold for other values?"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refgrad.engine as torch
from refgrad.engine import Tensor, record
from refgrad.generation import Profile, operator_scenario, random_scenario
from refgrad.interpreter import keywords
from refgrad.operators import operator_table
from refgrad.scenario import Scenario
from refgrad.strategies import scenarios
from tests.effort import each

pytestmark = pytest.mark.turns(2)

Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _numbers_may_overflow() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def function_of(scenario: Scenario) -> Function:
    """The last value of a scenario, of its leaves."""

    def run(*leaves: Tensor) -> Tensor:
        values = dict(zip((leaf.name for leaf in scenario.leaves), leaves, strict=True))
        for step in scenario.applications:
            arguments = [values[name] for name in step.arguments]
            variadic = any(argument.variadic for argument in operator_table()[step.operator].arguments)
            operands: Sequence[Any] = [arguments] if variadic else arguments
            values[step.name] = getattr(torch, step.operator)(*operands, **keywords(step))
        return list(values.values())[-1]

    return run


def leaves_of(scenario: Scenario) -> list[Tensor]:
    arrays = [leaf.value.to_numpy() for leaf in scenario.leaves]
    return [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]


def eager(function: Function, inputs: Sequence[Tensor], seed: Tensor) -> tuple[Tensor, list[Tensor | None]]:
    output = function(*inputs)
    wanted = [x for x in inputs if x.requires_grad]
    found = iter(torch.grad(output, wanted, seed, allow_unused=True))
    return output.detach(), [next(found) if x.requires_grad else None for x in inputs]


def bits(tensor: Tensor | None) -> Any:
    """Shape, dtype and bits; the sign of a NaN is left out, since IEEE 754 leaves it open in arithmetic."""
    if tensor is None:
        return None
    array = np.asarray(tensor.detach().numpy())
    return (
        tensor.shape,
        tensor.dtype,
        (np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array).tobytes(),
    )


def assert_same_as_eager(function: Function, points: Sequence[Sequence[Tensor]]) -> None:
    """Hold a recording at the first of ``points`` against the engine at all of them, and at the first again."""
    replay = record(function)
    for inputs in (*points, points[0]):
        output = function(*inputs)
        assert bits(replay(*inputs)) == bits(output)
        if not output.requires_grad:
            continue
        seed = torch.tensor(np.cos(np.arange(output.numel(), dtype=float)).reshape(output.shape)).to(output.dtype)
        value, gradients = eager(function, inputs, seed)
        replayed, found = replay.value_and_gradients(*inputs, seed=seed)
        assert bits(replayed) == bits(value)
        assert list(map(bits, found)) == list(map(bits, gradients))


def moved(inputs: Sequence[Tensor], factor: float) -> list[Tensor]:
    """The same inputs, a little smaller: inside of every domain that the others are in, or not a number."""
    return [
        torch.tensor((x.detach().numpy() * factor).astype(x.dtype), requires_grad=True) if x.requires_grad else x
        for x in inputs
    ]


def assert_scenario_replays(scenario: Scenario) -> None:
    inputs = leaves_of(scenario)
    assert_same_as_eager(function_of(scenario), [inputs, moved(inputs, 0.9)])


@given(scenarios())
def test_a_random_scenario_replays_bit_for_bit(scenario: Scenario) -> None:
    assert_scenario_replays(scenario)


@given(st.integers(0, 2**32))
def test_a_long_random_scenario_replays_bit_for_bit(seed: int) -> None:
    assert_scenario_replays(random_scenario(seed, Profile(length=(10, 30))))


@each("name", operator_table())
def test_every_operator_replays_bit_for_bit(name: str) -> None:
    for seed in range(3):
        assert_scenario_replays(operator_scenario(seed, name))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_other_floats_replay_bit_for_bit(dtype: Any) -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        return (torch.tanh(x @ y) * 3.0 + x.sum(dim=1, keepdim=True)).to(torch.float64) * 0.1

    random = np.random.default_rng(0)
    inputs = [torch.tensor(random.standard_normal((3, 3)), dtype=dtype, requires_grad=True) for _ in range(2)]
    assert_same_as_eager(function, [inputs, moved(inputs, 0.5)])


def test_a_cotangent_that_two_operands_have_is_not_summed_into() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        return torch.square(x) * (x + y)

    inputs = [torch.tensor([1.5, 0.3], requires_grad=True), torch.tensor([0.7, 2.0], requires_grad=True)]
    assert_same_as_eager(function, [inputs, moved(inputs, 0.5)])


def test_floats_of_several_widths_replay_bit_for_bit() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        return (torch.xlogy(x, y) @ y + torch.logaddexp(y, x)).sum()

    wide = torch.tensor([[1.5, 0.3]], requires_grad=True)
    narrow = torch.tensor([[0.7, 1.9], [2.3, 0.1]], dtype=torch.float32, requires_grad=True)
    inputs = [wide, narrow]
    assert_same_as_eager(function, [inputs, moved(inputs, 0.5)])


def test_choosing_by_where_follows_the_new_values() -> None:
    def function(x: Tensor) -> Any:
        return torch.where((x > 0) & ~torch.isnan(x), x**2, -x)

    first, second = (torch.tensor(v, requires_grad=True) for v in ([1.0, -2.0], [-3.0, 4.0]))
    assert_same_as_eager(function, [[first], [second]])
    assert record(function)(first).tolist() == [1.0, 2.0]


def test_no_gradient_flows_through_what_is_detached_or_computed_under_no_grad() -> None:
    def function(x: Tensor) -> Any:
        with torch.no_grad():
            scale = x * 2
        return (x * scale * x.detach()).sum()

    points = [[torch.tensor([1.0, 2.0], requires_grad=True)], [torch.tensor([3.0, -2.0], requires_grad=True)]]
    assert_same_as_eager(function, points)


def test_a_long_chain_of_arrays_shares_few_buffers_and_stays_right() -> None:
    def function(x: Tensor, w: Tensor) -> Any:
        y = x
        for _ in range(700):
            y = torch.sin(y * w) + x
        return y.mean()

    x, w = torch.linspace(-1, 1, 5), torch.linspace(1, 2, 5)
    inputs = [x.requires_grad_(), w.requires_grad_()]
    assert_same_as_eager(function, [inputs, moved(inputs, 0.7)])


def test_several_outputs_take_a_seed_each() -> None:
    replay = record(lambda x, y: (x * y, x.sum()))
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    product, total = replay(x, y)
    assert (product.tolist(), total.item()) == ([3.0, 10.0], 3.0)
    for_x, for_y = replay.gradients(x, y, seed=(torch.tensor([1.0, 10.0]), torch.tensor(100.0)))
    assert for_x is not None
    assert for_y is not None
    assert (for_x.tolist(), for_y.tolist()) == ([103.0, 150.0], [1.0, 20.0])


def test_inputs_without_influence_and_whole_numbers_have_no_gradient() -> None:
    replay = record(lambda x, _unused, n: (x * n).sum())
    gradients = replay.gradients(2.0, 3.0, 4)
    assert [None if g is None else g.item() for g in gradients] == [4.0, None, None]


def test_results_share_memory_with_nothing() -> None:
    replay = record(lambda x, y: (x, x + y, x + y * 2))
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    seeds = (torch.ones(2), torch.ones(2), torch.ones(2))
    outputs, gradients = replay.value_and_gradients(x, y, seed=seeds)
    tensors = [x, y, *seeds, *outputs, *gradients]
    for i, one in enumerate(tensors):
        assert not any(np.shares_memory(one.numpy(), other.numpy()) for other in tensors[:i])
    before = [tensor.tolist() for tensor in tensors]
    replay.gradients(x * 5, y * 5, seed=seeds)
    assert [tensor.tolist() for tensor in tensors] == before
    for tensor in (*outputs, *gradients):
        tensor.numpy()[...] = np.nan
    assert [z.tolist() for z in replay(x, y)] == [[1.0, 2.0], [4.0, 6.0], [7.0, 10.0]]


def test_constants_stay_as_they_were_recorded() -> None:
    constant = torch.tensor([2.0])
    replay = record(lambda x: x * constant)
    replay(torch.ones(1))
    constant.numpy()[...] = 9.0
    assert replay(torch.ones(1)).tolist() == [2.0]


def test_the_function_itself_runs_once() -> None:
    calls = []

    def function(x: Tensor) -> Tensor:
        calls.append(x)
        return x * 2

    replay = record(function)
    assert [replay(torch.tensor(k)).item() for k in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert len(calls) == 1


def _branches(x: Tensor) -> Tensor:
    return x if x > 0 else -x


def _indexes(x: Tensor) -> Tensor:
    return x[x.argmax()]


def _overwrites(x: Tensor) -> Tensor:
    y = x * 1
    y += 1
    return y


def _overwrites_unrecorded(x: Tensor) -> Tensor:
    with torch.no_grad():
        x *= 2
    return x


def _asks_for_gradients(x: Tensor) -> Tensor:
    (x * x).sum().backward()
    return x


def _writes_an_item(x: Tensor) -> Tensor:
    x[0] = 1.0
    return x


def _watches(x: Tensor) -> Tensor:
    x.register_hook(lambda g: g)
    return x


REFUSED: Sequence[tuple[Function, str]] = [
    (_branches, "reads or overwrites the values"),
    (_indexes, "reads or overwrites the values"),
    (lambda x: x * x.sum().item(), "reads or overwrites the values"),
    (lambda x: x * float(x.sum()), "reads or overwrites the values"),
    (lambda x: x + np.sum(x.detach().numpy()), "asks for the history"),
    (lambda x: torch.tensor([x.sum(), x.sum()]), "reads or overwrites the values"),
    (lambda x: x if torch.allclose(x, x) else -x, "reads or overwrites the values"),
    (_overwrites, "overwrites"),
    (_overwrites_unrecorded, "overwrites"),
    (_writes_an_item, "overwrites"),
    (_asks_for_gradients, "asks for the history or the gradient"),
    (_watches, "asks for the history or the gradient"),
    (lambda x: x * torch.rand(1), "draws random numbers"),
    (lambda x: x * torch.tensor(2.0, requires_grad=True), "is not among its inputs"),
    (record(lambda y: y * 2), "reads or overwrites the values"),
]


@each(("function", "message"), REFUSED)
def test_what_would_not_hold_for_other_values_is_refused(function: Function, message: str) -> None:
    point = torch.tensor([1.5]) if function is not _indexes else torch.tensor([1.5, 2.0])
    with pytest.raises(RuntimeError, match=message):
        record(function)(point)
    assert torch.rand(2).shape == (2,)
    assert torch.is_grad_enabled()


def test_a_traced_tensor_shows_its_form_and_is_worth_nothing_later() -> None:
    kept = []

    def function(x: Tensor) -> Tensor:
        kept.append(x)
        return x * 2

    record(function)(torch.zeros(2, 3))
    assert repr(kept[0]) == "tensor(<recorded float64[2, 3]>)"
    assert (kept[0].ndim, kept[0].numel(), kept[0].requires_grad) == (2, 6, True)
    with pytest.raises(RuntimeError, match="outlived the recording"):
        kept[0] * 2


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((torch.zeros(3), torch.zeros(2)), r"input 0 is float64\[3\], and was float64\[2\]"),
        ((torch.zeros(2), torch.zeros(2, dtype=torch.float32)), r"input 1 is float32\[2\], and was float64\[2\]"),
        ((torch.zeros(2),), "recorded with 2 inputs and is given 1"),
    ],
)
def test_inputs_of_another_form_are_refused(inputs: Sequence[Tensor], message: str) -> None:
    replay = record(lambda x, y: x + y)
    replay(torch.zeros(2), torch.zeros(2))
    with pytest.raises(ValueError, match=message):
        replay(*inputs)


def test_seeds_are_asked_for_as_by_the_engine() -> None:
    replay = record(lambda x: x * 2)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        replay.gradients(torch.zeros(2))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        replay.gradients(torch.zeros(2), seed=torch.zeros(3))
    with pytest.raises(RuntimeError, match="does not require grad"):
        record(lambda x: x.detach() * 2).gradients(1.0)
    with pytest.raises(RuntimeError, match="give one, or None, for each"):
        record(lambda x: (x, x)).gradients(1.0, seed=(None,))


def test_a_function_has_to_return_tensors() -> None:
    with pytest.raises(TypeError, match="not dict"):
        record(lambda x: {"y": x})(1.0)
