"""Measures one work beside one peer, in a process of its own: `python -m benchmarks.harness.child`.

It takes a request in JSON on the command line and appends a record in JSON to a file for each
schedule, so that what was measured before a crash is there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from benchmarks.harness import cpu, ours, tvm_peer
from benchmarks.harness.ports import equivalent_operations
from benchmarks.harness.record import Record
from benchmarks.harness.registry import Entry, entries
from benchmarks.harness.request import TimingRequest
from benchmarks.harness.sides import Readiness, measure_sides, serve, sides
from benchmarks.harness.timing import Sample, find_pace, interleave, wait_for_other_threads
from benchmarks.suite.work import Call, Work
from benchmarks.tuner.places import APACHE, folder_of

ONE_THREAD: Final = "ours on 1 thread"
"""The peer that a work on several threads is compared with beside the other packages."""
APACHE_TUNED: Final = "apache-tvm tuned"
"""The peer that is what the tuner of Apache TVM found."""
OURS, THEIRS = "ours", "theirs"
"""The two sides of a comparison on several threads."""
WRONG: Final = "WRONG RESULT"
CHECKED_SECONDS: Final = 0.005
"""How long each side runs for the check that it keeps to one thread."""
PEER_ERROR: Final = 1e-3
"""A peer that differs from the reference by more computes something else."""


@dataclass(frozen=True, kw_only=True)
class Request(TimingRequest):
    """What the child is to measure.

    Attributes:
        work: the name of a work.
        peer: one of its peers, or `ONE_THREAD`.
        schedules: of `ours.schedules`.
        tuned: the folder with what tuning found.
        side: `OURS` or `THEIRS` in a process that is one side only; else empty.
    """

    work: str
    peer: str
    schedules: tuple[str, ...]
    tuned: str = ""
    side: str = ""

    @staticmethod
    def from_json(text: str) -> Request:
        fields = json.loads(text)
        return Request(**{**fields, "schedules": tuple(fields["schedules"])})


def main() -> None:
    request = Request.from_json(sys.argv[1])
    entry = next(e for e in entries() if e.work.name == request.work)
    if request.threads > 1 and not request.side:
        for schedule in request.schedules:
            write(measure_apart(entry, request, schedule), request)
        return
    if not request.peer.startswith("torch"):
        # tvm-ffi would load it, with its libraries: two seconds for each process.
        sys.modules["torch"] = None  # type: ignore[assignment]
    inputs = [ours.aligned(x) for x in entry.work.inputs(np.random.default_rng(0))]
    reference = np.asarray(entry.work.reference(*(x.astype("float64") for x in inputs)))
    if request.side:
        serve_side(entry.work, request, inputs, reference)
        return
    for schedule in request.schedules:
        record = empty_record(entry, request, schedule)
        record.dtype = str(inputs[0].dtype)
        measure(entry.work, request, record, inputs, reference)
        write(record, request)


def write(record: Record, request: Request) -> None:
    """Append a record to the file of a request."""
    with open(request.output, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(record.as_dictionary()) + "\n")


def empty_record(entry: Entry, request: Request, schedule: str) -> Record:
    """A record of nothing yet."""
    return Record(
        entry.family, entry.work.name, schedule, request.peer, request.threads,
        flop=entry.work.flop, bytes=entry.work.bytes,
        ports=equivalent_operations(entry.work.program(), cpu.target()),
        aim=aim_of(entry.work, request, schedule),
    )  # fmt: skip


def aim_of(work: Work, request: Request, schedule: str) -> float | None:
    """What is aimed at beside this peer."""
    if request.threads > 1:
        scales = request.peer == ONE_THREAD and schedule == ours.HAND
        return work.scaling or None if scales else None
    if request.peer not in work.against:
        return None
    aims = {ours.HAND: work.aim, ours.DEFAULT: work.default_aim, ours.TUNED: work.tuned_aim}
    return aims[schedule] or None


def measure(
    work: Work, request: Request, record: Record, inputs: list[np.ndarray], reference: np.ndarray
) -> None:
    """Check the result of ours, then of the peer, then time both."""
    call, readiness = our_call(work, request, record.schedule, inputs, reference)
    record.problem, record.error = readiness.problem, readiness.error
    if call is None:
        return
    calls = [call]
    call, readiness = peer_call_or_problem(work, request, record.schedule, inputs, reference)
    record.problem = readiness.problem
    if call is not None:
        calls.append(call)
    if not record.problem:
        crowd = [side for side, call in zip(("ours", request.peer), calls, strict=True)
                 if runs_on_more_threads(call)]  # fmt: skip
        record.problem = "".join(f"{side} runs on more than one thread" for side in crowd[:1])
        if crowd:
            return
    keep(record, interleave(
        calls, request.rounds, request.threads, request.batch_seconds, request.limit
    ))  # fmt: skip


def keep(record: Record, samples: list[list[Sample]]) -> None:
    """Put the samples of our side, and of the peer if there is one, into a record."""
    record.ours = samples[0]
    record.theirs = samples[1] if len(samples) > 1 else []


def measure_apart(entry: Entry, request: Request, schedule: str) -> Record:
    """The record of both sides in processes of their own, of which one is always stopped."""
    record = empty_record(entry, request, schedule)
    asked = replace(request, schedules=(schedule,))
    commands = [
        (sys.executable, "-m", "benchmarks.harness.child", replace(asked, side=side).to_json())
        for side in (OURS, THEIRS)
    ]
    with sides(commands, os.environ) as (our_side, their_side):
        record.error = our_side.readiness.error
        record.dtype = our_side.readiness.dtype
        record.problem = our_side.readiness.problem
        if not record.problem:
            record.problem = their_side.readiness.problem
            running = [our_side] if record.problem else [our_side, their_side]
            keep(record, measure_sides(
                running, request.rounds, request.threads, request.batch_seconds, request.limit
            ))  # fmt: skip
    return record


def serve_side(
    work: Work, request: Request, inputs: list[np.ndarray], reference: np.ndarray
) -> None:
    """Be one side of a comparison."""
    prepare = our_call if request.side == OURS else peer_call_or_problem
    (schedule,) = request.schedules
    call, readiness = prepare(work, request, schedule, inputs, reference)
    serve(readiness, call, request.threads)


def our_call(
    work: Work, request: Request, schedule: str, inputs: list[np.ndarray], reference: np.ndarray
) -> tuple[Call | None, Readiness]:
    """Our call, if its result is right."""
    dtype = str(inputs[0].dtype)
    try:
        compiled = ours.compile_work(work, schedule, inputs, request.threads, request.tuned)
        compiled.call()
    except Exception as error:
        return None, Readiness(f"ours failed: {summary(error)}", dtype=dtype)
    error = relative_error(compiled.result.numpy(), reference)
    if error <= work.relative_error:
        return compiled.call, Readiness("", error, dtype)
    wrong = f"{WRONG}: off by {error:.1e}, at most {work.relative_error:.0e} is right"
    return None, Readiness(wrong, error, dtype)


def peer_call_or_problem(
    work: Work, request: Request, schedule: str, inputs: list[np.ndarray], reference: np.ndarray
) -> tuple[Call | None, Readiness]:
    """The call of the peer, if there is one."""
    try:
        return peer_call(work, request, schedule, inputs, reference), Readiness()
    except ModuleNotFoundError as error:
        return None, Readiness(f"{error.name} is not installed")
    except Exception as error:
        return None, Readiness(f"{request.peer} failed: {summary(error)}")


def peer_call(
    work: Work, request: Request, schedule: str, inputs: list[np.ndarray], reference: np.ndarray
) -> Call:
    """The peer, after a look at whether it computes the same.

    Raises:
        ValueError: if it does not.
    """
    if request.peer == ONE_THREAD:
        return ours.compile_work(work, schedule, inputs, threads=1).call
    if request.peer == tvm_peer.NAME:
        call = tvm_peer.tvm_peer(work.program(), *inputs)
    elif request.peer == APACHE_TUNED:
        folder = folder_of(request.tuned, work.name, APACHE)
        call = tvm_peer.library_peer(folder, work.program(), *inputs)
    else:
        call = work.peers[request.peer](*inputs)
    result: Any = call()
    if result is not None:
        error = relative_error(np.asarray(result), reference)
        if not error <= max(PEER_ERROR, work.relative_error):
            raise ValueError(f"its result is off by {error:.1e}")
    return call


def runs_on_more_threads(call: Call) -> bool:
    """Whether other threads work, too: then the time of this one does not say what it takes."""
    calls = find_pace(call, CHECKED_SECONDS).number
    wait_for_other_threads()
    process, thread = time.process_time(), time.thread_time()
    for _ in range(calls):
        call()
    thread = time.thread_time() - thread
    return time.process_time() - process > 1.2 * thread + 1e-4


def relative_error(result: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference, relative to the largest absolute value of the reference.

    It is NaN where the result is NaN and the reference is not. Infinities only equal each other.

    Raises:
        ValueError: if the shapes differ.
    """
    if result.shape != reference.shape:
        raise ValueError(f"the result has shape {result.shape}, the reference {reference.shape}")
    same = (result == reference) | (np.isnan(result) & np.isnan(reference))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0, np.abs(result.astype("float64") - reference))
    finite = np.abs(reference[np.isfinite(reference)])
    return float(difference.max() / max(finite.max(initial=0), np.finfo("float64").tiny))


def summary(error: Exception) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


if __name__ == "__main__":
    main()
