"""Whether measured times differ by more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

ANGLES: Final = 2001
"""Points of the integrals, which are exact to six digits with them."""


def is_faster(run_secs: Sequence[float], than_secs: Sequence[float], pvalue: float = 0.05) -> bool:
    """Whether a candidate is faster than another one, by the means of their times and a test.

    Where one of the two was timed only once, nothing is known of chance, and the means decide.

    Args:
        run_secs: the times of the candidate, in seconds; none if it failed.
        than_secs: those of the other one.
        pvalue: the probability, from 0 to 1, of such a difference between equally fast ones, up to
            which it counts.
    """
    if not run_secs or not than_secs:
        return bool(run_secs)
    if np.mean(run_secs) >= np.mean(than_secs):
        return False
    if min(len(run_secs), len(than_secs)) < 2:
        return True
    return welch_pvalue(run_secs, than_secs) <= pvalue


def welch_pvalue(one: Sequence[float], other: Sequence[float]) -> float:
    """The probability that samples with equal means differ as much as these, in either direction.

    This is the t-test for samples of different variance: B. L. Welch, "The generalization of
    'Student's' problem when several different population variances are involved", Biometrika 34
    (1947).

    Args:
        one: a sample of at least two numbers.
        other: another one.
    """
    difference = abs(np.mean(one) - np.mean(other))
    errors = np.array([np.var(sample, ddof=1) / len(sample) for sample in (one, other)])
    if not errors.any():
        return 1.0 if difference == 0.0 else 0.0
    shares = errors / errors.sum()
    freedom = 1.0 / (shares**2 / [len(one) - 1, len(other) - 1]).sum()
    return student_tails(float(difference / math.sqrt(errors.sum())), float(freedom))


def student_tails(t: float, freedom: float) -> float:
    """The probability that a variable of Student's distribution is not between ``-t`` and ``t``.

    With ``x = sqrt(freedom) * tan(angle)``, the density is a power of a cosine.

    Args:
        t: not negative.
        freedom: degrees of freedom, at least 1.
    """

    def area(start: float) -> float:
        angles = np.linspace(start, math.pi / 2, ANGLES)
        heights = np.clip(np.cos(angles), 0.0, 1.0) ** (freedom - 1.0)
        return float((heights[1:] + heights[:-1]).sum() * (math.pi / 2 - start))

    return area(math.atan2(t, math.sqrt(freedom))) / area(0.0)
