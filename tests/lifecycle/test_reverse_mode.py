"""Backward passes and recorded gradients: what they must show, what they reach, and what they leave open."""

from __future__ import annotations

from refgrad.lifecycle import ExpectedValue, Fails, Gradient, NoGradient, Open, Policy, Succeeds, predict
from refgrad.lifecycle.model import Model
from refgrad.scenario import Constant, parse

X = "x = leaf float64[] {0x1.8p+0} requires_grad\n"
Y = "y = leaf float64[] {0x1.8p+1} requires_grad\n"
V = "v = leaf float64[2] {0x1p+0 0x1p+1} requires_grad\n"
SQUARE = f"{X}l = multiply x x\nh = grad l x\n"


def last(text: str, policy: Policy | None = None) -> object:
    return predict(parse(text), policy)[-1]


def test_recording_a_gradient_keeps_the_graph_and_touches_no_leaf() -> None:
    assert last(f"{SQUARE}read grad x") == NoGradient("x")
    assert last(f"{SQUARE}backward l\nread grad x") == Gradient("x", (("l", None),))
    assert last(f"{SQUARE}read value h") == ExpectedValue("h")


def test_a_freed_graph_has_no_gradient_to_record() -> None:
    freed = f"{X}l = exp x\nbackward l\nh = grad l x\n"
    assert last(freed) == Fails("freed-graph")
    assert last(f"{freed}backward h") == Open()
    assert last(f"{freed}a = exp h") == Open()
    assert last(f"{freed}read value h") == Open()


def test_freed_nodes_that_do_not_lead_to_the_leaf_do_not_matter() -> None:
    text = f"{X}{Y}a = exp x\nb = exp y\nl = add a b\nbackward b\nh = grad l x"
    assert last(text) == Succeeds()


def test_a_recorded_gradient_is_refused_for_what_a_backward_is() -> None:
    assert last(f"{X}{V}h = grad v v") == Fails("implicit-seed")
    assert last(f"{X}{V}h = grad v v seed float64[1] {{0x1p+0}}") == Fails("seed-shape")
    assert last(f"{X}c = leaf float64[] {{0x1p+0}}\nl = exp c\nh = grad l x") == Fails("no-graph")
    assert last(f"{V}h = grad v v", Policy(implicit_seed="ones")) == Succeeds()


def test_nothing_is_promised_of_a_leaf_that_the_output_does_not_depend_on() -> None:
    assert last(f"{X}{Y}l = exp x\nh = grad l y") == Open()


def test_a_backward_reaches_what_the_recorded_rules_have_saved() -> None:
    product = f"{X}{Y}l = multiply x y\nh = grad l x\nbackward h\n"
    assert last(f"{product}read grad y") == Gradient("y", (("h", None),))
    assert last(f"{product}read grad x") == NoGradient("x")


def test_a_gradient_that_is_constant_may_be_recorded_or_not() -> None:
    text = f"{X}l = add x x\nh = grad l x\nbackward h"
    assert last(text) == Open()
    assert last(f"{text}\nread grad x") == NoGradient("x")


def test_a_rule_that_only_chooses_may_be_recorded_or_not_and_sends_zeros_or_nothing() -> None:
    text = f"{X}l = relu x\nh = grad l x\nbackward h"
    assert last(text) == Open()
    assert last(f"{text}\nread grad x") == Gradient("x", (("h", None),), certain=False)
    assert last(f"{text}\na = exp x\nbackward a\nread grad x") == Gradient("x", (("h", None), ("a", None)))


def test_nothing_is_promised_by_way_of_arrays_without_entries() -> None:
    text = "e = leaf float64[0] {} requires_grad\na = exp e\nl = sum a\nh = grad l e\nbackward h seed float64[0] {}"
    assert last(text) == Open()
    assert last(f"{text}\nread grad e") == Gradient("e", (("h", Constant("float64", (0,), b"")),), certain=False)


def test_a_second_backward_from_a_recorded_gradient_needs_its_graph() -> None:
    assert last(f"{SQUARE}backward h\nbackward h") == Fails("freed-graph")
    assert last(f"{SQUARE}backward h retain_graph\nbackward h") == Succeeds()


def test_which_nodes_a_backward_visits_by_way_of_a_gradient_is_the_engine_s_affair() -> None:
    text = f"{X}a = exp x\nl = multiply a a\nh = grad l x\nbackward h\n"
    assert last(f"{text}backward l") == Open()
    assert last(f"{text}backward l\nread grad x") == Open()
    assert last(f"{X}a = exp x\nl = multiply a a\nh = grad l x\nbackward h retain_graph\nbackward l") == Succeeds()


def test_what_the_rules_have_read_may_be_saved_for_the_gradient_of_the_gradient() -> None:
    overwritten = "enter no_grad\nwrite x add x\nleave\n"
    assert last(f"{X}l = sin x\nh = grad l x\n{overwritten}backward h") == Open()
    assert last(f"{SQUARE}{Y}enter no_grad\nwrite y add y\nleave\nbackward h") == Succeeds()


def test_a_result_of_a_gradient_that_may_be_constant_may_be_constant() -> None:
    constant = f"{X}l = mean x\nh = grad l x\n"
    assert last(f"{constant}a = sin h\nbackward a\nbackward a") == Open()
    assert last(f"{constant}a = multiply l h\nwrite l add x\nbackward a") == Open()


def test_a_gradient_of_a_gradient_has_a_value() -> None:
    assert last(f"{SQUARE}g = grad h x\nread value g") == ExpectedValue("g")


def test_a_gradient_of_a_gradient_is_promised_where_that_surely_depends_on_the_leaf() -> None:
    text = "l = {} x\nh = grad l x\ng = grad h x"
    assert last(f"{X}{text.format('exp')}") == Succeeds()
    assert last(f"{X}{text.format('relu')}") == Open()
    assert last(f"{X}{text.format('negative')}") == Open()


def test_what_a_backward_from_a_gradient_that_may_be_absent_sends_is_open() -> None:
    text = f"{X}{Y}l = relu x\nh = grad l x\ng = grad h x\n"
    assert last(f"{text}read grad x") == NoGradient("x")
    assert last(f"{text}backward g\nread grad x") == Open()
    assert last(f"{text}backward g\nzero grad x\nread grad x") == NoGradient("x")


def test_nothing_is_promised_of_a_gradient_that_a_step_cuts_off() -> None:
    """PyTorch sends fresh zeros through a floor, which depend on nothing; what goes around it is recorded."""
    cut = f"{X}{Y}a = floor x\nl = multiply a y\nh = grad l x\n"
    assert last(f"{cut}backward h") == Open()
    around = f"{X}{Y}a = floor x\nb = exp x\nc = multiply a b\nl = multiply c y\nh = grad l x\n"
    assert last(f"{around}backward h") == Succeeds()
    assert last(f"{around}backward h\nread grad y") == Gradient("y", (("h", None),))


def model_after(text: str, policy: Policy | None = None) -> Model:
    scenario = parse(text)
    model = Model(scenario, policy or Policy())
    for step in scenario.steps:
        model.step(step)
    return model


def test_what_is_wrong_with_a_seed_is_wrong_whatever_the_graph_is() -> None:
    model = model_after(f"{V}c = exp v\ns = sum v\nenter no_grad\nd = exp v\nleave")
    one, two = Constant("float64", (), bytes(8)), Constant("float64", (2,), bytes(16))
    refused = {
        (name, seed.shape if seed else None): model.refused(model.tensors[name], seed)
        for name in ("c", "s", "d")
        for seed in (None, one, two)
    }
    assert refused == {
        ("c", None): Fails("implicit-seed"),
        ("c", ()): Fails("seed-shape"),
        ("c", (2,)): None,
        ("s", None): None,
        ("s", ()): None,
        ("s", (2,)): Fails("seed-shape"),
        ("d", None): Fails("no-graph"),
        ("d", ()): Fails("no-graph", ("seed-shape",)),
        ("d", (2,)): Fails("no-graph"),
    }


def test_a_leaf_that_stopped_is_frozen_for_its_hooks() -> None:
    hooked = f"{X}l = exp x\nhook h on x observe\nhook g on l observe\n"
    model, frozen = model_after(hooked), model_after(f"{hooked}stop requiring grad x")
    assert [model.is_frozen(model.hooks[name]) for name in "hg"] == [False, False]
    assert [frozen.is_frozen(frozen.hooks[name]) for name in "hg"] == [True, False]


def test_a_change_of_requires_grad_is_noticed_in_the_nodes_that_used_the_tensor() -> None:
    model = model_after(f"{X}{Y}a = multiply x y\nb = exp x\nstop requiring grad y")
    assert model.requires_grad_changed({"a", "b", "x"})
    assert not model.requires_grad_changed({"b", "x"})


def test_forgetting_a_backward_leaves_unknown_what_it_met_and_nothing_else() -> None:
    model = model_after(f"{X}{Y}a = exp x\nretain grad a\nb = exp y\nhook h on a observe\nhook g on b observe")
    model.forget_gradients({"a", "x"}, frees=True)
    assert {name: tensor.gradient_unknown for name, tensor in model.tensors.items()} == {
        "x": True, "y": False, "a": True, "b": False,
    }  # fmt: skip
    assert (model.hooks["h"].calls_unknown, model.hooks["g"].calls_unknown) == (True, False)
    assert (model.graph.nodes["a"].freed, model.graph.nodes["b"].freed) == (None, False)


def test_a_hook_of_which_nothing_is_known_may_rescale_every_later_gradient() -> None:
    model = model_after(f"{X}l = mean x\nh = grad l x\nhook g on h observe\nhook f on h scale 0x1p+1\na = exp x")
    assert model.may_be_rescaled
    assert (
        last(f"{X}l = mean x\nh = grad l x\nhook g on h observe\nhook f on h scale 0x1p+1\na = exp x\nbackward a")
        == Open()
    )
