"""Fit the polynomials of `tilewright.tir.numerics` and print them as its `coefficients.py`.

Usage (needs mpmath): python tools/fit_polynomials.py > src/tilewright/tir/numerics/coefficients.py

Each polynomial is the minimax approximation, in relative error of the function that it serves,
found by the exchange algorithm of E. Remez (1934) with 60 digits.
"""

from __future__ import annotations

import struct
import textwrap
from collections.abc import Callable, Sequence

import mpmath as mp

mp.mp.dps = 60
Real = mp.mpf
Function = Callable[[Real], Real]
GRID = 800
POINTS = 60


def solve_alternation(f: Function, weight: Function, points: list[Real], degree: int) -> list[Real]:
    """Coefficients for which the weighted error alternates with equal size over `points`."""
    count = degree + 2
    system, right = mp.matrix(count, count), mp.matrix(count, 1)
    for row, x in enumerate(points):
        for column in range(degree + 1):
            system[row, column] = x**column
        system[row, degree + 1] = (-1) ** row / weight(x)
        right[row] = f(x)
    return list(mp.lu_solve(system, right))[: degree + 1]


def alternating_extrema(grid: list[Real], error: list[Real]) -> list[tuple[Real, Real]]:
    """The largest error of each run of equal sign, with its place."""
    runs: list[tuple[Real, Real]] = []
    for x, value in zip(grid, error, strict=True):
        if runs and (runs[-1][1] > 0) == (value > 0):
            if abs(value) > abs(runs[-1][1]):
                runs[-1] = (x, value)
        else:
            runs.append((x, value))
    return runs


def minimax(
    f: Function, low: float, high: float, degree: int, weight: Function
) -> tuple[list[Real], Real]:
    """Coefficients c0, c1, ... with the least max |weight (p - f)| on [low, high]; that error."""
    a, b = mp.mpf(low), mp.mpf(high)
    count = degree + 2
    angles = [mp.pi * (2 * k + 1) / (2 * count) for k in range(count)]
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(angle) for angle in angles]
    # Denser towards the ends, where the extrema crowd.
    grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * k / GRID) for k in range(GRID + 1)]
    best: list[Real] = []
    size = mp.inf
    for _ in range(30):
        coefficients = solve_alternation(f, weight, points, degree)
        error = [weight(x) * (mp.polyval(coefficients[::-1], x) - f(x)) for x in grid]
        largest = max(map(abs, error))
        if largest < size:
            best, size = coefficients, largest
        runs = alternating_extrema(grid, error)
        while len(runs) > count:
            runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
        if len(runs) < count:
            break
        points = [x for x, _ in runs]
        sizes = [abs(value) for _, value in runs]
        if max(sizes) < min(sizes) * (1 + mp.mpf(10) ** -4):
            break
    return best, size


def odd_tail(f: Function, first: Function, power: int) -> Function:
    """(f(x) - first(x)) / x**power as a function of z = x * x."""

    def tail(z: Real) -> Real:
        x = mp.sqrt(z)
        return (f(x) - first(x)) / x**power

    return tail


HALF_LOG2 = float(mp.log(2) / 2) * 1.0001
QUARTER_PI = float(mp.pi / 4) * 1.0001
ROOT = float(mp.sqrt(2))
TINY = 1e-12


def in_square(f: Function, power: int) -> Function:
    """Weight that turns the error of the tail, as a function of z = x * x, into one of f."""
    return lambda z: mp.sqrt(z) ** power / abs(f(mp.sqrt(z)))


def erf_exponent(x: Real) -> Real:
    """The g with erf(x) = 1 - exp(-g(x))."""
    return -mp.log(mp.erfc(x))


def log1p_tail(x: Real) -> Real:
    """The P with log(1 + x) = x - x**2 / 2 + x**3 P(x)."""
    if abs(x) < mp.mpf(10) ** -12:
        return mp.mpf(1) / 3 - x / 4
    return (mp.log1p(x) - x + x * x / 2) / x**3


def log_ratio_tail(z: Real) -> Real:
    """The R with log((1 + s) / (1 - s)) = 2 s + s**3 R(s**2), z = s**2."""
    s = mp.sqrt(z)
    return (mp.log1p(s) - mp.log1p(-s) - 2 * s) / s**3


def log_ratio_rest(z: Real) -> Real:
    """The R with log((1 + s) / (1 - s)) = 2 s + 2/3 s**3 + 2 s**5 R(s**2), z = s**2."""
    return (log_ratio_tail(z) - mp.mpf(2) / 3) / (2 * z)


def exp_tail(x: Real) -> Real:
    """The P with exp(x) = 1 + x + x**2 P(x)."""
    return (mp.expm1(x) - x) / x**2 if abs(x) > mp.mpf(10) ** -15 else mp.mpf(1) / 2 + x / 6


def exp_weight(x: Real) -> Real:
    return max(x * x, mp.mpf(10) ** -20) / mp.exp(x)


def log_weight(x: Real) -> Real:
    return max(abs(x) ** 3, mp.mpf(10) ** -20) / max(abs(mp.log1p(x)), mp.mpf(10) ** -18)


def identity(x: Real) -> Real:
    return x


def odd(f: Function, low: float, high: float, degree: int) -> tuple[object, ...]:
    """f(x) = x + x**3 P(x**2) on [low, high]."""
    return (odd_tail(f, identity, 3), max(low**2, TINY), high**2, degree, in_square(f, 3))


def ratio(f: Function, low: float, high: float, degree: int) -> tuple[object, ...]:
    """f(x) = x + x P(x**2) on [low, high]."""
    return (odd_tail(f, identity, 1), max(low**2, TINY), high**2, degree, in_square(f, 1))


def cosine(degree: int) -> tuple[object, ...]:
    """cos(x) = 1 - x**2 / 2 + x**4 P(x**2)."""
    tail = odd_tail(mp.cos, lambda x: 1 - x * x / 2, 4)
    return (tail, TINY**0.5, QUARTER_PI**2, degree, in_square(mp.cos, 4))


def erf_weight(x: Real) -> Real:
    return mp.erfc(x) / mp.erf(x)


FITS: dict[str, tuple[str, tuple[object, ...]]] = {
    "EXP_32": ("exp(x) = 1 + x + x^2 P(x), |x| <= log(2) / 2",
               (exp_tail, -HALF_LOG2, HALF_LOG2, 4, exp_weight)),
    "EXP_64": ("exp(x) = 1 + x + x^2 P(x), |x| <= log(2) / 2",
               (exp_tail, -HALF_LOG2, HALF_LOG2, 10, exp_weight)),
    "LOG_32": ("log(1 + x) = x - x^2 / 2 + x^3 P(x), sqrt(1/2) <= 1 + x <= sqrt(2)",
               (log1p_tail, 1 / ROOT - 1, ROOT - 1, 8, log_weight)),
    "LOG_64": ("log((1 + s) / (1 - s)) = 2 s + s^3 P(s^2), |s| <= 3 - 2 sqrt(2)",
               (log_ratio_tail, TINY, (3 - 2 * ROOT) ** 2 * 1.001, 7,
                lambda z: mp.sqrt(z) ** 2 / 2)),
    "LOG_IN_PARTS_64": ("log((1 + s) / (1 - s)) / 2 = s + s^3 / 3 + s^5 P(s^2), |s| <= 0.1716",
                        (log_ratio_rest, 1e-6, (3 - 2 * ROOT) ** 2 * 1.001, 7, lambda z: z * z)),
    "SIN_32": ("sin(x) = x + x^3 P(x^2), |x| <= pi / 4", odd(mp.sin, 0, QUARTER_PI, 2)),
    "SIN_64": ("sin(x) = x + x^3 P(x^2), |x| <= pi / 4", odd(mp.sin, 1e-3, QUARTER_PI, 6)),
    "COS_32": ("cos(x) = 1 - x^2 / 2 + x^4 P(x^2), |x| <= pi / 4", cosine(2)),
    "COS_64": ("cos(x) = 1 - x^2 / 2 + x^4 P(x^2), |x| <= pi / 4", cosine(5)),
    "SINH_64": ("sinh(x) = x + x^3 P(x^2), |x| <= 1", odd(mp.sinh, 1e-3, 1.0, 7)),
    "ERF_64": ("erf(x) = x + x P(x^2), |x| <= 1", ratio(mp.erf, 1e-3, 1.0, 12)),
    "LOG_ERFC_32": ("log(erfc(-u)) = u + u P(u), -3.95 <= u <= 0",
                    (lambda u: -erf_exponent(-u) / u - 1, -3.95, -1e-6, 8,
                     lambda u: erf_weight(-u) * -u)),
    "ERF_TAIL_64": ("erf(x) = 1 - exp(-x P(x)), 0.99 <= x <= 5.95",
                    (lambda x: erf_exponent(x) / x, 0.99, 5.95, 19,
                     lambda x: erf_weight(x) * x)),
    "ATAN_32": ("atan(x) = x + x^3 P(x^2), |x| <= 1", odd(mp.atan, 0, 1.0, 8)),
    "ATAN_64": ("atan(x) = x + x^3 P(x^2), |x| <= 1", odd(mp.atan, 1e-3, 1.0, 20)),
    "ASIN_32": ("asin(x) = x + x^3 P(x^2), |x| <= 1/2", odd(mp.asin, 0, 0.5, 4)),
    "ASIN_64": ("asin(x) = x + x^3 P(x^2), |x| <= 1/2", odd(mp.asin, 1e-3, 0.5, 12)),
}  # fmt: skip


def rounded_fit(
    f: Function, low: Real, high: Real, given: Sequence[Real], degree: int
) -> list[Real]:
    """Coefficients of float32, each found when those before it are rounded.

    The least squares over Chebyshev points, which are nearly the least error, of (p - f) / f.

    Args:
        given: the first coefficients.
    """
    angles = [mp.pi * (2 * k + 1) / (2 * POINTS) for k in range(POINTS)]
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(angle) for angle in angles]
    coefficients = list(given)
    for first in range(len(given), degree + 1):
        system, right = mp.matrix(POINTS, degree + 1 - first), mp.matrix(POINTS, 1)
        for row, x in enumerate(points):
            for column in range(degree + 1 - first):
                system[row, column] = x ** (first + column) / f(x)
            right[row] = 1 - mp.polyval(coefficients[::-1], x) / f(x)
        coefficients.append(float32(mp.lu_solve(system, right)[0]))
    return coefficients


def float32(x: Real) -> Real:
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def erf_table() -> list[list[Real]]:
    """The coefficients of polynomials of degree 4 in the distance to the multiples of 1/8."""
    half = mp.mpf(1) / 16
    # Near 0 what erf is above x; the last one becomes 1.
    rows = [rounded_fit(lambda t: mp.erf(t) - t, mp.mpf(0), half, [mp.mpf(0)], 4)]
    for place in range(1, 32):
        given = [mp.mpf(1)] if place == 31 else []
        rows.append(
            rounded_fit(lambda t, place=place: mp.erf(place / mp.mpf(8) + t), -half, half, given, 4)
        )
    return [list(column) for column in zip(*rows, strict=True)]


def print_table(name: str, meaning: str, columns: list[list[Real]]) -> None:
    print(f"\n{name}: Final = (")
    for column in columns:
        print("    (")
        numbers = ", ".join(repr(float(x)) for x in column) + ","
        print(textwrap.fill(numbers, 100, initial_indent=" " * 8, subsequent_indent=" " * 8))
        print("    ),")
    print(f')  # fmt: skip\n"""{meaning}"""')


def main() -> None:
    print('"""Minimax polynomials, lowest power first; made by tools/fit_polynomials.py."""\n')
    print("from __future__ import annotations\n\nfrom typing import Final")
    for name, (meaning, arguments) in FITS.items():
        coefficients, error = minimax(*arguments)  # type: ignore[arg-type]
        print(f"\n{name}: Final = (")
        for value in coefficients:
            print(f"    {float(value)!r},")
        print(f')\n"""{meaning}; relative error {mp.nstr(error, 2)}."""')
    print_table(
        "ERF_TABLE_32",
        "erf(n / 8 + t) = P_n(t), |t| <= 1/16, but P_0 lacks t: by powers the coefficients by n.",
        erf_table(),
    )


if __name__ == "__main__":
    main()
