"""The arithmetic of luck: exact tails by convolution, in integers, and the few tests that docs/luck.md lists.

What is exact stays a `Fraction` until it is shown. Floats are there only where no exact answer is in reach: the
chi-square tail, the normal tail of very many rolls, and what a number of rolls could have shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import groupby
from math import erfc, exp, factorial, lgamma, log, prod, sqrt
from typing import Final, NamedTuple

BUDGET: Final = 1_000_000
"""Most multiplications of an exact tail, about half a second; above that the tail is the normal one."""


class Lot(NamedTuple):
    """What a roll may come to: ``weights[i]`` of the equally likely cases give ``low + i``."""

    low: int
    weights: tuple[int, ...]

    @property
    def total(self) -> int:
        """How many equally likely cases there are."""
        return sum(self.weights)

    @property
    def mean(self) -> Fraction:
        return Fraction(sum((self.low + i) * weight for i, weight in enumerate(self.weights)), self.total)

    @property
    def variance(self) -> Fraction:
        mean = self.mean
        return sum(
            (Fraction(weight, self.total) * (self.low + i - mean) ** 2 for i, weight in enumerate(self.weights)),
            Fraction(0),
        )


def lot_of(values: Iterable[int]) -> Lot:
    """The lot of these equally likely values."""
    listed = sorted(values)
    return Lot(listed[0], tuple(listed.count(value) for value in range(listed[0], listed[-1] + 1)))


def chance_of(hits: int, total: int) -> Lot:
    """1 with ``hits`` chances in ``total``, else 0."""
    return Lot(0, (total - hits, hits))


@lru_cache(200)
def times(lot: Lot, n: int) -> Lot:
    """The sum of ``n`` independent rolls of a lot."""
    if n == 1:
        return lot
    half = times(lot, n // 2)
    twice = plus(half, half)
    return plus(twice, lot) if n % 2 else twice


def plus(one: Lot, other: Lot) -> Lot:
    """The sum of two independent rolls: a convolution."""
    weights = [0] * (len(one.weights) + len(other.weights) - 1)
    for i, weight in enumerate(one.weights):
        for j, further in enumerate(other.weights):
            weights[i + j] += weight * further
    return Lot(one.low + other.low, tuple(weights))


class Tails(NamedTuple):
    """The odds of at least, and of at most, what came. ``exact``: or by the normal curve, with half a step's leave."""

    at_least: Fraction
    at_most: Fraction
    exact: bool


def tails(lots: Sequence[Lot], got: int) -> Tails:
    """How likely fair dice give at least, and at most, ``got`` in these rolls together."""
    kinds = [(lot, len(list(same))) for lot, same in groupby(sorted(lots))]
    span = sum((len(lot.weights) - 1) * n for lot, n in kinds)
    if span * span // 2 > BUDGET:
        return _normal_tails(lots, got)
    whole = Lot(0, (1,))
    for lot, n in kinds:
        whole = plus(whole, times(lot, n))
    place = min(max(got - whole.low, -1), len(whole.weights))
    return Tails(
        Fraction(sum(whole.weights[max(place, 0) :]), whole.total),
        Fraction(sum(whole.weights[: place + 1]), whole.total),
        exact=True,
    )


def _normal_tails(lots: Sequence[Lot], got: int) -> Tails:
    mean, sd = float(sum(lot.mean for lot in lots)), sqrt(float(sum(lot.variance for lot in lots)))
    upper, lower = ((got - mean + half) / sd for half in (-0.5, 0.5))
    return Tails(Fraction(erfc(upper / sqrt(2)) / 2), Fraction(erfc(-lower / sqrt(2)) / 2), exact=False)


# -- faces -----------------------------------------------------------------------------------------------------------


def chi_square(counts: Sequence[int]) -> Fraction:
    """Pearson's statistic of counts against all faces being equally likely."""
    n, k = sum(counts), len(counts)
    return Fraction(k * sum(count * count for count in counts), n) - n


def multinomial_tail(counts: Sequence[int]) -> Fraction:
    """The odds that fair dice differ from equal counts as much as these or more, by the statistic: every table is
    listed, those alike in all but their order at once."""
    n, k = sum(counts), len(counts)
    seen = sum(count * count for count in counts)
    ways = 0
    for table in _tables(n, k, n):
        if sum(count * count for count in table) >= seen:
            orders = factorial(k) // prod(factorial(len(list(same))) for _, same in groupby(table))
            ways += orders * factorial(n) // prod(map(factorial, table))
    return Fraction(ways, k**n)


def _tables(n: int, k: int, most: int) -> Iterator[tuple[int, ...]]:
    """Counts of k faces that add up to n, each way once, falling."""
    if k == 1:
        if n <= most:
            yield (n,)
        return
    for first in range(min(n, most), -1, -1):
        if first * k < n:
            return
        for rest in _tables(n - first, k - 1, first):
            yield (first, *rest)


def chi_square_tail(x: float, df: int) -> float:
    """The odds of a chi-square of at least x: the regularised upper gamma function Q(df/2, x/2)."""
    return gamma_tail(df / 2, x / 2)


def gamma_tail(a: float, x: float) -> float:
    """Q(a, x): by its series below a + 1, by its continued fraction above (Abramowitz and Stegun 6.5.29, 6.5.31)."""
    if x <= 0:
        return 1.0
    scale = exp(a * log(x) - x - lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while term > total * 1e-16:
            n += 1
            term *= x / n
            total += term
        return max(0.0, 1 - total * scale)
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for i in range(1, 10_000):
        an = -i * (i - a)
        b += 2
        d = 1 / (an * d + b)
        c = b + an / c
        h *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return h * scale


@cache
def critical(df: int, alpha: float) -> float:
    """The chi-square that is reached with odds ``alpha``."""
    low, high = 0.0, 10.0 * df + 100
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if chi_square_tail(middle, df) > alpha else (low, middle)
    return low


def power(n: int, odds: Sequence[float], alpha: float) -> float:
    """How often n throws of a die with these odds are found unfair by chi-square at ``alpha``: the tail of the
    noncentral chi-square, a Poisson mixture of central ones. Good from about 30 throws on."""
    k = len(odds)
    shift = n * k * sum((chance - 1 / k) ** 2 for chance in odds) / 2
    bound, found = critical(k - 1, alpha), 0.0
    middle, width = int(shift), int(10 * sqrt(shift) + 30)
    for j in range(max(0, middle - width), middle + width):
        weight = exp(j * log(shift) - shift - lgamma(j + 1)) if shift else float(j == 0)
        found += weight * chi_square_tail(bound, k - 1 + 2 * j)
    return found


def findable(n: int, k: int, alpha: float = 0.01, often: float = 0.8) -> float:
    """The least odds of one face, the others being alike, that n throws of a k-sided die show that often."""
    low, high = 1 / k, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        found = power(n, [middle, *[(1 - middle) / (k - 1)] * (k - 1)], alpha) >= often
        low, high = (low, middle) if found else (middle, high)
    return high


def evidence(counts: Sequence[int], a: float = 5.0) -> float:
    """The e-value of a Dirichlet mixture (all parameters ``a``) against fair dice: it may be looked at as often as one
    likes, and fair dice ever reach 20 with odds of at most 5% (Ville). Above 1e9 it is 1e9."""
    n, k = sum(counts), len(counts)
    said = n * log(k) + lgamma(k * a) - lgamma(n + k * a) + sum(lgamma(count + a) - lgamma(a) for count in counts)
    return exp(min(said, log(1e9)))


# -- several tests, and intervals ------------------------------------------------------------------------------------


def holm(ps: Mapping[str, float]) -> dict[str, float]:
    """Each p corrected for all tests that were made (Holm 1979)."""
    corrected: dict[str, float] = {}
    worst = 0.0
    for made, (name, p) in enumerate(sorted(ps.items(), key=lambda item: item[1])):
        worst = max(worst, min(1.0, p * (len(ps) - made)))
        corrected[name] = worst
    return corrected


def wilson(hits: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval of a share with 95% confidence (Wilson 1927)."""
    share = hits / n
    middle, half = share + z * z / (2 * n), z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
