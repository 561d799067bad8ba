"""Dependence of a scenario's results on one entry, determined by the certified oracle with other numbers there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from refgrad.generation import Place
from refgrad.grading.judging.comparison import Due
from refgrad.interpreter import NUMPY_FUNCTIONS, Float64, evaluate, keywords
from refgrad.lifecycle import ExpectedValue, Gradient
from refgrad.native.adapter import AnyAdapter
from refgrad.operators import Operator, operator_table
from refgrad.oracles import CertifiedOracle
from refgrad.oracles.certified.certified import Certified
from refgrad.oracles.certified.ranged import plain_ball
from refgrad.scenario import Apply, Backward, Leaf

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]
Expectation = ExpectedValue | Gradient

NEAR: Final = 1 + 1 / 64
APART: Final = (1.5, 5.0, 9.0)
"""Distances beyond the largest and below the smallest number at which the entry is probed.

Most functions are not flat yet at these distances.
"""

ENOUGH: Final = 3
"""Least number of probes with a finite result that show that the result depends on the entry everywhere."""

TOWARDS_INFINITY: Final = (2.0**30, 2.0**60, 2.0**120)
"""Magnitudes at which a limit is estimated. Each is the square of the last, and FLINT can compute exp of all."""

CLOSE: Final = 1e-8
"""Largest distance from the limit at the last two of these magnitudes, relative to max(1, |limit|)."""

GROWS: Final = 1.5
"""Least factor by which a result without a finite limit grows from one magnitude to the next; a logarithm doubles."""


@dataclass(frozen=True)
class Dependence:
    """Dependence of the results of a scenario on one entry of an operand."""

    place: Place
    adapter: AnyAdapter

    @cached_property
    def oracle(self) -> CertifiedOracle:
        """Certified oracle of the scenario with the ordinary number."""
        return self._oracle(self.place.number)

    @cached_property
    def row(self) -> Operator:
        """Row of the operator."""
        return operator_table()[self._step.operator]

    def due(self, read: Expectation) -> Due:
        """Return the expected result with the ordinary number."""
        return Due(self.oracle, read, self.adapter)

    def is_free(self, read: Expectation) -> Mask:
        """Return the mask of result entries that do not depend on the entry.

        NaN cannot reach them, and they are the same for all numbers. The derivative with respect to the entry itself is
        never free: a rule may be written with its number, such as a product divided by a factor.
        """
        return self.may_be_free(read) & ~self.moves(read)

    def may_be_free(self, read: Expectation) -> Mask:
        """Return the mask of result entries that are finite in the oracle with NaN in the entry; a branch may hide it.

        The derivative with respect to the entry itself is left out.
        """
        return _finite(self._certified(self._of_nan, read)) & ~self._is_at_place(read)

    def may_move(self, read: Expectation) -> Mask:
        """Return the mask of result entries that NaN reaches in the oracle or, for a value, in float64."""
        mask = ~self.may_be_free(read)
        return mask | np.isnan(self._plain(read, math.nan)) if isinstance(read, ExpectedValue) else mask

    def moves(self, read: Expectation) -> Mask:
        """Return the mask of result entries that differ for at least two of the probed numbers."""
        return self._differ(read)[0]

    def always_moves(self, read: Expectation) -> Mask:
        """Return the mask of result entries that differ for every two of the probed numbers."""
        return self._differ(read)[1]

    def passed_on(self, value: ExpectedValue, number: float) -> Numbers:
        """Return the values that are ``number`` itself, or a function of it alone if it is large; NaN elsewhere.

        A value is NaN, too, where evaluation in float64 does not agree with it.
        """
        plain = self._plain(value, number)
        truth = self._certified(self._oracle(number), value).midpoint
        is_itself = truth == number
        if is_itself.any() and not self.row.elementwise:
            is_itself &= self._is_handed_on(value)
        is_function = np.full(truth.shape, abs(number) > 1 and self.row.elementwise and len(self.row.arguments) == 1)
        with np.errstate(all="ignore"):
            known = np.isfinite(truth) & (np.abs(plain - truth) <= CLOSE * np.abs(truth))
        return np.where(known & (is_itself | is_function), truth, math.nan)

    def limits(self, read: Expectation, number: float) -> Numbers:
        """Return the limits of result entries towards an infinity; NaN where one is not certain or not easy to compute.

        A limit is easy to compute if the operator is not composite and the formula of the value, or of a derivative
        that is finite, gives it at the infinity.
        """
        if self.row.composite is not None or (isinstance(read, Gradient) and not self.row.elementwise):
            return np.full(self.due(read).certified().shape, math.nan)
        plain = self._plain(read, number) if isinstance(read, ExpectedValue) else self._plain_slope(read, number)
        if np.isnan(plain).all():
            return plain
        moving = self.moves(read) | self._is_same_entry(read)
        towards = [self._certified(self._oracle(math.copysign(far, number)), read) for far in TOWARDS_INFINITY]
        return np.where(_approached(towards, plain) & moving, plain, math.nan)

    def _is_handed_on(self, value: ExpectedValue) -> Mask:
        """Return the mask of result entries that equal the entry, whichever number it holds."""
        balls = (self._certified(oracle, value).midpoint == number for number, oracle in self._replaced.items())
        mask: Mask = np.all(list(balls), axis=0)
        return mask

    @cached_property
    def _of_nan(self) -> CertifiedOracle:
        return self._oracle(math.nan)

    @cached_property
    def _replaced(self) -> dict[float, CertifiedOracle]:
        number, others = self.place.number, self.place.others
        low, high = float(others.min(initial=number)), float(others.max(initial=number))
        numbers = (number * NEAR, *(high + step for step in APART), *(low - step for step in APART))
        return {number: self.oracle, **{each: self._oracle(each) for each in numbers}}

    @cached_property
    def _step(self) -> Apply:
        return self.place.base.applications[0]

    def _oracle(self, number: float) -> CertifiedOracle:
        return CertifiedOracle(self.place.holding(number), self.adapter.dtype)

    def _certified(self, oracle: CertifiedOracle, read: Expectation) -> Certified:
        return Due(oracle, read, self.adapter).certified()

    @cached_property
    def _masks(self) -> dict[Expectation, tuple[Mask, Mask]]:
        return {}

    def _differ(self, read: Expectation) -> tuple[Mask, Mask]:
        """Return the masks of entries that differ for at least two, and for every two, of the probed numbers."""
        if read not in self._masks:
            self._masks[read] = _differing([self._certified(oracle, read) for oracle in self._replaced.values()])
        return self._masks[read]

    def _plain(self, value: ExpectedValue, number: float) -> Numbers:
        values: Mapping[str, Numbers] = evaluate(self.place.holding(number), Float64())
        return values[value.lowered]

    def _plain_slope(self, gradient: Gradient, number: float) -> Numbers:
        """Return the row's formula of the partial derivative at an infinity times the seed; NaN where not finite."""
        values = evaluate(self.place.holding(number), Float64())
        out, shape = values[self._step.name], values[gradient.leaf].shape
        backward = [step for step in self.place.base.steps if isinstance(step, Backward)]
        argument = self.row.argument_names[self._step.arguments.index(gradient.leaf)]
        plain = {shape, *(values[name].shape for name in self._step.arguments)} == {out.shape}
        if not plain or len(backward) != 1 or backward[0].output != self._step.name or backward[0].seed is None:
            return np.full(shape, math.nan)
        operands = [values[name] for name in self._step.arguments]
        with np.errstate(all="ignore"):
            slope = _slope(self.row, argument)(*operands, out, **self.row.bind(keywords(self._step)))
            product = np.broadcast_to(slope * backward[0].seed.to_numpy(), shape)
        return np.where(np.isfinite(product) & ~np.isnan(out), product, math.nan)

    def _is_same_entry(self, read: Expectation) -> Mask:
        """Return the mask of the derivative with respect to the same index of any operand of the same shape."""
        leaf = self.place.base.definitions[self.place.leaf]
        assert isinstance(leaf, Leaf)
        mask = np.zeros(self.due(read).certified().shape, dtype=bool)
        if isinstance(read, Gradient) and mask.shape == leaf.value.shape:
            mask.flat[self.place.entry] = True
        return mask

    def _is_at_place(self, read: Expectation) -> Mask:
        """Return the mask of the derivative with respect to the entry itself."""
        is_own = isinstance(read, Gradient) and read.leaf == self.place.leaf
        return self._is_same_entry(read) & is_own


@cache
def _slope(row: Operator, argument: str) -> Callable[..., Any]:
    parameters = (*row.argument_names, "out", *row.attribute_names)
    return row.partials[argument].function(parameters, NUMPY_FUNCTIONS)


def _finite(certified: Certified) -> Mask:
    flat = [plain_ball(ball).is_finite() for ball in certified.balls.ravel().tolist()]
    return np.asarray(flat, dtype=bool).reshape(certified.shape)


def _differing(certified: list[Certified]) -> tuple[Mask, Mask]:
    """Return the masks of entries that differ in at least two, and in every two, of the arrays."""
    some, every = (np.zeros(certified[0].shape, dtype=bool) for _ in range(2))
    for index in np.ndindex(some.shape):
        balls = [ball for ball in (plain_ball(each.balls[index]) for each in certified) if ball.is_finite()]
        pairs = [not ball.overlaps(other) for number, ball in enumerate(balls) for other in balls[:number]]
        some[index], every[index] = any(pairs), len(balls) >= ENOUGH and all(pairs)
    return some, every


def _approached(towards: list[Certified], limit: Numbers) -> Mask:
    """Return the mask of entries that approach ``limit``, which may be infinite."""
    first, second, third = (each.midpoint for each in towards)
    certain = np.all([_finite(each) for each in towards], axis=0)
    with np.errstate(all="ignore"):
        near = np.abs(np.stack([second, third]) - limit) <= CLOSE * np.maximum(1.0, np.abs(limit))
        grows = np.sign(third) == np.sign(limit)
        for before, after in ((first, second), (second, third)):
            grows = grows & ((np.abs(after) >= GROWS * np.abs(before)) | np.isinf(before))
    mask: Mask = certain & np.where(np.isinf(limit), grows, near.all(axis=0))
    return mask
