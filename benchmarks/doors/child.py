"""Tunes one workload through the front doors, and times all results in turns, in one process:
`python -m benchmarks.doors.child`.

It takes a request in JSON on the command line and appends a row in JSON to a file for each program.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import tilewright as tvm
from benchmarks.doors.searches import DOORS, Search
from benchmarks.doors.workloads import SMALL, WORKLOADS, Workload
from benchmarks.harness import ours
from benchmarks.harness.child import (
    PEER_ERROR,
    WRONG,
    relative_error,
    runs_on_more_threads,
    summary,
)
from benchmarks.harness.request import TimingRequest
from benchmarks.harness.timing import interleave
from benchmarks.suite.work import Call
from tilewright import te

DEFAULT: Final = "default schedule"
AGAIN: Final = "the same, built again"
"""The control: what its ratio is off from 1 is noise."""


@dataclass(frozen=True, kw_only=True)
class Request(TimingRequest):
    """What the child is to measure.

    Attributes:
        workload: the name of a workload.
        trials: of each front door.
    """

    workload: str
    trials: int


@dataclass
class Row:
    """What came of a program.

    Attributes:
        name: of the front door, of the peer, or `DEFAULT` or `AGAIN`.
        trials: number of measured candidates; None for what is not searched.
        searched: seconds of the search.
        seconds: per call, one a round; empty if there is no result, or a wrong one.
        problem: why something is missing.
    """

    name: str
    trials: int | None = None
    searched: float | None = None
    seconds: list[float] = field(default_factory=list)
    problem: str = ""


def main() -> None:
    request = Request(**json.loads(sys.argv[1]))
    workload = {**SMALL, **WORKLOADS}[request.workload]
    with open(request.output, "a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(asdict(row)) + "\n" for row in measure(workload, request))


def measure(workload: Workload, request: Request) -> list[Row]:
    """Search, check all results, then time them in turns."""
    inputs = [ours.aligned(x) for x in workload.work.inputs(np.random.default_rng(0))]
    reference = np.asarray(workload.work.reference(*(x.astype("float64") for x in inputs)))
    rows: list[Row] = []
    calls: list[Call] = []

    def add(row: Row, prepare: Callable[[Row], Call], error: float) -> None:
        rows.append(row)
        call = checked_call(row, prepare, reference, error)
        if call is not None and request.threads == 1 and runs_on_more_threads(call):
            row.problem = "runs on more than one thread"
        elif call is not None:
            calls.append(call)

    for name, program in programs(workload, request).items():
        runs = partial(run, program, inputs, reference.shape)
        add(Row(name), runs, workload.work.relative_error)
    for name, prepare in workload.peers().items():
        add(Row(name), lambda _, prepare=prepare: prepare(*inputs), PEER_ERROR)
    samples = interleave(
        calls, request.rounds, request.threads, request.batch_seconds, request.limit
    )
    timed = [row for row in rows if not row.problem]
    for row, taken in zip(timed, samples, strict=True):
        row.seconds = [sample.cpu if request.threads == 1 else sample.wall for sample in taken]
    return rows


def programs(
    workload: Workload, request: Request
) -> dict[str, Callable[[Row], tvm.runtime.Module]]:
    """How the modules are made; those of front doors note in a row what the search took."""
    target = f"llvm -num-cores={request.threads}"

    def default(_: Row) -> tvm.runtime.Module:
        return tvm.build(te.create_prim_func(workload.tensors()), target=target)

    def tuned(row: Row) -> tvm.runtime.Module:
        with tempfile.TemporaryDirectory(prefix="tilewright-doors-") as folder:
            start = time.monotonic()
            found = DOORS[row.name](Search(workload, target, request.trials, Path(folder)))
            row.searched, row.trials = time.monotonic() - start, found.trials
            return found.module

    return {DEFAULT: default, AGAIN: default, **dict.fromkeys(DOORS, tuned)}


def run(
    program: Callable[[Row], tvm.runtime.Module], inputs: list[np.ndarray], shape: tuple[int, ...],
    row: Row,
) -> Call:  # fmt: skip
    """A call of a module, which returns its result."""
    module = program(row)
    function = module[module.entry_name]
    result = tvm.nd.array(np.full(shape, np.nan, "float32"))
    arguments = [*map(ours.shared, inputs), result]

    def call() -> Any:
        function(*arguments)
        return result

    return call


def checked_call(
    row: Row, prepare: Callable[[Row], Call], reference: np.ndarray, most: float
) -> Call | None:
    """A call whose result is right; otherwise None, and the row says why."""
    try:
        call = prepare(row)
        result: Any = call()
        error = relative_error(np.from_dlpack(result), reference)
    except ModuleNotFoundError as missing:
        row.problem = f"{missing.name} is not installed"
        return None
    except Exception as problem:
        row.problem = f"failed: {summary(problem)}"
        return None
    if not error <= most:
        row.problem = f"{WRONG}: off by {error:.1e}, at most {most:.0e} is right"
        return None
    return call


if __name__ == "__main__":
    main()
