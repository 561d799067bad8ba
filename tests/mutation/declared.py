"""Faults that are written down one by one: those that were once missed, and those that change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Named:
    """An expression in a function, or in a table, that is replaced by another one."""

    module: str
    function: str
    old: str
    new: str


def _times(factor: int, module: str, function: str, old: str) -> Named:
    return Named(module, function, old, f"{factor} * ({old})")


ORACLES, CHECKING, GRADING = "refgrad/oracles", "refgrad/checking", "refgrad/grading"

NAMED: tuple[Named, ...] = (
    # what judges
    _times(100, f"{ORACLES}/judgement.py", "_right_to_the_last_bits", "ALLOWANCE * certified.form.unit"),
    _times(100, f"{ORACLES}/judgement.py", "_outcomes", "ALLOWANCE * (budget + form.unit * np.abs(truth))"),
    _times(1000, f"{ORACLES}/judgement.py", "_outcomes", "form.unit * np.abs(truth)"),
    _times(1000, f"{ORACLES}/judgement.py", "_outcomes", "form.underflow"),
    _times(100, f"{ORACLES}/judgement.py", "_outcomes", "vague * size"),
    _times(
        100,
        f"{ORACLES}/judgement.py",
        "has_choices",
        "VAGUE_ABOVE * np.maximum(1.0, np.abs(certified.midpoint))",
    ),
    _times(100, f"{ORACLES}/judgement.py", "_outcomes", "inaccurate_below(form) * np.abs(truth)"),
    _times(100, f"{ORACLES}/judgement.py", "_outcomes", "np.maximum(budget - radius, 0.0)"),
    _times(100, f"{ORACLES}/judgement.py", "vague_above", "_same_share(VAGUE_ABOVE, form)"),
    _times(100, f"{ORACLES}/judgement.py", "inaccurate_below", "_same_share(INACCURATE_BELOW, form)"),
    _times(1000, f"{ORACLES}/judgement.py", "violation", "float(slack[indices] @ np.abs(direction[indices]))"),
    _times(100, f"{ORACLES}/judgement.py", "violation", "np.maximum(budget - radius, 0.0)"),
    _times(100, f"{ORACLES}/judgement.py", "smooth_directions", "NULL * max(sizes.max(), 1.0)"),
    _times(100, f"{GRADING}/judging/comparison.py", "_may_cancel", "ALLOWANCE * oracle.form.unit * largest"),
    # the truth and the rounding budget
    _times(100, f"{ORACLES}/certified/arithmetic.py", "Arithmetic.enter", "abs(number) * 2.0 ** (-self.bits)"),
    _times(100, f"{ORACLES}/certified/ranged.py", "_fitted", "form.underflow"),
    _times(100, f"{ORACLES}/certified/ranged.py", "_fitted", "form.smallest_normal"),
    _times(100, f"{ORACLES}/certified/series.py", "change_noise", "2.0 ** (-bits)"),
    _times(
        100, f"{ORACLES}/certified/certified.py", "_radii", "np.array(radii, dtype=np.float64).reshape(balls.shape)"
    ),
    # differences
    _times(100, f"{ORACLES}/slopes/slopes.py", "_rounding", "ROUNDING_SAFETY * deviation * RATIO ** 2 / steps"),
    _times(100, f"{ORACLES}/slopes/slopes.py", "_extrapolated", "4 * rounding"),
    _times(100, f"{ORACLES}/slopes/slopes.py", "_largest", "curves.unit * largest"),
    _times(100, f"{ORACLES}/slopes/one_sided.py", "side_slopes", "TRUNCATION_SAFETY * change"),
    _times(100, f"{ORACLES}/slopes/one_sided.py", "side_slopes", "ROUNDING_SAFETY * np.hypot(noise[side], noise[0])"),
    _times(100, f"{ORACLES}/slopes/one_sided.py", "one_sided", "np.abs(value) + 1.0"),
    _times(100, f"{ORACLES}/slopes/slopes.py", "noise_along", "scale.unit * largest"),
    _times(100, f"{ORACLES}/slopes/curves.py", "table_noise_at_kinks", "np.sort(np.abs(table), axis=0)[rank] / size"),
    _times(1000, f"{ORACLES}/slopes/claim.py", "ClaimedGradient.interval", "ALLOWANCE * unit * terms"),
    _times(
        1000,
        f"{ORACLES}/slopes/claim.py",
        "ClaimedGradient.interval",
        "ALLOWANCE * unit * (summed if np.isfinite(lower + upper + summed) else 0.0)",
    ),
    _times(
        100,
        f"{ORACLES}/slopes/claim.py",
        "DifferencesJudge.jitter",
        "ROUNDING_SAFETY * np.sqrt(largest / comb(2 * JITTER_ORDER, JITTER_ORDER))",
    ),
    _times(
        100,
        f"{ORACLES}/screening.py",
        "tolerance",
        "ALLOWANCE * FORMATS[rounding.dtype].unit * LARGEST_WEIGHT * math.sqrt(count * roundings)",
    ),
    Named(
        f"{CHECKING}/libraries/trees.py",
        "NEARBY_TOLERANCE",
        "{'float64': 1e-10, 'float32': 0.0001, 'float16': 0.03, 'bfloat16': 0.2, "
        "'float8_e4m3fn': 0.5, 'float8_e5m2': 0.5}",
        "{'float64': 1e-07, 'float32': 0.1, 'float16': 30.0, 'bfloat16': 200.0, "
        "'float8_e4m3fn': 500.0, 'float8_e5m2': 500.0}",
    ),
)
"""What was once missed, and what stands between a number and its verdict without a name of its own."""

NO_TOLERANCES: Mapping[str, str] = MappingProxyType({
    f"{ORACLES}/certified/ball_tape.py::CONSTANT": "a number that stands for no node",
    f"{ORACLES}/certified/ball_tape.py::ONE": "a node's number",
    f"{ORACLES}/certified/certified.py::TRUTH_BITS": "a precision: more of it is slower, and as right",
    f"{ORACLES}/certified/certified.py::HIGHEST_BITS": "a precision, likewise",
    f"{ORACLES}/judgement.py::RANDOM_DIRECTIONS": "how often something is tried",
    f"{ORACLES}/judgement.py::LARGEST_NUMBER": "how many entries are looked at: more is slower",
    f"{ORACLES}/slopes/directions.py::DIRECTIONS": "how often something is tried",
    f"{ORACLES}/slopes/directions.py::FEW_DIRECTIONS": "how often something is tried",
    f"{ORACLES}/slopes/directions.py::FIRST_STEPS": "how often something is tried",
    f"{ORACLES}/slopes/claim.py::JITTER_POINTS": "how often something is tried",
    f"{ORACLES}/slopes/directions.py::GROUPS": "how finely entries are told apart",
    f"{ORACLES}/screening.py::LEAST_SHARE": "how much small entries weigh: more is stricter",
    f"{ORACLES}/screening.py::TINY": "a scale far below all numbers, as a hundred times as much is",
    f"{ORACLES}/screening.py::IMAGINARY": "a scale far below all numbers, likewise",
    "refgrad/interpreter/float64.py::REMEMBERED": "how many values are kept: more takes more memory",
    f"{CHECKING}/check.py::OWN_SEEDS": "how many outputs are run backward by themselves, too",
    f"{CHECKING}/check.py::STRETCH": "how much rows of the Jacobian are weighed alike: more is stricter",
    f"{CHECKING}/__init__.py::BUDGET": "how long a check may take",
    f"{CHECKING}/libraries/torch_tensors.py::MOST_NODES": "how many nodes are asked: more is slower",
    f"{CHECKING}/modes.py::BATCH": "how often something is tried",
    f"{CHECKING}/modes.py::SEEDS": "how often something is tried",
    f"{CHECKING}/tracing/__init__.py::LARGEST_CERTIFIED": "how much is certified: more is slower",
    f"{CHECKING}/certified.py::STEP": "a step to both sides of what is certified: a longer one confirms less",
    f"{ORACLES}/slopes/directions.py::OFFSET": "a step by which a slope is seen, roughly",
    f"{ORACLES}/slopes/claim.py::FAR_OFF": "how far off a quick look finds wrong: more is left to a thorough one",
    f"{ORACLES}/slopes/claim.py::PLAIN": "how far off a quick look finds wrong, likewise",
    f"{CHECKING}/tracing/inner_edges.py::ENTRIES": "how often something is tried: more is slower",
    f"{CHECKING}/explanation.py::TIMES": "how often something is tried: more is slower",
    f"{CHECKING}/explanation.py::EDGES": "how often something is tried: more is slower",
    f"{CHECKING}/check.py::BACK": "a factor of a seed that is taken out of its gradient again",
    f"{CHECKING}/check.py::HIDING": "how much rows of the Jacobian are weighed alike: more is stricter",
    "refgrad/engine/replay/program.py::LINES": "how long the functions of a program are, which is for speed",
})
"""Constants, by module and name, of which more makes nothing laxer, with what they are."""

EQUIVALENT: Mapping[str, str] = MappingProxyType({
    f"{ORACLES}/certified/certified.py::_radii::copy::np.array(radii, dtype=np.float64) -> "
    "np.asarray(radii, dtype=np.float64)::1": "what is copied is a list, of which an array is made at any rate",
    f"{CHECKING}/explanation.py::explain::comparison::discrepancy.entry is None -> discrepancy.entry is not None::1": (
        "the entry is looked for while the seeds are halved, which takes longer"
    ),
    f"{ORACLES}/screening.py::_random_weights::boundary::numbers < HALF -> numbers <= HALF::1": (
        "one of 2 ** 53 numbers that may be drawn"
    ),
    f"{ORACLES}/judgement.py::_infinite::copy::np.array(np.isinf(certified.midpoint)) -> "
    "np.asarray(np.isinf(certified.midpoint))::1": "what is copied was just made",
    f"{GRADING}/checks/isolation.py::isolated::copy::np.array(float(n)) -> np.asarray(float(n))::1": (
        "what is copied is a number"
    ),
    f"{GRADING}/journal.py::Journal.append::statement::file.truncate() -> nothing::1": (
        "what is left of a cut line has no end, and is dropped whenever it is read"
    ),
    "refgrad/facts/arrays.py::Numbers.text::copy::np.array(self.entries, dtype=object) -> "
    "np.asarray(self.entries, dtype=object)::1": "what is copied is a tuple",
    f"{ORACLES}/certified/certified.py::narrowest::boundary::certified.radius <= certified.budget -> "
    "certified.radius < certified.budget::1": "an exact zero is looked at in more bits, and stays one",
    "refgrad/engine/replay/passes.py::_Sweep.fit::and, or::type(cotangent.value) is np.float64 or "
    "term.value.shape == operand.shape -> type(cotangent.value) is np.float64 and "
    "term.value.shape == operand.shape::1": (
        "what has its shape already is fitted to it once more, and comes out as it was"
    ),
    "refgrad/engine/graph/tensor.py::Tensor.shared_array::copy::np.array(self.array) -> np.asarray(self.array)::1": (
        "what is copied is a numpy scalar"
    ),
})
"""Faults, by id, that change nothing that anybody could see, with the reason."""
