"""Cost of the questions that lowering asks of `tilewright.arith`, in microseconds.

Run with ``python benchmarks/compiler/arith.py``. Each figure is the median over fresh analyzers of
one call, first without and then with the result remembered.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.ir import DType, SizeVar, Var
from tilewright.tir import Range

EXTENTS = {"m_outer": 64, "m_inner": 16, "l_outer": 128, "l_inner": 8, "k_outer": 256, "k_inner": 8}
REPEATS = 300


class Loops:
    """The loops of a tiled matmul, fresh variables each time."""

    def __init__(self) -> None:
        self.analyzer = Analyzer()
        self.variables = {name: Var(name, DType("int32")) for name in EXTENTS}
        self.domains = {
            self.variables[name]: Range.from_extent(extent) for name, extent in EXTENTS.items()
        }
        for var, domain in self.domains.items():
            self.analyzer.bind(var, domain)

    def __getattr__(self, name: str) -> Any:
        return self.variables[name]

    @property
    def row(self) -> Any:
        return self.m_outer * 16 + self.m_inner

    @property
    def column(self) -> Any:
        return self.l_outer * 8 + self.l_inner


def symbolic(loops: Loops) -> Any:
    """A bounds check of dynamic shapes."""
    n, m = SizeVar("n", DType("int32")), SizeVar("m", DType("int32"))
    i, j = Var("i", DType("int32")), Var("j", DType("int32"))
    loops.analyzer.bind(i, Range.from_extent(n))
    loops.analyzer.bind(j, Range.from_extent(m))
    return i * m + j < n * m


CASES: dict[str, Callable[[Loops], Any]] = {
    "flat index of a tiled matmul": lambda at: at.row * 1024 + at.column,
    "row of a flat index": lambda at: (at.row * 1024 + at.column) // 1024,
    "column of a flat index": lambda at: (at.row * 1024 + at.column) % 1024,
    "flat index, packed in panels of 32": lambda at: (
        at.column // 32 * 32768 + (at.k_outer * 8 + at.k_inner) * 32 + at.column % 32
    ),
    "bounds check that always holds": lambda at: at.row < 1024,
    "bounds check that stays": lambda at: at.row < 1021,
    "bounds check of symbolic shapes": symbolic,
}


def median(measure: Callable[[], float]) -> float:
    """Median of many measurements, in microseconds."""
    return statistics.median(measure() for _ in range(REPEATS)) * 1e6


def timed(function: Callable[[], Any]) -> float:
    """Seconds that one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def first_time(make: Callable[[Loops], Any]) -> float:
    """Seconds to simplify an expression that was never seen."""
    loops = Loops()
    expr = make(loops)
    return timed(lambda: loops.analyzer.simplify(expr))


def again(make: Callable[[Loops], Any]) -> float:
    """Seconds to simplify the same node again."""
    loops = Loops()
    expr = make(loops)
    loops.analyzer.simplify(expr)
    return timed(lambda: loops.analyzer.simplify(expr))


def bindings() -> float:
    """Seconds to check the three bindings of a tiled matmul's block."""
    at = Loops()
    values = [at.row, at.column, at.k_outer * 8 + at.k_inner]
    return timed(lambda: detect_iter_map(values, at.domains, require_bijective=True))


def main() -> None:
    """Print one line per question."""
    print(f"{'simplify':40}{'first':>8}{'again':>8}  us")
    for name, make in CASES.items():
        first, second = median(lambda: first_time(make)), median(lambda: again(make))  # noqa: B023
        print(f"{name:40}{first:8.1f}{second:8.1f}")
    print(f"{'detect_iter_map, three tiled bindings':40}{median(bindings):8.1f}")


if __name__ == "__main__":
    main()
