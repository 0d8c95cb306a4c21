"""`Individual`: a candidate of the search."""

from __future__ import annotations

import math

from tilewright.tir.schedule import Trace
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.search.sketch import Key, Sketch


class Individual:
    """A sketch with all decisions made.

    Attributes:
        sketch: the sketch.
        trace: its trace with the decisions.
        key: what tells it from others.
        candidate: the program that it makes, without proofs.
        score: what the cost model says of it: the higher, the faster.
        seconds: what was measured: None before, infinite if it failed.
    """

    __slots__ = ("candidate", "key", "score", "seconds", "sketch", "trace")

    def __init__(self, sketch: Sketch, trace: Trace, candidate: MeasureCandidate) -> None:
        self.sketch = sketch
        self.trace = trace
        self.key: Key = sketch.key(trace)
        self.candidate = candidate
        self.score = -math.inf
        self.seconds: float | None = None

    def __repr__(self) -> str:
        return f"Individual({self.key}, score={self.score:.4g}, seconds={self.seconds})"
