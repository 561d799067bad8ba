"""The choice of a first adapter: field by field the candidate that works on most kinds of arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Final, get_args, get_type_hints

from refgrad.errors import UserError
from refgrad.grading.checks.statements.claims import Claim, all_claims
from refgrad.grading.first_adapter.asking import Asking
from refgrad.grading.first_adapter.candidates import (
    BACKWARDS,
    FAMILIES,
    MAKERS,
    OPTIONAL,
    PLAIN_LEAF,
    PULLBACKS,
    VALUES,
    ZERO_GRADS,
    gradients,
    leaves,
    spellings_of,
    with_module,
)
from refgrad.grading.first_adapter.library import Library
from refgrad.grading.first_adapter.trying import NUMBER, Workbench
from refgrad.grading.judging.narration import message
from refgrad.grading.trials import KINDS, PATIENCE
from refgrad.lifecycle import Policy
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter, engine_version, family_rows
from refgrad.native.adapter.files import ALIKE
from refgrad.native.engine import Isolation, launch
from refgrad.native.process import Limits
from refgrad.native.text import plain_line
from refgrad.operators import operator_table
from refgrad.scenario import Constant, Leaf, Read, Scenario

Texts = Mapping[str, Any]

UNKNOWN: Final = "({seed})"
"""A backward that is not known yet: it takes a seed, so that scenarios with one are tried."""

MOST_OF_IT: Final = 0.4
"""How much of a family a library must have to extend it."""

LONGEST: Final = 300
"""The characters that are kept of what a library said."""

MOST_SPELLINGS: Final = 2
"""So many spellings of one operator are kept: those of one function by other words say nothing new."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A library with an adapter that spells each operator itself, its modules, and the family that it may extend.

    ``untaught`` are the operators that the library computes without a gradient; ``instead`` is what came of most.
    """

    bench: Workbench
    modules: tuple[str, ...]
    family: str
    untaught: tuple[str, ...]
    instead: str


def choose(library: Library, asking: Asking) -> Chosen:
    """Start a library and choose the templates of its adapter; those that are given are not asked for.

    Raises EngineStartError where it cannot be started, and UserError where something that is needed is not found.
    """
    setup = library.setup(asking.given.get("setup", ""))
    unknown = TapeAdapter(name=library.name, setup=setup, leaf="None", backward=UNKNOWN, gradient="None")
    bench = Workbench(launch(unknown, Isolation(python=library.python, limits=Limits(program=PATIENCE))))
    modules = library.own_modules(bench)
    bench = _with_tensors(bench, modules, asking)
    kinds = bench.kinds_read_back()
    if not kinds:
        raise UserError(_unread(bench))
    bench = bench.knowing(scalars_only=kinds == [NUMBER])
    family, inherited = _family(bench, modules, kinds)
    own = asking.operators
    spelled = {**_spelled(bench, modules, kinds, frozenset({*inherited, *own})), **inherited, **own}
    bench = _with_spellings(bench, spelled)
    bench = _differentiating(bench, library, kinds, asking)
    bench = bench.knowing(**asking.templates(type(bench.adapter)))
    bench = _with_dtypes(_with_policy(bench))
    bench = _with_optional(bench, modules)
    bench = bench.knowing(lacks=frozenset(_lacking(bench)))
    taught = {
        name: texts
        for name, row in spelled.items()
        if (texts := [t for t in row if name in own or bench.differentiates(operator_table()[name], t, kinds)])
    }
    bench = _with_spellings(bench, taught)
    if engine_version(replace(bench.adapter, distribution=library.name), library.python) != "unknown":
        bench = bench.knowing(distribution=library.name)
    untaught = tuple(name for name in spelled if name not in taught)
    came = Counter(bench.instead_of_gradient(operator_table()[name], spelled[name][0], kinds) for name in untaught)
    instead = next((plain_line(said, LONGEST) for said, _ in came.most_common(1)), "")
    return Chosen(bench, modules, family, untaught, instead)


def _with_tensors(bench: Workbench, modules: Sequence[str], asking: Asking) -> Workbench:
    """Choose how tensors are made and read."""
    made = asking.among("leaf", leaves(bench.members(modules, MAKERS)))
    pairs = [{"leaf": leaf, "value": value} for leaf in made for value in asking.among("value", VALUES)]
    best = _best(bench, pairs, Workbench.kinds_read_back)
    if not best:
        narrow = ({**pair, "dtype": "float32", "dtypes": ("float32",)} for pair in pairs)
        best = _best(bench, narrow, Workbench.kinds_read_back)
    leaf = asking.chosen("leaf", best.get("leaf"))
    value = asking.chosen("value", best.get("value"))
    return bench.knowing(**{**best, "leaf": leaf, "value": value})


def _unread(bench: Workbench) -> str:
    """Say what became of a number."""
    leaf = Leaf("x", Constant.of(KINDS["a number"]), requires_grad=True)
    finding = bench.found(Scenario((leaf, Read("value", "x"))))
    said = "" if finding.evidence is None else plain_line(message(finding.evidence), LONGEST)
    return f"no tensor comes back with leaf = {bench.adapter.leaf} and value = {bench.adapter.value}: {said}"


def _best(bench: Workbench, candidates: Iterable[Texts], works: Callable[[Workbench], Sequence[str]]) -> Texts:
    """Return the first candidate that works for most kinds of arrays; nothing if none works for any."""
    best: tuple[int, Texts] = (0, {})
    for fields in candidates:
        try:
            count = len(works(bench.knowing(**fields)))
        except UserError:  # a template that does not fit what is known, such as one without its seed
            continue
        best = max(best, (count, fields), key=lambda pair: pair[0])
        if count > len(KINDS):
            break
    return best[1]


def _family(bench: Workbench, modules: Sequence[str], kinds: Sequence[str]) -> tuple[str, dict[str, list[str]]]:
    """Return the first family most rows of which the library has, with these rows as far as they spell all."""
    table = operator_table()
    for family in FAMILIES:
        rows = {name: [text.replace("{np}", modules[0]) for text in row] for name, row in family_rows(family).items()}
        existing = {ALIKE, *bench.existing(chain.from_iterable(rows.values()))}
        fits = {
            name: row
            for name, row in rows.items()
            if bench.has(table[name])
            and existing.issuperset(row)
            and all(bench.computes(table[name], text, kinds) for text in row if text != ALIKE)
        }
        if len(fits) >= MOST_OF_IT * len(rows):
            return family, {name: row for name, row in fits.items() if ALIKE not in row}
    return "", {}


def _spelled(
    bench: Workbench, modules: Sequence[str], kinds: Sequence[str], known: frozenset[str]
) -> dict[str, list[str]]:
    """Return the spellings of each operator that compute it, but of those that are known."""
    found: dict[str, list[str]] = {}
    texts = {name: list(dict.fromkeys(spellings_of(row, modules))) for name, row in operator_table().items()}
    existing = bench.existing(chain.from_iterable(texts.values()))
    for name, operator in operator_table().items():
        if name in known or not bench.has(operator):
            continue
        right: dict[str, str] = {}
        for text in filter(existing.__contains__, texts[name]):
            function = text.partition("(")[0]
            if function not in right and len(right) < MOST_SPELLINGS and bench.computes(operator, text, kinds):
                right[function] = text
        if right:
            found[name] = list(right.values())
    return found


def _with_spellings(bench: Workbench, spelled: Mapping[str, Sequence[str]]) -> Workbench:
    main = {name: texts[0] for name, texts in spelled.items()}
    return bench.knowing(
        operators=main, aliases={name: tuple(texts[1:]) for name, texts in spelled.items() if texts[1:]}
    )


def _differentiating(bench: Workbench, library: Library, kinds: Sequence[str], asking: Asking) -> Workbench:
    """Choose how gradients come about: by a tape, or else by a pullback."""
    works, modules = partial(Workbench.kinds_differentiated, kinds=kinds), library.own_modules(bench)
    taped = _best(bench, _tapes(bench, modules, asking), works)
    seeds = dict.fromkeys(["{array}", bench.adapter.leaf])
    pulled_by = asking.among("vjp", with_module(PULLBACKS, modules))
    pullbacks = ({"vjp": text, "seed": seed} for seed in asking.among("seed", seeds) for text in pulled_by)
    pulled = {} if taped else _best(bench.functional(), pullbacks, works)
    if not (taped or pulled or "kind" in asking.given):
        library.refuse_what_is_empty(bench)
    kind = asking.chosen("kind", "tape" if taped else "functional" if pulled else None)
    if kind == "functional":
        bench = bench.functional(asking.chosen("vjp", pulled.get("vjp")))
        return bench.knowing(nests=True, seed=pulled.get("seed", bench.adapter.seed))
    found = {name: asking.chosen(name, taped.get(name)) for name in ("backward", "gradient")}
    bench = bench.knowing(**found, seed=taped.get("seed", asking.given.get("seed", bench.adapter.seed)))
    resets = ({"zero_grad": text} for text in asking.among("zero_grad", ZERO_GRADS))
    return bench.knowing(**_best(bench, resets, partial(works, reset=True)))


def _tapes(bench: Workbench, modules: Sequence[str], asking: Asking) -> Iterator[Texts]:
    """Yield how a backward may be run and a gradient read."""
    if bench.adapter.leaf == PLAIN_LEAF or "vjp" in asking.given:
        return
    seeds = dict.fromkeys(["{array}", bench.adapter.leaf.replace("{requires_grad}", "False")])
    for backward in asking.among("backward", with_module(BACKWARDS, modules)):
        for gradient in asking.among("gradient", gradients(bench.adapter.value)):
            for seed in asking.among("seed", seeds if "{seed}" in backward else ["{array}"]):
                yield {"backward": backward, "gradient": gradient, "seed": seed}


def _with_policy(bench: Workbench) -> Workbench:
    """Choose each field of the policy by the scenarios that tell its values apart, the simplest first."""
    if isinstance(bench.adapter, FunctionalAdapter):
        return bench
    types, claims = get_type_hints(Policy), {claim.name: claim for claim in all_claims() if claim.kind == "policies"}
    for field in ("implicit_seed", "keeps", "accumulates", "frees"):
        for value in get_args(types[field]):
            known = bench.knowing(policy=replace(bench.adapter.policy, **{field: value}))
            shown = [known.found(scenario) for scenario in claims[field].scenarios if known.runnable(scenario)]
            if shown and not any(finding.failed for finding in shown):
                bench = known
                break
    return bench


def _with_dtypes(bench: Workbench) -> Workbench:
    """Declare the dtypes that values and gradients keep, beside the one that everything is computed in."""
    for claim in all_claims():
        if claim.kind == "dtypes" and claim.name not in bench.adapter.dtypes:
            known = bench.knowing(dtypes=(*bench.adapter.dtypes, claim.name))
            if all(map(known.runnable, claim.scenarios)) and all(map(known.shows, claim.scenarios)):
                bench = known
    return bench


def _with_optional(bench: Workbench, modules: Sequence[str]) -> Workbench:
    """Keep each further field that gives a feature which shows."""
    kind = "functional" if isinstance(bench.adapter, FunctionalAdapter) else "tape"
    for field, texts in OPTIONAL[kind].items():
        for text in with_module(texts, modules) if getattr(bench.adapter, field) is None else ():
            known = bench.knowing(**{field: text})
            gained = {name for name in known.adapter.features - bench.adapter.features if "error:" not in name}
            if not gained.isdisjoint(_shown(known, gained)):
                bench = known
                break
    return bench


def _lacking(bench: Workbench) -> set[str]:
    """Return the features that follow from the templates and do not show; of others nothing is known."""
    features = bench.adapter.features
    return {claim.name for claim in _claims(bench, features)} - set(_shown(bench, features))


def _shown(bench: Workbench, features: Iterable[str]) -> Iterator[str]:
    for claim in _claims(bench, features):
        if all(bench.shows(scenario) for scenario in claim.scenarios if bench.runnable(scenario)):
            yield claim.name


def _claims(bench: Workbench, features: Iterable[str]) -> list[Claim]:
    """Return the claims about these features that the library can be held to."""
    wanted = set(features)
    claims = (claim for claim in all_claims() if claim.kind == "features" and claim.name in wanted)
    return [claim for claim in claims if any(map(bench.runnable, claim.scenarios))]
