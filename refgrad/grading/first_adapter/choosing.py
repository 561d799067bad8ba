"""Choice of a first adapter: for each field, the candidate that works for the most kinds of arrays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Final, get_args, get_type_hints

from refgrad.errors import UserError
from refgrad.facts import Entry
from refgrad.grading import trials
from refgrad.grading.checks.claims import Claim, claims_about
from refgrad.grading.first_adapter import candidates
from refgrad.grading.first_adapter.candidates import Asking, Report
from refgrad.grading.first_adapter.library import BY_POLICY, RIGHT, LibraryModules, Seen, StartedLibrary, Texts
from refgrad.grading.settings import NUMBERS
from refgrad.lifecycle import Policy, required_features
from refgrad.native.adapter import FunctionalAdapter, TapeAdapter, engine_version, family_rows
from refgrad.native.adapter.files import ALIKE
from refgrad.native.engine import Isolation, launch
from refgrad.native.process import Limits
from refgrad.native.text import plain_line
from refgrad.operators import operator_table
from refgrad.scenario import Read, Scenario

UNKNOWN: Final = "({seed})"
"""Template of a backward that is not known yet. It has a seed, so that scenarios with a seed are tried."""


CHOICE: Final = NUMBERS["first_adapter"]
LONGEST: Final[int] = CHOICE["longest_message"]

NARROW: Final[Texts] = MappingProxyType({"dtype": "float32", "dtypes": ("float32",)})
"""Fields of the adapter of a library that has only single precision."""

ARITHMETIC: Final = re.compile(r"-?\{x\}( ([-+*/@]|\*\*) \{[yn]\})?")
"""Pattern of spellings by Python's own operators, for which unexpected values are a fault: their meaning is fixed."""


_NUMBER_READ: Final = Scenario((trials.leaf_of(trials.NUMBER), Read("value", "x")))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A library with an adapter that spells each operator itself, its modules, and the family that it may extend.

    ``unlike`` holds, for each operator without a right spelling, the first spelling that exists and gives other values;
    for a spelling by Python's own operators this is a suspected fault. ``untaught`` are the operators that the library
    computes without a gradient, and ``instead`` is the most frequent message in place of their gradients. ``faults``
    has one line for each fault that plain programs show.
    """

    started: StartedLibrary
    modules: tuple[str, ...]
    family: str
    unlike: Mapping[str, str]
    untaught: tuple[str, ...]
    instead: str
    faults: list[str]


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A library with the spellings of its operators, and ``family`` and ``unlike`` of :class:`Chosen`."""

    started: StartedLibrary
    texts: Mapping[str, list[str]]
    family: str
    unlike: Mapping[str, str]


def choose(library: LibraryModules, asking: Asking) -> Chosen:
    """Start a library and choose the templates of its adapter. The user is not asked for those that are given.

    Raises EngineStartError if it cannot be started, and UserError if something that is needed is not found.
    """
    setup = library.setup(asking.options.get("setup", ""))
    unknown = TapeAdapter(name=library.name, setup=setup, leaf="None", backward=UNKNOWN, gradient="None")
    engine = launch(unknown, Isolation(python=library.python, limits=Limits(program=trials.PATIENCE)))
    started = StartedLibrary(engine.adapter, engine.runner)
    modules = library.own_modules(started)
    with explained_by(lambda: _of_a_tensor(started, modules, asking)):
        started = _with_tensors(started, modules, asking)
    kinds = started.kinds_read_back()
    if not kinds:
        raise UserError(_unread(started))
    unknown_kind = asking.options.keys().isdisjoint({"kind", "vjp"}) and not _pulls(started, modules)
    if started.adapter.leaf == candidates.PLAIN_LEAF and unknown_kind:
        library.refuse_what_is_empty(started)
        asking.chosen("kind", None)
    started = started.knowing(scalars_only=kinds == [trials.NUMBER])
    spelling = _spelling(started, modules, kinds, asking)
    ways = _ways(spelling.started, modules, kinds, asking)
    leaf = asking.options.get("leaf", spelling.started.adapter.leaf.replace("{array}", "{scalar}"))
    scalars = spelling.started.knowing(leaf=leaf, scalars_only=True)
    if not ways[1] and scalars.holds_floats() and not (ways[0] and _takes_arrays(spelling, ways[0])):
        kinds = [trials.NUMBER]
        spelling = _spelling(scalars, modules, kinds, asking)
        ways = _ways(spelling.started, modules, kinds, asking)
    if not any(ways):  # some libraries keep all numbers in single precision, whatever a tensor is made of
        leaf = started.adapter.leaf.replace("{array}", "{array}.astype(np.float32)")
        narrow = _spelling(started.knowing(leaf=leaf, **NARROW), modules, kinds, asking)
        if any(narrow_ways := _ways(narrow.started, modules, kinds, asking)):
            spelling, ways = narrow, narrow_ways
    own, spelled = asking.operators, spelling.texts
    with explained_by(lambda: _of_a_gradient(spelling.started, modules, asking)):
        started = _differentiating(spelling.started, kinds, asking, ways)
    started = started.knowing(**asking.templates(type(started.adapter)))
    started = with_dtypes(with_policy(started))
    started = without_what_fails(with_optional(started, modules), asking)
    taught: dict[str, list[str]] = {}
    for name, row in spelled.items():
        asking.report(f"trying the gradient of {name}")
        if texts := [t for t in row if name in own or started.differentiates(operator_table()[name], t, kinds)]:
            taught[name] = texts
    started = _with_spellings(started, taught)
    started = started.knowing(refusals=tuple(started.rejections(kinds)))
    installed = engine_version(replace(started.adapter, distribution=library.name), library.python) != "unknown"
    if installed and not library.imports:
        started = started.knowing(distribution=library.name)
    untaught = tuple(name for name in spelled if name not in taught)
    came = Counter(started.instead_of_gradient(operator_table()[name], spelled[name][0], kinds) for name in untaught)
    instead = next((plain_line(text, LONGEST) for text, _ in came.most_common(1)), "")
    faults = trials.suspected_faults(started)
    return Chosen(started, modules, spelling.family, spelling.unlike, untaught, instead, faults)


def _takes_arrays(spelling: _Spelling, tape: Texts) -> bool:
    """Return True if arrays have gradients, and all unary elementwise operators that take numbers take vectors."""
    known, rows = spelling.started, ((operator_table()[name], texts[0]) for name, texts in spelling.texts.items())
    unary = [(row, text) for row, text in rows if row.elementwise and len(row.argument_names) == 1]
    taken = (known.computes(*each, [trials.VECTOR]) or not known.computes(*each, [trials.NUMBER]) for each in unary)
    return known.knowing(**tape).differentiates_arrays() and all(taken)


def _with_tensors(started: StartedLibrary, modules: Sequence[str], asking: Asking) -> StartedLibrary:
    """Choose the templates that make and read tensors."""
    leaves = asking.among("leaf", _leaves(started, modules))
    values = asking.among("value", candidates.KNOWN["value"])
    pairs = [{"leaf": leaf, "value": value} for leaf in leaves for value in values]
    best: Texts = {}
    own = [pair for pair in pairs if pair["leaf"] != candidates.PLAIN_LEAF]
    by_attributes = (
        {"leaf": leaf, "value": f"{{x}}.{attribute}"}
        for leaf in (leaves if "value" not in asking.options else ())
        for attribute in started.knowing(leaf=leaf).inspected(())[0]
    )
    for tried in (own, ({**pair, **NARROW} for pair in own), by_attributes, pairs):
        best = best or best_of(started, tried, StartedLibrary.kinds_read_back)
    leaf = asking.chosen("leaf", best.get("leaf"))
    value = asking.chosen("value", best.get("value"))
    return started.knowing(**{**best, "leaf": leaf, "value": value})


def _pulls(started: StartedLibrary, modules: Sequence[str]) -> bool:
    """Return True if some module has a function that makes pullbacks."""
    return any(names for names in started.members(modules, ("vjp", "make_vjp")).values())


def _leaves(started: StartedLibrary, modules: Sequence[str]) -> list[str]:
    """Return candidate templates that make a leaf."""
    named = {} if _pulls(started, modules) else started.classes(modules)
    return candidates.leaves(started.members(modules, candidates.KNOWN["makers"]), named)


@contextmanager
def explained_by(why: Callable[[], str]) -> Iterator[None]:
    """Append the result of ``why`` to a UserError of the block. It describes the result of a candidate."""
    try:
        yield
    except UserError as error:
        try:
            detail = why()
        except UserError as refused:  # the given text is not a valid template
            detail = str(refused)
        raise UserError(f"{error}; {detail}" if detail else str(error)) from error


def _of_a_tensor(started: StartedLibrary, modules: Sequence[str], asking: Asking) -> str:
    """Describe the result for a number of the first template that makes a tensor.

    If none makes one, the first template is used.
    """
    leaves = asking.among("leaf", _leaves(started, modules)) or [candidates.PLAIN_LEAF]
    value = asking.among("value", candidates.KNOWN["value"])[0]
    tried = [started.knowing(leaf=leaf, value=value) for leaf in leaves]
    return _unread(next((each for each in tried if each.finding(_NUMBER_READ).step > 1), tried[0]))


def _of_a_gradient(started: StartedLibrary, modules: Sequence[str], asking: Asking) -> str:
    """Describe the fault in the gradient of a number; return an empty string without one.

    The templates are the first ones of a tape.
    """
    tape = next(_tapes(started, modules, asking), None)
    if tape is None:
        return ""
    text = started.knowing(**tape).gradient_problem()
    return text and f"with backward = {tape['backward']} and gradient = {tape['gradient']}: {plain_line(text, LONGEST)}"


def _unread(started: StartedLibrary) -> str:
    """Describe the result for a number that was not read back."""
    text = plain_line(started.finding(_NUMBER_READ).message, LONGEST)
    return f"no tensor comes back with leaf = {started.adapter.leaf} and value = {started.adapter.value}: {text}"


def _spelling(started: StartedLibrary, modules: Sequence[str], kinds: Sequence[str], asking: Asking) -> _Spelling:
    """Choose the spellings of operators."""
    family, inherited = _family(started, modules, kinds)
    own = asking.operators
    right, unlike = _spelled(started, modules, kinds, frozenset({*inherited, *own}), asking.report)
    texts = {**right, **inherited, **own}
    return _Spelling(_with_spellings(started, texts), texts, family, unlike)


def _family(started: StartedLibrary, modules: Sequence[str], kinds: Sequence[str]) -> tuple[str, dict[str, list[str]]]:
    """Return the first family of which the library has enough rows, with those of its rows that give all spellings.

    Without such a family, both are empty.
    """
    table = operator_table()
    for family in candidates.KNOWN["families"]:
        rows = {name: [text.replace("{np}", modules[0]) for text in row] for name, row in family_rows(family).items()}
        existing = {ALIKE, *started.existing(chain.from_iterable(rows.values()))}
        enough = CHOICE["most_of_it"] * len(rows)
        fits = {name: row for name, row in rows.items() if started.has(table[name]) and existing.issuperset(row)}
        if len(fits) >= enough:
            fits = {
                name: row
                for name, row in fits.items()
                if all(started.computes(table[name], text, kinds) for text in row if text != ALIKE)
            }
        if len(fits) >= enough:
            return family, {name: row for name, row in fits.items() if ALIKE not in row}
    return "", {}


def _spelled(
    started: StartedLibrary, modules: Sequence[str], kinds: Sequence[str], known: frozenset[str], report: Report
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the right spellings of each operator that is not ``known``, and a wrong one if there is no right one."""
    accepted: dict[str, list[str]] = {}
    unlike: dict[str, str] = {}
    texts = {name: list(dict.fromkeys(candidates.spellings_of(row, modules))) for name, row in operator_table().items()}
    existing = started.existing(chain.from_iterable(texts.values()))
    for name, operator in operator_table().items():
        if name in known or not started.has(operator):
            continue
        report(f"trying {name}")
        right: dict[str, str] = {}
        for text in filter(existing.__contains__, texts[name]):
            function = text.partition("(")[0]
            if function in right or len(right) == CHOICE["most_spellings"]:
                continue
            finding = started.values(operator, text, kinds)
            if finding.outcome == "passed":
                right[function] = text
            elif finding.outcome != "unsupported":
                unlike.setdefault(name, text)
                if isinstance(finding.fact, Entry) and ARITHMETIC.fullmatch(text):
                    accepted[name] = [text]
        if right:
            accepted[name] = list(right.values())
            unlike.pop(name, None)
    return accepted, unlike


def _with_spellings(started: StartedLibrary, spelled: Mapping[str, Sequence[str]]) -> StartedLibrary:
    main = {name: texts[0] for name, texts in spelled.items()}
    further = {name: tuple(texts[1:]) for name, texts in spelled.items() if texts[1:]}
    return started.knowing(operators=main, aliases=further)


Ways = tuple[Texts, Texts]
"""The best templates of a tape, and those of a pullback."""


def _differentiating(started: StartedLibrary, kinds: Sequence[str], asking: Asking, ways: Ways) -> StartedLibrary:
    """Choose how gradients are computed: by a tape, or else by a pullback."""
    taped, pulled = ways
    kind = asking.chosen("kind", "tape" if taped else "functional" if pulled else None)
    if kind == "functional":
        started = started.functional(asking.chosen("vjp", pulled.get("vjp")))
        return started.knowing(nests=True, seed=pulled.get("seed", started.adapter.seed))
    templates = {name: asking.chosen(name, taped.get(name)) for name in ("backward", "gradient")}
    started = started.knowing(**templates, seed=taped.get("seed", asking.options.get("seed", started.adapter.seed)))
    reset = [{"zero_grad": text} for text in asking.among("zero_grad", candidates.resets(templates["gradient"]))]
    best = best_of(started, reset, lambda known: known.renewed().kinds_differentiated(kinds, reset=True))
    own = (each for each in reset if started.knowing(**each).has_own_reset())
    return started.knowing(**next(own, best))


def _ways(started: StartedLibrary, modules: Sequence[str], kinds: Sequence[str], asking: Asking) -> Ways:
    """Return the best templates of a tape, or else those of a pullback."""
    works = partial(StartedLibrary.kinds_differentiated, kinds=kinds)
    seen = started.inspected(modules)
    taped: Texts = {}
    for tried in (_tapes(started, modules, asking), _tapes(started, modules, asking, seen)):
        taped = taped or best_of(started, tried, works)
    if taped and "backward" not in asking.options:
        taped = {**taped, "backward": _retaining(started.knowing(**taped), taped["backward"], seen[1])}
    seeds = dict.fromkeys(["{array}", started.adapter.leaf])
    pulled_by = asking.among("vjp", candidates.with_module(candidates.KNOWN["vjp"], modules))
    pullbacks = ({"vjp": text, "seed": seed} for seed in asking.among("seed", seeds) for text in pulled_by)
    return taped, {} if taped else best_of(started.functional(), pullbacks, works)


def _retaining(started: StartedLibrary, text: str, called: Mapping[str, Sequence[str]]) -> str:
    """Return a backward with the keyword that retains a graph, if there is one.

    The value of the keyword decides whether a second backward of a graph is an error. If neither value leads to an
    error, the keyword must have a usual name.
    """
    for keyword in called.get(text.partition("(")[0], ()):
        spelled = candidates.retaining(text, keyword)
        kept = [started.knowing(backward=each).renewed().keeps_graphs() for each in spelled]
        if kept[0] != kept[1] or (kept[0] and keyword in candidates.KNOWN["retaining"]):
            return spelled[kept.index(True)]
    return text


def _tapes(started: StartedLibrary, modules: Sequence[str], asking: Asking, seen: Seen = ([], {})) -> Iterator[Texts]:
    """Yield templates of a backward and a gradient by these attributes and functions, or else by usual ones."""
    attributes, called = seen
    if started.adapter.leaf == candidates.PLAIN_LEAF or "vjp" in asking.options:
        return
    seeds = dict.fromkeys(["{array}", started.adapter.leaf.replace("{requires_grad}", "False")])
    for backward in asking.among(
        "backward", candidates.backwards(called) or candidates.with_module(candidates.KNOWN["backward"], modules)
    ):
        tried = asking.among("seed", seeds if "{seed}" in backward else ["{array}"])
        running = [seed for seed in tried if started.runs_backward(backward=backward, seed=seed)]
        for gradient in asking.among("gradient", candidates.gradients(started.adapter.value, attributes)):
            yield from ({"backward": backward, "gradient": gradient, "seed": seed} for seed in running)


Works = Callable[[StartedLibrary], Sequence[str]]
"""Function that returns the kinds of arrays for which a library works."""


def best_of(started: StartedLibrary, candidates: Iterable[Texts], works: Works) -> Texts:
    """Return the first candidate that works for the most kinds of arrays; an empty mapping if none works."""
    best: tuple[int, Texts] = (0, {})
    for fields in candidates:
        try:
            count = len(works(started.knowing(**fields)))
        except UserError:  # a template that does not fit what is known, such as one without its seed
            continue
        best = max(best, (count, fields), key=lambda pair: pair[0])
        if count > len(trials.KINDS):
            break
    return best[1]


LENIENT: Final = frozenset({"open", "overwrites", "replaces"})
"""Values of the policy that allow gradients which are wrong under the other values."""


def with_policy(started: StartedLibrary) -> StartedLibrary:
    """Choose the value of each field of the policy: the first one under which no scenario of its claim fails.

    If plain programs with one backward are wrong, no value is chosen that would allow a wrong gradient.
    """
    if isinstance(started.adapter, FunctionalAdapter):
        return started
    types, claims = get_type_hints(Policy), claims_about("policies")
    excluded = LENIENT if trials.faults_of_one_backward(started) else frozenset()
    for field in ("implicit_seed", "keeps", "accumulates", "frees"):
        for value in (value for value in get_args(types[field]) if value not in excluded):
            known = started.knowing(policy=replace(started.adapter.policy, **{field: value}))
            findings = [known.finding(scenario) for scenario in claims[field].scenarios if known.runnable(scenario)]
            if findings and not any(finding.failed for finding in findings):
                started = known
                break
    return started


def with_dtypes(started: StartedLibrary) -> StartedLibrary:
    """Declare the dtypes that values and gradients keep, besides the one in which everything is computed.

    Libraries of Python floats have only float64.
    """
    if started.adapter.scalars_only and started.holds_floats():
        return started
    for name, claim in claims_about("dtypes").items():
        if name not in started.adapter.dtypes:
            known = started.knowing(dtypes=(*started.adapter.dtypes, name))
            started = known if known.holds(claim) else started
    return started


def with_optional(started: StartedLibrary, modules: Sequence[str]) -> StartedLibrary:
    """Keep each optional field that gives a feature that works."""
    kind = "functional" if isinstance(started.adapter, FunctionalAdapter) else "tape"
    for field, texts in candidates.KNOWN["optional"][kind].items():
        for text in candidates.with_module(texts, modules) if getattr(started.adapter, field) is None else ():
            known = started.knowing(**{field: text})
            gained = {name for name in known.adapter.features - started.adapter.features if "error:" not in name}
            if any(known.holds(claim) for name, claim in claims_about("features").items() if name in gained):
                started = known
                break
    return started


def without_what_fails(started: StartedLibrary, asking: Asking) -> StartedLibrary:
    """Leave out the templates of features that do not work, and declare further failing features as lacking.

    Templates that are given are kept.
    """
    failed = _lacking(started)
    if isinstance(started.adapter, FunctionalAdapter):
        started = started.knowing(nests=started.adapter.nests and "double_backward" not in failed)
    elif "zero_grad" in failed and "zero_grad" not in asking.options:
        started = started.knowing(zero_grad=None)
    return started.knowing(lacks=frozenset(_lacking(started)))


def _lacking(started: StartedLibrary) -> set[str]:
    """Return the features that follow from the templates and do not work.

    Features that fail only because of another feature are not among them. Neither are those that give wrong numbers
    under the policy that fits best: these are left to a report. ``retain_graph`` is among them if a second backward
    propagates gradients that results kept.
    """
    features = started.adapter.features
    claims = [claim for name, claim in claims_about("features").items() if name in features]
    failed = [claim for claim in claims if started.holds(claim) is False]
    names = {claim.name for claim in failed}
    lacking = {
        claim.name
        for claim in failed
        if not _holds_without(started, claim, names - {claim.name}) and not _gives_numbers(started, claim)
    }
    kept = "retain_graph" in features and trials.sends_kept_gradients_again(started)
    return lacking | {"retain_graph"} if kept else lacking


def _gives_numbers(started: StartedLibrary, claim: Claim) -> bool:
    """Return True if a feature that follows from the policy fails only by wrong numbers.

    For ``zero_grad``, return True if the reset is a method of the library.
    """
    if claim.name not in BY_POLICY:
        return claim.name == "zero_grad" and started.has_own_reset()
    findings = map(started.finding, filter(started.runnable, claim.scenarios))
    return all(isinstance(each.fact, Entry) for each in findings if each.outcome not in RIGHT)


def _holds_without(started: StartedLibrary, claim: Claim, others: AbstractSet[str]) -> bool:
    """Return True if a feature works in the scenarios that need none of some other features."""
    apart = tuple(each for each in claim.scenarios if not required_features(each) & others)
    return bool(started.knowing(lacks=frozenset(others)).holds(replace(claim, scenarios=apart)))
