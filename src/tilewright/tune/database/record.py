"""What is known of one candidate: how it is scheduled, and how fast it was, or why it failed."""

from __future__ import annotations

import copy
import functools
import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import tilewright
from tilewright.error import RecordError, TVMError
from tilewright.target import Target
from tilewright.tir.schedule.schedule import Schedule
from tilewright.tir.schedule.trace import Trace
from tilewright.tune.candidate import ArgInfo, MeasureCandidate
from tilewright.tune.machine import this_machine
from tilewright.tune.workload import Workload


class TuningRecord:
    """One measured (or failed) candidate.

    Args:
        trace: how it is scheduled; a `Trace`, or its JSON form, which is applied when it is
            first needed.
        workload: the program.
        run_secs: the measured wall-clock times of a run; None if there is none.
        target: what it was built for.
        args_info: what it was called with.
        cpu_secs: the measured CPU times.
        error: why it failed.
        error_kind: the sort of failure, such as ``"timeout"`` or ``"wrong-result"``.
        machine: what it was measured on; by default this machine.
        versions: of the programs that took part; by default Tilewright's.
        timestamp: when it was measured, in seconds since 1970; by default now.
        task_name: the task that it was a candidate of.
        supersedes: whether earlier records of the same candidate no longer count, because this
            measurement was a better one.
    """

    def __init__(
        self,
        trace: Trace | Sequence[Any],
        workload: Workload,
        run_secs: Sequence[float] | None = None,
        target: Target | str | Mapping[str, Any] | None = None,
        args_info: Sequence[ArgInfo] | None = None,
        *,
        cpu_secs: Sequence[float] | None = None,
        error: str | None = None,
        error_kind: str | None = None,
        machine: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        timestamp: float | None = None,
        task_name: str = "main",
        supersedes: bool = False,
    ) -> None:
        self._trace = trace if isinstance(trace, Trace) else None
        self._form: Any = None if isinstance(trace, Trace) else trace
        self.workload = workload
        self.run_secs = None if run_secs is None else [float(s) for s in run_secs]
        self._target: Any = target
        self.args_info = None if args_info is None else list(args_info)
        self.cpu_secs = None if cpu_secs is None else [float(s) for s in cpu_secs]
        self.error, self.error_kind = error, error_kind
        self.machine = this_machine() if machine is None else machine
        self.versions = {"tilewright": tilewright.__version__} if versions is None else versions
        self.timestamp = time.time() if timestamp is None else float(timestamp)
        self.task_name = task_name
        self.supersedes = supersedes

    # --- questions ----------------------------------------------------------------------------

    @property
    def is_valid(self) -> bool:
        """Whether it ran: it has times, all of them finite, and no error."""
        return (
            self.error is None
            and self.error_kind is None
            and bool(self.run_secs)
            and all(0 < seconds < math.inf for seconds in self.run_secs or ())
        )

    @property
    def mean_secs(self) -> float:
        """The mean of the wall-clock times; infinite for a failed candidate."""
        if not self.is_valid or not self.run_secs:
            return math.inf
        return sum(self.run_secs) / len(self.run_secs)

    @property
    def target(self) -> Target | None:
        """What it was built for."""
        if self._target is not None and not isinstance(self._target, Target):
            self._target = Target(self._target)
        return self._target

    @functools.cached_property
    def candidate_key(self) -> tuple[str, ...]:
        """What is the same for all records of one candidate on one machine."""
        workload, target = self.workload.key, str(self._target)
        return workload, json.dumps(self.trace_json), target, str(self.machine.get("cpu"))

    @property
    def trace(self) -> Trace:
        """How it is scheduled.

        A trace from a file is applied to the workload the first time.
        """
        if self._trace is None:
            self._trace = self.schedule(enable_check=False).trace
        return self._trace

    @property
    def trace_json(self) -> list[Any]:
        """The trace in its JSON form, which is not applied to anything."""
        if self._form is None:
            assert self._trace is not None
            self._form = self._trace.as_json()
        return self._form

    # --- using it -----------------------------------------------------------------------------

    def schedule(self, *, enable_check: bool = True) -> Schedule:
        """The workload with the trace applied.

        Args:
            enable_check: prove again that each step keeps the program's meaning, so that nothing
                that a file says can make a wrong program.

        Raises:
            RecordError: if the trace does not apply.
        """
        sch = Schedule(self.workload.mod, enable_check=enable_check, error_render_level="fast")
        try:
            if self._trace is not None:
                self._trace.apply_to_schedule(sch)
            else:
                Trace.apply_json_to_schedule(self._form, sch)
        except (TVMError, TypeError, ValueError, KeyError) as error:
            raise RecordError(
                f"the trace of a record does not apply to workload {self.workload.key}: {error}"
            ) from error
        return sch

    def of(self, workload: Workload) -> TuningRecord:
        """The same record of an equal workload, of another database."""
        if workload is self.workload:
            return self
        other = copy.copy(self)
        other.workload = workload
        return other

    def as_measure_candidate(self) -> MeasureCandidate:
        """The candidate, to measure it again."""
        sch = self.schedule()
        args_info = self.args_info
        return MeasureCandidate(sch, args_info or ArgInfo.from_entry_func(self.workload.mod))

    # --- JSON ---------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """The record as `json.dumps` writes it; the workload by its hash."""
        target, args = self._target, self.args_info
        form = {
            "workload": self.workload.key,
            "task": self.task_name,
            "trace": self.trace_json,
            "run_secs": self.run_secs,
            "cpu_secs": self.cpu_secs,
            "error_kind": self.error_kind,
            "error": self.error,
            "target": target.export() if isinstance(target, Target) else target,
            "args": None if args is None else [arg.as_json() for arg in args],
            "machine": dict(self.machine),
            "versions": dict(self.versions),
            "timestamp": round(self.timestamp, 3),
            "supersedes": True if self.supersedes else None,
        }
        return {name: value for name, value in form.items() if value is not None}

    @staticmethod
    def from_json(json_obj: Any, workload: Workload) -> TuningRecord:
        """The record that `as_json` wrote.

        Raises:
            RecordError: if it is malformed.
        """
        try:
            if json_obj["workload"] != workload.key:
                raise RecordError(f"the record is one of workload {json_obj['workload']}")
            args = json_obj.get("args")
            return TuningRecord(
                _list(json_obj["trace"]),
                workload,
                json_obj.get("run_secs"),
                json_obj.get("target"),
                None if args is None else [ArgInfo.from_json(arg) for arg in args],
                cpu_secs=json_obj.get("cpu_secs"),
                error=json_obj.get("error"),
                error_kind=json_obj.get("error_kind"),
                machine=json_obj.get("machine", {}),
                versions=json_obj.get("versions", {}),
                timestamp=json_obj.get("timestamp", 0.0),
                task_name=json_obj.get("task", "main"),
                supersedes=bool(json_obj.get("supersedes")),
            )
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise RecordError(f"malformed tuning record: {error}") from None

    def __repr__(self) -> str:
        if self.is_valid:
            outcome = f"{self.mean_secs * 1e6:.2f} us"
        else:
            outcome = f"failed: {self.error_kind or 'no times'}"
        return f"TuningRecord({self.task_name}, workload {self.workload.key}, {outcome})"


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise RecordError(f"expected a list, got {value!r}")
    return value
