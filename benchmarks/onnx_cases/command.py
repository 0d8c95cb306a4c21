"""`python -m benchmarks onnx`: the test cases of operators that the package onnx generates.

Prints a table by operator: how many cases passed, are not supported, gave wrong results or crashed.
The models come with the installed package; each is imported, compiled and run, and its results are
compared with those that the package gives. Where the importer refuses a case because integers that
decide a shape are inputs, it is tried again with these as constants, and counted apart.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from benchmarks.onnx_cases.cases import Case, Outcome, Status, collect, run

WAITING: Final = 20
"""How many times as long as it may compute a case may take in all, on a busy machine."""


def main(arguments: Sequence[str]) -> None:
    """Run the cases that the options choose, and print the table."""
    options = _parser().parse_args(arguments)
    cases = [case for case in collect() if _is_chosen(case, options)]
    cases = cases[:: options.every]
    started = time.monotonic()
    outcomes = run_all(cases, options.jobs, options.limit, options.output)
    print(table(cases, outcomes, options.verbose))
    print(f"{len(cases)} cases in {time.monotonic() - started:.0f} s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks onnx", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=[], help="operators, or parts of names of cases"
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth case only")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument(
        "--limit", type=float, default=120, help="seconds of computing for a case (default: 120)"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="reasons, case by case")
    parser.add_argument("-o", "--output", type=Path, help="write outcomes to this file, as JSON")
    parser.add_argument("--cases", type=Path, help="a file with the names of cases, one a line")
    return parser


def _is_chosen(case: Case, options: argparse.Namespace) -> bool:
    if options.cases:
        return case.name in options.cases.read_text().split()
    return not options.only or any(word in (case.operator, case.name) or word in case.name
                                   for word in options.only)  # fmt: skip


def run_all(
    cases: Sequence[Case], jobs: int = 2, limit: float = 120, output: Path | None = None
) -> dict[str, Outcome]:
    """The outcomes of cases, by name.

    Each of `jobs` processes works on cases of its own. What crashes, or computes for longer than
    `limit` seconds, costs that case only: a new process goes on with the next. The file `output`
    has the outcomes so far, as JSON.
    """
    shares = [list(cases[n::jobs]) for n in range(jobs)]
    outcomes: dict[str, Outcome] = {}
    runners = [_Runner(share, limit) for share in shares if share]
    while runners:
        multiprocessing.connection.wait([runner.channel for runner in runners], 0.5)
        before = len(outcomes)
        for runner in list(runners):
            outcomes.update(runner.poll())
            if runner.is_done:
                runners.remove(runner)
        if output and len(outcomes) > before:
            lines = {name: [o.status.value, o.reason] for name, o in outcomes.items()}
            output.write_text(json.dumps(lines, indent=1))
        if sys.stderr.isatty():
            print(f"\r{len(outcomes)} of {len(cases)}", end="", file=sys.stderr)
    return outcomes


class _Runner:
    """A process that works on cases, and is replaced when it ends too early."""

    def __init__(self, cases: list[Case], limit: float) -> None:
        self._cases, self._limit = cases, limit
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")  # the models need not be sent
        self.channel, theirs = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_work, args=(self._cases, theirs, self._limit), daemon=True
        )
        self._process.start()
        theirs.close()
        self._since = time.monotonic()

    @property
    def is_done(self) -> bool:
        """Whether there are no more cases."""
        return not self._cases

    def poll(self) -> dict[str, Outcome]:
        """The outcomes since the last call."""
        found: dict[str, Outcome] = {}
        try:
            while self._cases and self.channel.poll():
                found[self._cases.pop(0).name] = self.channel.recv()
                self._since = time.monotonic()
        except (EOFError, OSError):
            self._process.join()
            found |= self._lost(f"the process ended with {_end(self._process.exitcode)}")
        if self._cases and time.monotonic() - self._since > WAITING * self._limit:
            self._process.kill()
            self._process.join()
            found |= self._lost(f"it waited longer than {WAITING * self._limit:.0f} s")
        if not self._cases:
            self._process.join()
        return found

    def _lost(self, reason: str) -> dict[str, Outcome]:
        name = self._cases.pop(0).name
        if self._cases:
            self._start()
        return {name: Outcome(Status.CRASHED, reason)}


def _end(code: int | None) -> str:
    return signal.Signals(-code).name if code and code < 0 else f"exit code {code}"


def _work(cases: Sequence[Case], channel: Connection, limit: float) -> None:
    for case in cases:
        signal.setitimer(signal.ITIMER_PROF, limit)  # the signal ends the process
        outcome = run(case)
        signal.setitimer(signal.ITIMER_PROF, 0)
        channel.send(outcome)
    channel.close()
    os._exit(0)


def table(cases: Sequence[Case], outcomes: dict[str, Outcome], verbose: bool = False) -> str:
    """The outcomes by operator."""
    counts: dict[str, Counter[Status]] = defaultdict(Counter)
    for case in cases:
        counts[case.operator][outcomes[case.name].status] += 1
    lines = ["operator".ljust(32) + "".join(f"{status.value:>23}" for status in Status)]
    for operator, count in sorted(counts.items()):
        lines.append(_row(operator, count))
    lines.append(_row("all", sum(counts.values(), Counter[Status]())))
    if verbose:
        for case in cases:
            outcome = outcomes[case.name]
            if outcome.status not in (Status.PASSED, Status.PASSED_WITH_CONSTANTS):
                reason = " ".join(outcome.reason.split())[:300]
                lines.append(f"{outcome.status.value}: {case.name}: {reason}")
    return "\n".join(lines)


def _row(name: str, count: Counter[Any]) -> str:
    return name.ljust(32) + "".join(f"{count[status] or '':>23}" for status in Status)


if __name__ == "__main__":
    main(sys.argv[1:])
