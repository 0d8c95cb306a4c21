"""What parallel loops cost, and whether they get along with the threads of other packages.

Everything runs on two threads, and only where the process has two cores.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from threadpoolctl import threadpool_limits

import tilewright as tvm
from benchmarks.compiler.measure import Figure, scaled, seconds, speed_ratios
from tilewright.script import tir as T
from tilewright.target.cpu import core_count

LOOPS: Final = 1000
STEPS: Final = 8192
"""Dependent additions, about ten microseconds."""
REST: Final = 0.02
SIZE: Final = 1 << 22


@T.prim_func
def nothing(repeat: T.int32):
    """Loops of two iterations that do next to nothing, which the compiler cannot know."""
    for _ in range(repeat):
        for i in T.parallel(2):
            T.evaluate(T.call_extern("int32", "abs", i))


@T.prim_func
def little(A: T.Buffer((2, STEPS), "float32"), B: T.Buffer((2, 16), "float32"), repeat: T.int32):
    """Loops of two iterations that take some microseconds."""
    T.func_attr({"tir.noalias": True})
    for _ in range(repeat):
        for i in T.parallel(2):
            for j in range(STEPS):
                B[i, 0] = B[i, 0] + A[i, j]


@T.prim_func
def roots(A: T.Buffer((SIZE,), "float32"), B: T.Buffer((SIZE,), "float32")):
    """A loop that takes a millisecond or two."""
    T.func_attr({"tir.noalias": True})
    for i in T.parallel(SIZE):
        B[i] = T.exp(T.sqrt(A[i]))


def measure(repeat: int) -> list[Figure]:
    if core_count() < 2:
        return []
    with on_threads(2):
        return [*regions(repeat), waiting(repeat), *beside_others(repeat)]


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Parallel loops use so many threads inside."""
    before = tvm.runtime.num_threads()
    tvm.runtime.set_num_threads(count)
    try:
        yield
    finally:
        tvm.runtime.set_num_threads(before)


def regions(repeat: int) -> list[Figure]:
    """What it costs to share a loop."""
    empty = tvm.build(nothing, target="llvm")["nothing"]
    hot = scaled(seconds(lambda: empty(LOOPS), repeat), 1e6 / LOOPS)
    cold = [after_rest(empty, 2) - after_rest(empty, 1) for _ in range(10 * repeat)]
    short = tvm.build(little, target="llvm")["little"]
    a, b = tvm.nd.array(np.ones((2, STEPS), "float32")), tvm.nd.array(np.ones((2, 16), "float32"))

    def alone() -> None:
        with on_threads(1):
            short(a, b, LOOPS)

    return [
        Figure("a loop of two parts that do nothing", hot, "us", 1.5),
        Figure(f"the same after a rest of {REST * 1e3:.0f} ms", scaled(cold, 1e6), "us", None),
        Figure("two threads for two parts of 10 us",
               speed_ratios(lambda: short(a, b, LOOPS), alone, repeat), "x", 1.7),
    ]  # fmt: skip


def after_rest(function: Callable[[int], Any], threads: int) -> float:
    """Seconds of a call for one loop, some time after the last one."""
    with on_threads(threads):
        function(1)
        time.sleep(REST)
        start = time.perf_counter()
        function(1)
        return time.perf_counter() - start


WAITING: Final = """
import time
import tilewright as tvm
from benchmarks.compiler.threads import nothing
tvm.runtime.set_num_threads(2)
run = tvm.build(nothing, target="llvm")["nothing"]
for _ in range({repeat}):
    run(1000)
    start = time.process_time()
    time.sleep(0.5)
    print(time.process_time() - start)
"""


def waiting(repeat: int) -> Figure:
    """The processor time that waiting threads use, in a process without any others."""
    process = subprocess.run(
        [sys.executable, "-c", WAITING.format(repeat=repeat)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    used = scaled([float(line) for line in process.stdout.split()], 1e3)
    return Figure("processor time in the half second after a loop", used, "ms", 1.0)


def beside_others(repeat: int) -> list[Figure]:
    """Loops of ours and operations of others in turns, each beside what it takes alone."""
    x = tvm.nd.array(np.random.default_rng(0).random(SIZE, "float32"))
    y = tvm.nd.empty((SIZE,), "float32")
    compiled = tvm.build(roots, target="llvm")["roots"]
    figures = []
    with threadpool_limits(limits=2):
        for name, theirs in peers():
            mine, others = in_turns(lambda: compiled(x, y), theirs, repeat)
            figures += [
                Figure(f"our loop in turns with {name}", mine, "x", 0.9),
                Figure(f"{name} in turns with our loop", others, "x", 0.9),
            ]
    return figures


def peers() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Operations of other packages on two threads, of some milliseconds."""
    a = np.random.default_rng(0).random((768, 768), "float32")
    out = np.empty_like(a)
    yield "numpy's matmul", lambda: np.matmul(a, a, out=out)
    try:
        import torch
    except ModuleNotFoundError:
        return
    torch.set_num_threads(2)
    b, c = torch.from_numpy(a), torch.from_numpy(out)
    yield "torch's matmul", lambda: torch.matmul(b, b, out=c)


def in_turns(
    ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int, number: int = 10
) -> tuple[list[float], list[float]]:
    """How fast each is in turns with the other, as a part of its speed alone."""
    mine, others = [], []
    for _ in range(repeat):
        alone = [statistics.median(times(f, number)) for f in (ours, theirs)]
        pairs = [(once(ours), once(theirs)) for _ in range(number)]
        mine.append(alone[0] / statistics.median(pair[0] for pair in pairs))
        others.append(alone[1] / statistics.median(pair[1] for pair in pairs))
    return mine, others


def times(function: Callable[[], Any], number: int) -> list[float]:
    """Seconds of each call, after one to warm up."""
    function()
    return [once(function) for _ in range(number)]


def once(function: Callable[[], Any]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
