"""Numbers with several infinitesimals, each of which squares to zero, as one power series in t.

A number with infinitesimals e₁ … eₙ has a coefficient for each product of some of them, as mixed derivatives need. With
eᵢ = t to a whole power aᵢ, FLINT's series compute with such numbers, provided that the exponent of each product of
different infinitesimals is the sum of no other collection of the aᵢ: then whatever squares, and the powers of t that
stand for nothing, never come into a coefficient that counts (L. Kronecker's substitution, with gaps).

Collections of j of the numbers m + 2ⁱ (i < n) sum to j m and j powers of two; if m is large that sum tells j, and j
powers of two have a sum with j binary ones only if they differ. So some m will do, and the least one is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import count as counted
from typing import Any

from flint import arb, arb_series


@cache
def places(count: int) -> tuple[int, ...]:
    """Return the exponent of t that stands for each product of infinitesimals: bit i of its number says if eᵢ is in it.

    One infinitesimal is t itself; two are t² and t³, and their product is t⁵.
    """
    return next(found for found in (_sums(m, count) for m in counted()) if _each_in_one_way(found, count))


def _sums(offset: int, count: int) -> tuple[int, ...]:
    return tuple(sum(offset + 2**i for i in range(count) if product >> i & 1) for product in range(2**count))


def _each_in_one_way(sums: tuple[int, ...], count: int) -> bool:
    """Whether each of the sums is that of one collection only, repetitions being allowed."""
    ways = [1] + [0] * sums[-1]
    for exponent in (sums[2**i] for i in range(count)):
        for total in range(exponent, len(ways)):
            ways[total] += ways[total - exponent]
    return all(ways[total] == 1 for total in sums)


def length(count: int) -> int:
    """Return how many coefficients a series needs to hold so many infinitesimals."""
    return places(count)[-1] + 1


def parts(number: Any, count: int) -> tuple[Any, ...]:
    """Return the coefficient of each product of infinitesimals; not numbers where the series knows too few."""
    if type(number) is not arb_series:
        return (arb(number), *[arb(0)] * (2**count - 1))
    known = number.prec
    return tuple(number[place] if place < known else arb.nan() for place in places(count))


def assembled(coefficients: Sequence[Any]) -> Any:
    """Return the number with these coefficients: a ball if there is one of them, else a series."""
    if len(coefficients) == 1:
        return coefficients[0]
    where = places(len(coefficients).bit_length() - 1)
    dense: list[Any] = [0] * (where[-1] + 1)
    for place, coefficient in zip(where, coefficients, strict=True):
        dense[place] = coefficient
    return arb_series(dense)
