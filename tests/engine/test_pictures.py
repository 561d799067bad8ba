"""Do the tree and the drawing of a graph show what is in it, whatever has happened to it?"""

from pathlib import Path
from shutil import which

import pytest
from syrupy.assertion import SnapshotAssertion

import refgrad.engine as torch
from refgrad.engine import draw, print_graph
from refgrad.engine.pictures import graph_text
from tests.engine.graphs import half_freed, overwritten, small
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


def test_graphviz_is_told_of_every_node_every_state_and_a_legend(snapshot: SnapshotAssertion) -> None:
    loss, _, _ = small()
    pictures = {"recorded": draw(loss), "half freed": draw(half_freed()), "overwritten": draw(overwritten())}
    assert "\n".join(f"// {name}\n{picture.dot}" for name, picture in pictures.items()) == snapshot


def test_a_tensor_without_a_graph_is_drawn_as_one_box() -> None:
    assert 'n0 [label="tensor\\nfloat64[2]\\nrequires_grad=False", fillcolor="#ffffff"' in draw(torch.zeros(2)).dot


def test_the_picture_is_what_graphviz_makes_of_the_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\necho "<?xml?>"\necho "<svg>"\necho "$1"\ncat\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    picture = draw(small()[0])
    assert picture.svg == f"<svg>\n-Tsvg\n{picture.dot}"
    assert picture._repr_mimebundle_() == {"image/svg+xml": picture.svg}


def test_graphviz_reads_the_text() -> None:
    if which("dot") is None:
        pytest.skip("needs Graphviz: its program dot is not there")
    assert all(f">{text}</text>" in draw(small()[0]).svg for text in ("legend", "leaf 1"))


def test_without_graphviz_the_error_says_what_to_install_and_a_notebook_shows_the_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    picture = draw(small()[0])
    with pytest.raises(RuntimeError, match=r"install Graphviz \(https://graphviz\.org/download\)"):
        _ = picture.svg
    ((kind, shown),) = picture._repr_mimebundle_().items()
    assert kind == "text/plain"
    assert shown.endswith(picture.dot)
    assert "install Graphviz" in shown


def test_a_graph_that_nobody_can_read_is_not_drawn() -> None:
    y = torch.tensor(1.0, requires_grad=True)
    for _ in range(1001):
        y = y * 2
    with pytest.raises(ValueError, match=r"1,002 nodes, and more than 1,000 are no picture"):
        draw(y)
