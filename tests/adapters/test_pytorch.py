"""Does PyTorch's inventory hold its differentiable operators, and see which of them are reached?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from refgrad.native.adapter import Inventory, find_adapter, inventories_of

torch: Any = pytest.importorskip("torch", reason="needs refgrad[torch]")

pytestmark = pytest.mark.engines


@dataclass(frozen=True, slots=True)
class Look:
    """What was found, which takes ten seconds, and the state of PyTorch's generator before and after."""

    found: tuple[Inventory, ...]
    before: Any
    after: Any


@pytest.fixture(scope="module")
def look() -> Look:
    before = torch.random.get_rng_state()
    found = inventories_of(find_adapter("torch"))
    return Look(found, before, torch.random.get_rng_state())


@pytest.fixture(scope="module")
def inventories(look: Look) -> tuple[Inventory, ...]:
    return look.found


@pytest.fixture(scope="module")
def formulas(inventories: tuple[Inventory, ...]) -> Inventory:
    return inventories[0]


@pytest.fixture(scope="module")
def functions(inventories: tuple[Inventory, ...]) -> Inventory:
    return inventories[1]


def matrix() -> Any:
    return torch.eye(3, dtype=torch.float64, requires_grad=True)


def test_an_entry_counts_or_is_set_apart_or_undecided(inventories: tuple[Inventory, ...]) -> None:
    for inventory in inventories:
        parts = [inventory.entries, *inventory.apart.values(), *inventory.undecided.values()]
        assert set(Counter(name for part in parts for name in part).values()) == {1}
        assert all(group <= inventory.entries.union(*parts) for group in inventory.synonyms)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("_softmax", "private (a leading underscore)"),
        ("tanh_backward", "rules of derivatives (backward)"),
        ("squeeze_", "in place (a trailing underscore)"),
        ("eq", "declared not differentiable or not implemented"),
        ("special_airy_ai", "declared not differentiable or not implemented"),
        ("geqrf", "declared not differentiable or not implemented"),
        ("poisson", "random"),
        ("view_as_complex", "complex numbers"),
        ("cudnn_convolution", "other devices, libraries or kinds of arrays"),
        ("matmul", "other devices, libraries or kinds of arrays"),
    ],
)
def test_what_does_not_count_is_set_apart_by_its_rule(formulas: Inventory, name: str, reason: str) -> None:
    assert name in formulas.apart[reason]


@pytest.mark.parametrize("name", ["abs", "floor", "sum", "squeeze", "nll_loss_forward", "linalg_qr", "alias"])
def test_what_has_a_derivative_counts(formulas: Inventory, name: str) -> None:
    assert name in formulas.entries


def test_the_nodes_of_a_graph_are_read_as_entries(formulas: Inventory) -> None:
    def function(x: Any) -> Any:
        return torch.nn.functional.nll_loss(torch.exp(x) @ x, torch.tensor([0, 1, 2])) + x.mul_(2.0).sum(0)

    reached = formulas.entries.intersection(formulas.reached(function, [matrix() * 1]))
    assert reached == {"nll_loss_forward", "exp", "mm", "mul", "sum", "add"}


def test_an_operator_beside_the_graph_is_not_reached(formulas: Inventory, functions: Inventory) -> None:
    def function(x: Any) -> Any:
        return torch.exp(x.detach()) * x

    assert formulas.entries.intersection(formulas.reached(function, [matrix()])) == {"mul"}
    assert functions.entries.intersection(functions.reached(function, [matrix()])) == {"torch.mul"}


def test_no_two_entries_that_count_share_a_node(formulas: Inventory) -> None:
    from refgrad.adapters.pytorch import node_of  # noqa: PLC0415 (needs PyTorch)

    assert len({node_of(name) for name in formulas.entries}) == len(formulas.entries)


def test_a_function_counts_if_a_simple_call_of_it_is_recorded(functions: Inventory) -> None:
    counted = {"torch.exp", "torch.linalg.qr", "torch.nn.functional.conv2d", "torch.special.ndtri", "torch.cat"}
    assert counted <= functions.entries
    assert not functions.entries & {"torch.argmax", "torch.eq", "torch.geqrf", "torch.ones_like", "torch.real"}


def test_functions_that_give_the_same_numbers_are_one_under_several_names(functions: Inventory) -> None:
    assert {"torch.abs", "torch.absolute"} in functions.synonyms
    assert {"torch.sigmoid", "torch.special.expit"} in functions.synonyms
    grouped = frozenset[str]().union(*functions.synonyms)
    assert not grouped & {"torch.nn.functional.relu6", "torch.hstack", "torch.stack", "torch.exp"}


@pytest.mark.parametrize("name", ["torch.bernoulli", "torch.nn.functional.dropout"])
def test_random_functions_do_not_count(functions: Inventory, name: str) -> None:
    assert name not in functions.entries
    assert any(name in names for reason, names in functions.apart.items() if reason.startswith("random"))


def test_looking_leaves_the_generator_of_random_numbers_as_it_was(look: Look) -> None:
    assert torch.equal(look.before, look.after)


def test_a_method_is_the_function_of_its_name(functions: Inventory) -> None:
    assert set(functions.reached(lambda x: x.exp().sum(), [matrix()])) == {"torch.exp", "torch.sum"}
