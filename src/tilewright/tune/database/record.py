"""Records of candidates: how one is scheduled, and how fast it was, or why it failed."""

from __future__ import annotations

import copy
import functools
import json
import math
import time
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import tilewright
from tilewright.error import RecordError
from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.target.cpu import core_count, host, processor_name
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.schedule import Schedule
from tilewright.tir.schedule.traces.trace import Trace
from tilewright.tune.candidate import ArgInfo, MeasureCandidate
from tilewright.tune.replay import replayed
from tilewright.tune.workload import Workload, normalized


class TuningRecord:
    """One measured (or failed) candidate.

    Args:
        trace: how it is scheduled: a `Trace`, or its JSON form (as lists, or as text), which is
            applied when it is first needed.
        workload: the program.
        run_secs: the measured wall-clock times of a run; None if there is none.
        target: what it was built for.
        args_info: what it was called with: each an `ArgInfo`, or its JSON form.
        cpu_secs: the measured CPU times.
        error: why it failed.
        error_kind: the sort of failure, such as ``"timeout"`` or ``"wrong-result"``.
        machine: what it was measured on; by default this machine. Where there is no such device,
            ``{"estimate": ...}`` names the model that its time is from.
        versions: of the programs that took part; by default Tilewright's.
        timestamp: when it was measured, in seconds since 1970; by default now.
        task_name: the task that it was a candidate of.
        supersedes: whether earlier records of the same candidate no longer count, because this
            measurement was a better one.
        is_default: whether it is the default schedule, with which the others are compared.
    """

    def __init__(
        self,
        trace: Trace | list[Any] | bytes,
        workload: Workload,
        run_secs: Sequence[float] | None = None,
        target: Target | str | Mapping[str, Any] | None = None,
        args_info: Sequence[Any] | None = None,
        *,
        cpu_secs: Sequence[float] | None = None,
        error: str | None = None,
        error_kind: str | None = None,
        machine: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
        timestamp: float | None = None,
        task_name: str = "main",
        supersedes: bool = False,
        is_default: bool = False,
    ) -> None:
        self._trace: Any = trace
        self.workload = workload
        self.run_secs = _seconds(run_secs)
        self._target: Any = target
        self._args_info: Any = args_info
        self.cpu_secs = _seconds(cpu_secs)
        self.error, self.error_kind = error, error_kind
        self.machine = this_machine() if machine is None else machine
        self.versions = _OWN_VERSIONS if versions is None else versions
        self.timestamp = time.time() if timestamp is None else float(timestamp)
        self.task_name = task_name
        self.supersedes, self.is_default = supersedes, is_default

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
    def is_estimate(self) -> bool:
        """Whether its times are those of a model of a device, and were not measured."""
        return "estimate" in self.machine

    @property
    def rank(self) -> tuple[bool, float]:
        """The sort key of records of one program: those that were measured come first."""
        return self.is_estimate, self.mean_secs

    @property
    def target(self) -> Target | None:
        """The target that it was built for."""
        if self._target is not None and not isinstance(self._target, Target):
            self._target = Target(self._target)
        return self._target

    @property
    def candidate_key(self) -> tuple[str, ...]:
        """A key that all records of one candidate on one machine share."""
        target, machine = str(self.target), machine_name(self.machine)
        return self.workload.key, self._trace_text, target, machine

    @functools.cached_property
    def _trace_text(self) -> str:
        if isinstance(self._trace, bytes):
            return self._trace.decode("ascii", "replace")
        return json.dumps(self.trace_json, separators=(",", ":"))

    @property
    def args_info(self) -> list[ArgInfo] | None:
        """The arguments that it was called with."""
        if self._args_info is not None:
            self._args_info = [
                arg if isinstance(arg, ArgInfo) else ArgInfo.from_json(arg)
                for arg in self._args_info
            ]
        return self._args_info

    @property
    def trace(self) -> Trace:
        """How it is scheduled; a trace from a file is applied to the workload the first time."""
        if not isinstance(self._trace, Trace):
            self._trace = self.schedule(enable_check=False).trace
        return self._trace

    @property
    def trace_json(self) -> list[Any]:
        """The trace in its JSON form, which is not applied to anything."""
        if isinstance(self._trace, Trace):
            return self._trace.as_json()
        if isinstance(self._trace, bytes):
            try:
                self._trace = json.loads(self._trace)
            except ValueError:
                raise RecordError(f"the trace of {self!r} is not JSON") from None
        return self._trace

    # --- using it -----------------------------------------------------------------------------

    def schedule(
        self, mod: IRModule | PrimFunc | None = None, *, enable_check: bool = True
    ) -> Schedule:
        """The program with the trace applied.

        Args:
            mod: the program; by default the workload.
            enable_check: prove again that each step keeps the program's meaning, so that nothing
                that a file says can make a wrong program.

        Raises:
            RecordError: if the trace does not apply.
        """
        module = self.workload.mod if mod is None else normalized(mod)
        return replayed(self.trace_json, module, enable_check=enable_check)

    def of(self, workload: Workload) -> TuningRecord:
        """The same record of an equal workload, of another database."""
        if workload is self.workload:
            return self
        other = copy.copy(self)
        other.workload = workload
        return other

    def as_measure_candidate(self) -> MeasureCandidate:
        """The candidate, to measure it again."""
        args_info = self.args_info or ArgInfo.from_entry_func(self.workload.mod)
        return MeasureCandidate(self.schedule(), args_info, is_default=self.is_default)

    # --- JSON ---------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """The record as `json.dumps` writes it: the workload by its hash, the trace last."""
        target, args = self.target, self._args_info
        form = {
            "workload": self.workload.key,
            "task": self.task_name,
            "run_secs": _written(self.run_secs),
            "cpu_secs": _written(self.cpu_secs),
            "error_kind": self.error_kind,
            "error": self.error,
            "target": None if target is None else target.export(),
            "args": None if args is None else [_written_argument(arg) for arg in args],
            "machine": dict(self.machine),
            "versions": dict(self.versions),
            "timestamp": round(self.timestamp, 3),
            "supersedes": True if self.supersedes else None,
            "default": True if self.is_default else None,
            "trace": self.trace_json,
        }
        return {name: value for name, value in form.items() if value is not None}

    @staticmethod
    def from_json(json_obj: Any, workload: Workload) -> TuningRecord:
        """The record that `as_json` wrote.

        Its parts are checked when they are first used.

        Raises:
            RecordError: if it is malformed.
        """
        try:
            if json_obj["workload"] != workload.key:
                raise RecordError(f"the record is one of workload {json_obj['workload']}")
            trace, target = json_obj["trace"], json_obj.get("target")
            if not isinstance(trace, (list, bytes)):
                raise RecordError(f"a trace is a list, got {trace!r}")
            args = json_obj.get("args")
            if not isinstance(args, (list, NoneType)):
                raise RecordError(f"arguments are a list, got {args!r}")
            return TuningRecord(
                trace,
                workload,
                json_obj.get("run_secs"),
                None if target is None else _target(json.dumps(target)),
                args,
                cpu_secs=json_obj.get("cpu_secs"),
                error=json_obj.get("error"),
                error_kind=json_obj.get("error_kind"),
                machine=_mapping(json_obj.get("machine", {})),
                versions=_mapping(json_obj.get("versions", {})),
                timestamp=_time(json_obj.get("timestamp", 0.0)),
                task_name=str(json_obj.get("task", "main")),
                supersedes=bool(json_obj.get("supersedes")),
                is_default=bool(json_obj.get("default")),
            )
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise RecordError(f"malformed tuning record: {error!r}") from None

    def __repr__(self) -> str:
        if self.is_valid:
            outcome = f"{self.mean_secs * 1e6:.2f} us"
        else:
            outcome = f"failed: {self.error_kind or 'no times'}"
        what = ", default schedule" if self.is_default else ""
        what += ", estimated" if self.is_estimate else ""
        return f"TuningRecord({self.task_name}, workload {self.workload.key}{what}, {outcome})"


_LATEST = 4e9
"""Seconds since 1970 in the year 2096; what is beyond is not a time of a measurement."""

_OWN_VERSIONS = {"tilewright": tilewright.__version__}


@functools.lru_cache(maxsize=256)
def _target(text: str) -> Target:
    return Target(json.loads(text))


def _seconds(values: Any) -> list[float] | None:
    return None if values is None else [float(seconds) for seconds in values]


def _time(value: Any) -> float:
    seconds = float(value)
    if not 0 <= seconds < _LATEST:
        raise ValueError(f"{seconds} is not a time in seconds since 1970")
    return seconds


def _written(seconds: list[float] | None) -> list[Any] | None:
    """Times as JSON, which has no infinity."""
    if seconds is None:
        return None
    return [value if math.isfinite(value) else str(value) for value in seconds]


def _written_argument(arg: Any) -> Any:
    return arg.as_json() if isinstance(arg, ArgInfo) else arg


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a dictionary, got {value!r}")
    return value


def machine_name(machine: Mapping[str, Any]) -> str:
    """The kind of a machine: its processor, or the model that estimates."""
    return str(machine.get("estimate") or machine.get("cpu"))


@functools.cache
def this_machine() -> dict[str, str | int]:
    """What records say about this machine.

    ``cpu`` is the name given by its manufacturer, ``llvm_cpu`` and ``triple`` what code for it is
    generated for, ``cores`` the number that this process may use.
    """
    found = host()
    return {
        "cpu": processor_name(),
        "llvm_cpu": found.cpu,
        "triple": found.triple,
        "cores": core_count(),
    }
