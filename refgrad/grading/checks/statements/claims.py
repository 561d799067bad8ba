"""Claims of adapters about their engines, and the scenarios that show them: the rows of ``specs/claims/*.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from refgrad.documents import read_toml
from refgrad.errors import UserError
from refgrad.native.adapter import FEATURES
from refgrad.scenario import Scenario, ScenarioError, parse
from refgrad.specification import specs_directory

Kind: TypeAlias = Literal["features", "policies", "dtypes"]


class ClaimError(UserError):
    """A row is malformed; the message names the file, the row and what is wrong."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of an adapter about its engine, and the scenarios that show together whether it is true.

    ``name`` is the name of a feature, of a field of the policy, or of a dtype, depending on ``kind``.
    """

    kind: Kind
    name: str
    statement: str
    scenarios: tuple[Scenario, ...]

    @property
    def id(self) -> str:
        """Id of the claim, ``claims/NAME``, without characters that a file name cannot have."""
        return f"claims/{self.name.translate(PLAIN)}"


PLAIN: Final = str.maketrans(":-", "__")

STATEMENTS: Final[Mapping[Kind, str]] = MappingProxyType({
    "features": "What the adapter says of {name} is so: {said}.",
    "policies": "What the adapter's policy says is so: {said}.",
    "dtypes": "What the adapter says of {name} is so: tensors may be of it, and values and gradients keep it.",
})


@cache
def all_claims() -> tuple[Claim, ...]:
    """Return the claims in the order of the files. Raises ClaimError if a row is malformed."""
    return tuple(claim for kind in STATEMENTS for claim in _read(kind))


def _read(kind: Kind) -> Iterator[Claim]:
    path = specs_directory() / "claims" / f"{kind}.toml"
    rows = read_toml(path, "claims", ClaimError) if path.exists() else {}
    for name, row in rows.items():
        try:
            said = FEATURES[name] if kind == "features" else row.get("statement", "")
            scenarios = tuple(parse(text) for text in row["scenarios"])
        except (KeyError, ScenarioError) as error:
            message = f"{path.name}: row {name!r}: {error}"
            raise ClaimError(message) from error
        yield Claim(kind, name, STATEMENTS[kind].format(name=name, said=said), scenarios)
