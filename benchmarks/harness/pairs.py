"""Runs the child process of each pair of a work and a peer, and collects the records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import contention, threads, tvm_peer
from benchmarks.harness.child import ONE_THREAD, Request, empty_record
from benchmarks.harness.record import Record
from benchmarks.harness.registry import Entry

ROOT: Final = Path(__file__).resolve().parents[2]
CHILD: Final = (sys.executable, "-m", "benchmarks.harness.child")
TIME_LIMIT: Final = 300.0
"""Seconds of one pair, the start of the packages and their compilers included."""


def measure_pair(entry: Entry, request: Request, time_limit: float = TIME_LIMIT) -> list[Record]:
    """The records of one pair, one for each schedule; a failure is a record that says so."""
    lines, problem = run_child(CHILD, request, time_limit)
    records = [Record.from_dictionary(json.loads(line)) for line in lines]
    return records + [
        _failed(entry, request, schedule, problem) for schedule in request.schedules[len(records) :]
    ]


def run_child(command: Sequence[str], request: Any, time_limit: float) -> tuple[list[str], str]:
    """Let a process of its own do what a request asks for.

    Args:
        command: starts it; the request in JSON is added.
        request: has `threads`, and the attribute `output` for the file that is to be written.
        time_limit: seconds.

    Returns:
        The lines of that file, and what went wrong, if anything did.
    """
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
        output = Path(folder, "records.jsonl")
        output.touch()
        request = replace(request, output=str(output))
        problem = _run([*command, request.to_json()], request.threads, time_limit)
        return output.read_text().splitlines(), problem


def _run(command: Sequence[str], thread_count: int, time_limit: float) -> str:
    """What went wrong, if anything did."""
    # A session of its own: a time-out ends the compilers that it started, too.
    with subprocess.Popen(
        command, env=environment(thread_count), text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            text, _ = process.communicate(timeout=time_limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"no result after {time_limit:.0f} s"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode < 0:
        return f"crashed with {signal.Signals(-process.returncode).name}"
    lines = text.strip().splitlines()
    return f"failed: {lines[-1]}" if process.returncode and lines else "failed"


def environment(thread_count: int) -> dict[str, str]:
    """For a process that measures on so many threads."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        **threads.environment(thread_count),
        **contention.environment(thread_count),
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }


def _failed(entry: Entry, request: Request, schedule: str, problem: str) -> Record:
    record = empty_record(entry, request, schedule)
    record.problem = problem
    return record


def pairs(
    entries: list[Entry], thread_counts: list[int], peers: list[str] | None
) -> Iterator[tuple[Entry, str, int]]:
    """What there is to measure: a work, a peer of it, and a number of threads."""
    for entry in entries:
        for number in thread_counts:
            names = list(entry.work.peers)
            if tvm_peer.installed():
                names.append(tvm_peer.NAME)
            if number > 1:
                names.append(ONE_THREAD)
            for name in names:
                if peers is None or name in peers:
                    yield entry, name, number
