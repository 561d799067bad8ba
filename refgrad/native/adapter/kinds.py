"""The two kinds of adapters: for engines that record a tape, and for engines that differentiate functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from refgrad.native.adapter import fields as values
from refgrad.native.adapter.adapter import Adapter, AdapterError
from refgrad.native.adapter.fields import code, optional, plain
from refgrad.native.text import plain_line


@dataclass(frozen=True, kw_only=True, eq=False)
class TapeAdapter(Adapter):
    """An engine that records a graph while operators run, and leaves gradients in its leaves."""

    backward: str = field(
        metadata=code(
            "output seed retain_graph",
            "A backward. Leave out the placeholders of what the engine does not have.",
            "{output}.backward({seed}, retain_graph={retain_graph})",
            gives_by_placeholder={"seed": ("seed", "error:seed-shape"), "retain_graph": ("retain_graph",)},
        )
    )
    gradient: str = field(metadata=code("leaf", "The gradient of a leaf as a numpy array, or `None`.", "{leaf}.grad"))
    gradient_dtype: str | None = optional(
        code("leaf", "The dtype of a gradient, where its array does not tell it.", "{leaf}.grad.dtype")
    )
    zero_grad: str | None = optional(
        code("leaf", "Resets the gradient of a leaf.", "{leaf}.zero_grad()", gives="zero_grad")
    )
    zero_grad_to_zeros: str | None = optional(
        code(
            "leaf",
            "Makes the gradient of a leaf zeros, if it has one.",
            "{leaf}.grad is None or {leaf}.grad.zero_()",
            gives="zero_grad_to_zeros",
        )
    )
    grad: str | None = optional(
        code(
            "output leaf seed",
            "The gradient of an output with respect to a leaf, recorded like any other tensor.",
            "me.grad({output}, {leaf}, {seed}, create_graph=True)",
            gives="double_backward",
        )
    )
    grads: str | None = optional(
        code(
            "outputs leaves seeds",
            "The list of the gradients of several outputs, each with its seed, with respect to several tensors; `None` "
            "for one that no output depends on. Nothing is added to leaves, and the graph is freed.",
            "me.grad({outputs}, {leaves}, {seeds}, allow_unused=True)",
        )
    )
    backwards: str | None = optional(
        code(
            "outputs seeds",
            "A backward from several outputs at once, each with its seed.",
            "me.backward({outputs}, {seeds})",
        )
    )
    detach: str | None = optional(
        code("x", "A tensor as a constant of the same memory.", "{x}.detach()", gives="detach")
    )
    no_grad: str | None = optional(
        code("", "A context manager in which nothing is recorded.", "me.no_grad()", gives="no_grad")
    )
    no_grad_around: str | None = optional(
        code("function", "A function in whose calls nothing is recorded.", "me.no_grad()({function})", needs="no_grad")
    )
    enable_grad: str | None = optional(
        code("", "A context manager that records within the other.", "me.enable_grad()", gives="enable_grad")
    )
    set_requires_grad: str | None = optional(
        code(
            "x requires_grad",
            "Makes a leaf require grad, or stop to.",
            "{x}.requires_grad_({requires_grad})",
            gives="set_requires_grad error:requires-grad-of-non-leaf",
        )
    )
    in_place: Mapping[str, str] = field(
        default_factory=dict,
        metadata=code(
            "x y",
            "Overwrites a tensor; one template for each kind of write.",
            '{ add = "{x}.add_({y})", multiply = "{x}.mul_({y})", copy = "{x}.copy_({y})" }',
            gives="in_place error:modified-in-place error:leaf-in-place error:write-shape",
            writes=True,
        ),
    )
    in_place_at: Mapping[str, str] = field(
        default_factory=dict,
        metadata=code(
            "x y index",
            "Overwrites a part of a tensor; one template for each kind of write.",
            '{ add = "{x}[{index}].add_({y})", multiply = "{x}[{index}].mul_({y})", copy = "{x}[{index}].copy_({y})" }',
            gives="in_place_at_index",
            writes=True,
        ),
    )
    hook: str | None = optional(
        code(
            "x function",
            "Has `{function}` called with the gradient of a tensor, which becomes what it returns, if that is not "
            "`None`; gives a handle.",
            "{x}.register_hook({function})",
            gives="hooks error:hook-on-constant",
        )
    )
    unhook: str | None = optional(code("handle", "Takes a hook away.", "{handle}.remove()", gives="unhook"))
    retain_grad: str | None = optional(
        code(
            "x",
            "Makes a computed tensor keep its gradient, which `gradient` reads.",
            "{x}.retain_grad()",
            gives="retain_grad error:retain-grad-on-constant",
        )
    )
    requires_grad: str | None = optional(
        code("x", "Whether gradients flow to a tensor.", "{x}.requires_grad", gives="read_requires_grad")
    )
    is_leaf: str | None = optional(
        code(
            "x",
            "Whether a tensor was made, rather than computed from something that requires grad.",
            "{x}.is_leaf",
            gives="read_is_leaf",
        )
    )
    recorded: str | None = optional(
        code("x", "Whether a recorded operation made a tensor.", "{x}.grad_fn is not None", gives="read_recorded")
    )
    node: str | None = optional(
        code(
            "x",
            "The node of a recorded tensor, or what stands for it where tensors are their own nodes.",
            "{x}.grad_fn",
            needs="parents",
        )
    )
    parents: str | None = optional(
        code(
            "node",
            "The list of the nodes that a node leads to, in the order of its operands; `None` for an operand that "
            "needs no gradient.",
            "[n for n, _ in {node}.next_functions]",
            gives="graph",
            needs="node",
        )
    )

    def _check_declarations(self) -> None:
        super()._check_declarations()
        if self.hook is not None and not self.syntax.new_list:
            raise self.error(f"hook: leave it out; programs in {self.language} cannot record what a hook receives")

    @property
    def flags(self) -> Mapping[str, str | None]:
        """The templates that read flags of a tensor, by the name of the flag."""
        return {"requires_grad": self.requires_grad, "is_leaf": self.is_leaf, "recorded": self.recorded}

    def _declared(self) -> Iterator[str]:
        """Yield the features of every tape engine, and those that follow from the policy."""
        yield "error:no-graph"
        yield "retain_graph" if self.policy.frees == "never" else "error:freed-graph"
        if self.policy.accumulates == "adds":
            yield "accumulate"
        if self.policy.implicit_seed == "error":
            yield "error:implicit-seed"


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionalAdapter(Adapter):
    """An engine that differentiates functions.

    Each backward of a scenario calls the pullback again. Its cotangents are added up outside of the engine.
    """

    vjp: str = field(
        metadata=code(
            "function primals",
            "A pair: the output of `{function}`, and a function that turns a cotangent of the output into the list of "
            "the primals' cotangents.",
            "me.vjp({function}, *{primals})",
        )
    )
    nests: bool = field(
        default=False,
        metadata=plain(
            values.FLAG,
            "`vjp` may be used inside of a function that is differentiated (feature `double_backward`).",
            "true",
        ),
    )

    forward_only: bool = field(
        default=False,
        metadata=plain(
            values.FLAG,
            "The engine carries tangents forward, and `vjp` makes gradients of them: rounding adds up in that order.",
            "true",
        ),
    )

    display_grad: str | None = optional(
        code(
            "function at primals output leaf tape",
            "The gradient of a function with a scalar result as users of the library write it, for printed findings; "
            "it is never run. `{at}` is the position of the differentiated argument, or a tuple of positions. A "
            "template with `{output}` and `{leaf}` follows the computation of the output, which is inside "
            "`display_record` if that is given.",
            "me.grad({function}, {at})(*{primals})",
        )
    )
    display_pull: str | None = optional(
        code(
            "function at primals output leaf tape seed",
            "The same for any seed: the list of the gradients of all primals, or a single gradient if the template has "
            "`{at}` or `{leaf}`. A template without `{seed}` gives a pair of the pullback and the output.",
            "me.vjp({function}, {primals}, {seed})[1]",
        )
    )
    display_record: str | None = optional(
        code(
            "",
            "The context manager that records a computation in printed findings; `{tape}` is its value.",
            "me.Tape()",
        )
    )
    display_watch: str | None = optional(
        code("leaf tape", "The expression for each leaf before a recorded computation.", "{tape}.watch({leaf})")
    )
    display_leaf: str | None = optional(
        code(
            "array scalar shape dtype",
            "The differentiated leaf in printed findings of an engine in forward mode.",
            "me.Dual({scalar}, 1.0)",
        )
    )
    display_constant: str | None = optional(
        code("array scalar shape dtype", "Any other leaf there.", "me.Dual({scalar}, 0.0)", needs="display_leaf")
    )

    def _declared(self) -> Iterator[str]:
        """Yield the features of a pullback: it takes a seed and can be called again, and keeps no gradients."""
        yield from ("seed", "retain_graph", "accumulate", "zero_grad")
        if self.nests:
            yield "double_backward"


NAME: Final = re.compile(r"[^\W_][\w.+-]{0,99}")
NAME_RULE: Final = "letters and digits, behind the first also any of _ . + -, at most 100 characters"
"""Rule for names of engines, which are also names of files."""

AnyAdapter = TapeAdapter | FunctionalAdapter

KINDS: Final[Mapping[str, type[AnyAdapter]]] = MappingProxyType({"tape": TapeAdapter, "functional": FunctionalAdapter})
"""Classes of adapters by the kind of engine, as engine files name it."""


def checked_adapter(candidate: Any, origin: str) -> AnyAdapter:
    """Return the candidate. Raises AdapterError where it is not an adapter, or its name is invalid."""
    if isinstance(candidate, TapeAdapter | FunctionalAdapter):
        name: object = candidate.name
        if not (isinstance(name, str) and NAME.fullmatch(name)):
            raise AdapterError(f"{origin}: its name {plain_line(repr(name), 80)} must be {NAME_RULE}")
        return candidate
    message = f"{origin} is {type(candidate).__name__}, not a refgrad.TapeAdapter or refgrad.FunctionalAdapter"
    raise AdapterError(message)
