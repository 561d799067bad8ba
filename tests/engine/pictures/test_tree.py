"""Does the tree of a graph show what is in it, whatever has happened to it?"""

import pytest
from syrupy.assertion import SnapshotAssertion

import refgrad.engine as torch
from refgrad.engine import print_graph
from refgrad.engine.pictures.tree import graph_text
from tests.engine.pictures.graphs import half_freed, overwritten, small
from tests.snapshots.placement import PlainText


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(PlainText)


def test_a_graph_is_shown_before_and_after_backward(snapshot: SnapshotAssertion) -> None:
    loss, _, _ = small()
    before = graph_text(loss)
    loss.backward()
    assert f"{before}\n\nafter backward:\n\n{graph_text(loss)}\n" == snapshot


def test_a_subgraph_that_another_loss_freed_is_named(snapshot: SnapshotAssertion) -> None:
    assert graph_text(half_freed()) + "\n" == snapshot


def test_an_overwritten_value_a_hook_and_a_kept_gradient_are_named(snapshot: SnapshotAssertion) -> None:
    assert graph_text(overwritten()) + "\n" == snapshot


def test_tensors_without_a_graph_are_shown_alone() -> None:
    assert graph_text(torch.zeros(2)).splitlines()[0] == "tensor  float64[2]  requires_grad=False"
    leaf = torch.zeros(2, requires_grad=True)
    assert graph_text(leaf).splitlines()[0] == "leaf 1  float64[2]  requires_grad=True; no grad yet"
    assert graph_text(leaf.detach() * 2).splitlines()[-1] == "0 nodes, 1 leaf, 0 saved arrays of 0 B"


def test_a_saved_array_that_two_nodes_share_is_counted_once() -> None:
    x = torch.zeros(1000, requires_grad=True)
    assert graph_text(torch.sin(x) + torch.cos(x)).endswith("3 nodes, 1 leaf, 1 saved array of 7.812 KiB")


def test_a_deep_graph_is_shown_without_recursion_and_within_its_limit() -> None:
    x = y = torch.tensor(1.0, requires_grad=True)
    for _ in range(20_000):
        y = torch.sin(y)
    lines = graph_text(y, limit=None).splitlines()
    assert len(lines) == 20_002
    assert (lines[0].split()[:2], lines[-2].split()[:2]) == (["SinBackward0", "#20000"], ["leaf", "1"])
    short = graph_text(y * x, limit=10).splitlines()
    assert len(short) == 12
    assert short[-2] == "… more than 10 lines: print_graph(tensor, limit=None) shows all"


def test_the_tree_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    loss, _, _ = small()
    print_graph(loss)
    assert capsys.readouterr().out == graph_text(loss) + "\n"


def test_showing_a_graph_changes_nothing() -> None:
    loss, x, _ = small()
    graph_text(loss)
    loss.backward()
    first = x.grad.clone()
    again, same, _ = small()
    again.backward()
    assert first.tolist() == same.grad.tolist()
