"""A side of a comparison in a process of its own, which is stopped while it is not its turn.

Threads of other packages wait actively for more work, for milliseconds after a call or for ever.
On several threads they would take the processors from the other side; stopped they take nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.harness.timing import Sample, batch, in_turns, pace_of
from benchmarks.suite.work import Call

ANSWERS: Final = "TILEWRIGHT_BENCH_ANSWERS"
"""The environment variable with the number of the pipe that a side answers through."""


@dataclass(frozen=True)
class Readiness:
    """What a side says before it is timed.

    Attributes:
        problem: why it cannot be timed; empty if it can.
        error: of its result.
        dtype: of its inputs.
    """

    problem: str = ""
    error: float | None = None
    dtype: str = "float32"


class Side:
    """A process that runs one call, as often as it is asked to.

    Attributes:
        process: the process, stopped but for its turns.
        readiness: its first answer.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the process, and stop it when it is ready.

        Args:
            command: of a program that calls `serve`.
            environment: of the process.
        """
        answers, write = os.pipe()
        self._answers = os.fdopen(answers, encoding="utf-8")
        self.process = subprocess.Popen(
            command, env={**environment, ANSWERS: str(write)}, stdin=subprocess.PIPE,
            pass_fds=(write,), text=True,
        )  # fmt: skip
        os.close(write)
        self.readiness = Readiness(**self._answer(asdict(Readiness("its process ended"))))

    def run(self, number: int) -> Sample:
        """Time so many calls, while the process of the other side is stopped."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        return Sample(*self._answer())

    def _answer(self, otherwise: Any = None) -> Any:
        """The next answer, after which the process is stopped; `otherwise` if there is none.

        Raises:
            RuntimeError: if the process has ended, and there is nothing else to say.
        """
        line = self._answers.readline()
        if line:
            self.process.send_signal(signal.SIGSTOP)
            # The other side begins when the threads of this one have stopped.
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            return json.loads(line)
        if otherwise is None:
            raise RuntimeError(f"the process ended with {self.process.wait()}")
        return otherwise

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self._answers.close()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()


@contextmanager
def sides(
    commands: Sequence[Sequence[str]], environment: Mapping[str, str]
) -> Iterator[list[Side]]:
    """Sides that are ready and stopped; they end with the scope."""
    with ExitStack() as stack:
        started: list[Side] = []
        for command in commands:
            started.append(Side(command, environment))
            stack.callback(started[-1].close)
        yield started


def measure_sides(
    running: Sequence[Side], rounds: int, threads: int, batch_seconds: float, limit: float
) -> list[list[Sample]]:
    """As `interleave`, of processes of which all but one are stopped."""
    runs = [side.run for side in running]
    paces = [pace_of(run, batch_seconds) for run in runs]
    return in_turns(runs, paces, rounds, threads, limit)


def serve(readiness: Readiness, call: Call | None, threads: int) -> None:
    """Be a side: say that it is ready, then time as many calls as each line of the input says."""
    with os.fdopen(int(os.environ[ANSWERS]), "w", encoding="utf-8") as answers:
        print(json.dumps(asdict(readiness)), file=answers, flush=True)
        if call is None:
            return
        for line in sys.stdin:
            sample = batch(call, int(line), threads)
            print(json.dumps(sample), file=answers, flush=True)
