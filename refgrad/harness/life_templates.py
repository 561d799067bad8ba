"""Which templates does an adapter have for steps in which tensors change, and which features do they give?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from refgrad.harness.adapter import TapeAdapter


@dataclass(frozen=True, slots=True)
class LifeTemplate:
    """The fields that a template may have, and the features that an engine offers by having it."""

    fields: frozenset[str]
    features: tuple[str, ...]


def _template(fields: str, *features: str) -> LifeTemplate:
    return LifeTemplate(frozenset(fields.split()), features)


LIFE_TEMPLATES: Final[Mapping[str, LifeTemplate]] = MappingProxyType({
    "detach": _template("x", "detach"),
    "no_grad": _template("", "no_grad"),
    "enable_grad": _template("", "enable_grad"),
    "set_requires_grad": _template("x requires_grad", "set_requires_grad", "error:requires-grad-of-non-leaf"),
    "in_place": _template("x y", "in_place", "error:modified-in-place", "error:leaf-in-place", "error:write-shape"),
    "in_place_at": _template("x y index", "in_place_at_index"),
    "hook": _template("x function", "hooks", "error:hook-on-constant"),
    "unhook": _template("handle", "unhook"),
    "retain_grad": _template("x", "retain_grad", "error:retain-grad-on-constant"),
    "zero_grad_to_zeros": _template("leaf", "zero_grad_to_zeros"),
    "requires_grad": _template("x", "read_requires_grad"),
    "is_leaf": _template("x", "read_is_leaf"),
    "recorded": _template("x", "read_recorded"),
    "node": _template("x"),
    "parents": _template("node", "graph"),
})
"""By the name of the adapter's member; ``in_place`` and ``in_place_at`` hold one template for each kind of write."""

LIFE_FEATURES: Final[Mapping[str, str]] = MappingProxyType({
    "detach": "a tensor can be cut off from what it was computed from",
    "no_grad": "recording can be switched off for a region",
    "enable_grad": "recording can be switched on again within such a region",
    "set_requires_grad": "a leaf can start and stop to require grad",
    "in_place": "a tensor can be overwritten: added to, multiplied, copied onto",
    "in_place_at_index": "a part of a tensor can be overwritten",
    "hooks": "a function can see, and replace, the gradient of a tensor",
    "unhook": "such a function can be taken away again",
    "retain_grad": "a computed tensor can keep its gradient",
    "zero_grad_to_zeros": "a leaf's gradient can be made zeros",
    "read_requires_grad": "a tensor tells whether it requires grad",
    "read_is_leaf": "a tensor tells whether it is a leaf",
    "read_recorded": "a tensor tells whether a recorded operation made it",
    "error:modified-in-place": "a backward that needs a value that was overwritten is an error",
    "error:leaf-in-place": "a recorded write to a leaf that requires grad is an error",
    "error:write-shape": "a write that does not fit its tensor is an error",
    "error:hook-on-constant": "a hook on something that needs no gradient is an error",
    "error:retain-grad-on-constant": "asking something that needs no gradient to keep it is an error",
    "error:requires-grad-of-non-leaf": "making a constant of a computed tensor is an error",
})


def given_templates(adapter: TapeAdapter) -> Iterator[tuple[str, str, LifeTemplate]]:
    """Yield the templates that an adapter has: where they stand, their text, and what they are."""
    for name, template in LIFE_TEMPLATES.items():
        given: str | Mapping[str, str] | None = getattr(adapter, name)
        if isinstance(given, str):
            yield name, given, template
        elif given:
            yield from ((f"{name}[{action!r}]", text, template) for action, text in given.items())


def offered_by(adapter: TapeAdapter) -> frozenset[str]:
    """Return the features that an adapter's templates offer."""
    return frozenset(feature for _, _, template in given_templates(adapter) for feature in template.features)
