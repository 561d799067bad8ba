"""Numbers with several infinitesimals, each of which squares to zero, as one power series in t.

A number with infinitesimals e₁ … eₙ has a coefficient for each product of some of them, as mixed derivatives need. Let
eᵢ be t to the power of an integer aᵢ. FLINT's series compute with such numbers, provided that the exponent of each
product of different infinitesimals is the sum of no other collection of the aᵢ. Then squares of infinitesimals, and
powers of t that represent no product, never contribute to a coefficient that is read (L. Kronecker's substitution, with
gaps).

Collections of j of the numbers m + 2ⁱ (i < n) sum to j m and j powers of two. If m is large, that sum determines j, and
j powers of two have a sum with j binary ones only if they differ. So some m has the property, and the least is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import count as counted
from typing import Any

from flint import arb, arb_series


@cache
def places(count: int) -> tuple[int, ...]:
    """Return the exponent of t of each product of infinitesimals: bit i of a product's index is set if it contains eᵢ.

    One infinitesimal is t itself; two are t² and t³, and their product is t⁵.
    """
    return next(found for found in (_sums(m, count) for m in counted()) if _each_in_one_way(found, count))


def _sums(offset: int, count: int) -> tuple[int, ...]:
    return tuple(sum(offset + 2**i for i in range(count) if product >> i & 1) for product in range(2**count))


def _each_in_one_way(sums: tuple[int, ...], count: int) -> bool:
    """Return True if each of the sums is the sum of one collection only, with repetitions allowed."""
    ways = [1] + [0] * sums[-1]
    for exponent in (sums[2**i] for i in range(count)):
        for total in range(exponent, len(ways)):
            ways[total] += ways[total - exponent]
    return all(ways[total] == 1 for total in sums)


def length(count: int) -> int:
    """Return the number of coefficients of a series that holds ``count`` infinitesimals."""
    return places(count)[-1] + 1


def parts(number: Any, count: int) -> tuple[Any, ...]:
    """Return the coefficient of each product of infinitesimals; NaN where the series knows too few coefficients."""
    if type(number) is not arb_series:
        return (arb(number), *[arb(0)] * (2**count - 1))
    known = number.prec
    return tuple(number[place] if place < known else arb.nan() for place in places(count))


def assembled(coefficients: Sequence[Any]) -> Any:
    """Return the number with these coefficients: a ball if there is only one, else a series."""
    if len(coefficients) == 1:
        return coefficients[0]
    where = places(len(coefficients).bit_length() - 1)
    dense: list[Any] = [0] * (where[-1] + 1)
    for place, coefficient in zip(where, coefficients, strict=True):
        dense[place] = coefficient
    return arb_series(dense)
