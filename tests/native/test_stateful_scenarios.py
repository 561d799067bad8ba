"""Are the steps in which tensors change run, judged and printed as the library's own code?"""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from refgrad.grading.judging.examination import examine
from refgrad.lifecycle import required_features
from refgrad.native.adapter import AdapterError, TapeAdapter, find_adapter
from refgrad.native.engine import Engine, observe, reproduce, start
from refgrad.scenario import parse
from tests.native.tiny_engine import tiny_adapter

STATEFUL = """
x = leaf float64[2] {0x1.8p+0 -0x1p-1} requires_grad
c = leaf float64[2] {0x1p+1 0x1.8p+1}
s = leaf float64[] {0x1p-1}
y = multiply x c
retain grad y
hook h on y scale 0x1p+1
z = exp y
l = sum z
backward l
read grad y
read hook h
unhook h
enter no_grad
write x add c
enter enable_grad
leave
leave by error
a = sin x
write a multiply c
write a copy s index=(0,)
d = detach a
read requires_grad d
backward l
require grad c
stop requiring grad c
read is_leaf c
read recorded a
delete d
zero grad x to zeros
zero grad y
read grad x
read value a
"""

PROGRAM = """\
x = torch.tensor(np.array([1.5, -0.5]), requires_grad=True)
c = torch.tensor(np.array([2.0, 3.0]), requires_grad=False)
s = torch.tensor(np.array(0.5), requires_grad=False)
y = torch.multiply(x, c)
y.retain_grad()
seen_by_h = []
h = y.register_hook(lambda gradient: seen_by_h.append(np.array(gradient.detach().numpy())) or gradient * 2.0)
z = torch.exp(y)
l = torch.sum(z, axis=None, keepdims=False)
l.backward(None, retain_graph=False)
print(y.grad if y.grad is None else y.grad.detach().numpy())  # gradient of y
print(seen_by_h)  # what h saw
h.remove()
try:
    with torch.no_grad():
        x.add_(c)
        with torch.enable_grad():
            pass
        raise KeyError("left by error")
except KeyError:
    pass
a = torch.sin(x)
a.mul_(c)
a.__setitem__((0,), s)
d = a.detach()
print(d.requires_grad)  # requires_grad of d
try:
    l.backward(None, retain_graph=False)
except Exception as error:
    print(f"{type(error).__name__}: {error}")
c.requires_grad_(True)
c.requires_grad_(False)
print(c.is_leaf)  # is_leaf of c
print(a.grad_fn is not None)  # recorded of a
del d
x.grad is None or x.grad.zero_()
setattr(y, 'grad', None)
print(x.grad if x.grad is None else x.grad.detach().numpy())  # gradient of x
print(a.detach().numpy())  # value of a
"""


def printed(program: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(program, {})
    return out.getvalue()


def test_every_step_is_printed_as_a_program_that_runs() -> None:
    engine = start(find_adapter("refgrad"))
    program = reproduce(parse(STATEFUL), engine)
    assert program.endswith(f"\n\n{PROGRAM}")
    assert printed(program).splitlines()[2:6] == [
        "False",
        next(line for line in printed(program).splitlines() if line.startswith("RuntimeError: Trying to backward")),
        "True",
        "True",
    ]


@pytest.mark.engines
@pytest.mark.parametrize("name", ["refgrad", "torch"])
def test_an_engine_that_has_it_all_shows_what_it_must(name: str) -> None:
    pytest.importorskip(name, reason=f"needs refgrad[{name}]", exc_type=ImportError)
    engine = start(find_adapter(name))
    assert required_features(parse(STATEFUL)) <= engine.adapter.features
    assert examine(parse(STATEFUL), engine).outcome == "passed"
    assert "Trying to backward" in printed(reproduce(parse(STATEFUL), engine))


def test_an_engine_without_templates_lacks_the_features() -> None:
    needed = {"detach", "no_grad", "hooks", "unhook", "in_place", "in_place_at_index", "retain_grad", "read_is_leaf"}
    assert needed <= required_features(parse(STATEFUL)) - tiny_adapter().features


def reference(**changes: Any) -> Engine:
    adapter = find_adapter("refgrad")
    assert isinstance(adapter, TapeAdapter)
    return Engine(replace(adapter, name="changed", **changes))


X = "x = leaf float64[] {0x1.8p+0} requires_grad\n"


@pytest.mark.parametrize(
    ("changes", "text", "said"),
    [
        ({"is_leaf": "False"}, "read is_leaf x", "is False, but it should be True"),
        ({"hook": "{function}"}, "hook h on x observe\nbackward x\nread hook h", "h saw 0 gradients, but there were 1"),
        (
            {"hook": "{x}.register_hook(lambda g: {function}(g * 3))"},
            "hook h on x observe\nbackward x\nread hook h",
            "what h saw in call 1 is 3.0, but the truth is 1.0000000000000000",
        ),
        ({"in_place": {"add": "None", "multiply": "None", "copy": "None"}}, "write x add x", "carried on silently"),
        (
            {"errors": {"leaf-in-place": "ValueError"}},
            "write x add x",
            "does not match 'ValueError', as it should (leaf-in-place)",
        ),
    ],
)
def test_what_is_not_as_it_must_be_is_said(changes: dict[str, Any], text: str, said: str) -> None:
    finding = examine(parse(X + text), reference(**changes))
    assert finding.failed
    assert said in finding.message


def test_a_mode_that_one_scenario_leaves_behind_does_not_reach_the_next() -> None:
    stuck = reference(no_grad="type('Stuck', (type(torch.no_grad()),), {{'__exit__': lambda *_: None}})(False)")
    assert examine(parse(f"{X}enter no_grad\nleave\ny = exp x\nread recorded y"), stuck).failed
    assert examine(parse(f"{X}y = exp x\nread recorded y"), stuck).outcome == "passed"


def test_what_a_hook_saw_is_an_array_of_all_gradients() -> None:
    text = f"{X}hook h on x observe\nbackward x\nbackward x seed float64[] {{0x1p+1}}\nread hook h"
    seen = observe(parse(text), start(find_adapter("refgrad")))[-1].array
    assert seen is not None
    assert np.array_equal(seen, [1.0, 2.0])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"detach": "{y}.detach()"}, r"detach: unknown placeholder \{y\}; it may use \['x'\]"),
        ({"in_place": {"add": "{x} + {y}"}}, "there must be a template for each of"),
        ({"hook": "{x}.hook({function}"}, "hook: template"),
    ],
)
def test_a_malformed_template_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(AdapterError, match=problem):
        tiny_adapter(**changes)
