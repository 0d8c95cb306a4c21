"""Lines of Apache TVM's record files, which have the names of ours.

A workload is ``[hash, program]``: the program is a graph of nodes in JSON, behind its length in 8
bytes, in base64. A record is ``[position of the workload, [trace, seconds, target, arguments]]``. A
candidate that failed has times of 10**10 seconds. The machine is not recorded.
"""

from __future__ import annotations

import base64
import json
import os
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tilewright.error import DatabaseError, RecordError, TVMError
from tilewright.ir.module import IRModule
from tilewright.providers import provider
from tilewright.target import Target
from tilewright.tir.node_graph import from_node_graph, to_node_graph
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.workload import Workload

_LENGTH: Final = struct.Struct("<Q")
_FAILED_SECONDS: Final = 1e10

_FORGOTTEN: Final = ("-link-params", "-libs", "-interface-api", "-unpacked-api")
"""Options of targets that were about how code was called, not about its machine."""

_RENAMED: Final = re.compile(r"^-shared_memory_per_block=")

WORKLOAD_FILE: Final = "database_workload.json"
RECORD_FILE: Final = "database_tuning_record.json"


def read_workload(form: Any) -> Workload:
    """The workload in a line of Apache TVM.

    Raises:
        RecordError: if it is malformed, or is not a tensor program.
    """
    try:
        _, text = form
        program = base64.b64decode(text, validate=True)
        (length,) = _LENGTH.unpack_from(program)
        mod = from_node_graph(json.loads(program[_LENGTH.size :][:length]))
        if not isinstance(mod, IRModule):
            raise RecordError(f"a workload is a module, got {mod!r}")
        return Workload(mod)
    except RecordError:
        raise
    except (TypeError, ValueError, LookupError, struct.error, RecursionError) as error:
        raise RecordError(f"malformed workload: {error}") from None


def read_record(form: Any, workloads: Sequence[Workload | None]) -> TuningRecord:
    """The record in a line of Apache TVM.

    Args:
        form: the line.
        workloads: those of the file of workloads; None for a line that could not be read.

    Raises:
        RecordError: if it is malformed.
    """
    try:
        position, (trace, run_secs, target, arguments) = form
        workload = workloads[position] if position >= 0 else None
        if workload is None:
            raise RecordError(f"workload {position} could not be read")
        run_secs = [float(seconds) for seconds in run_secs or ()]
        failed = not run_secs or max(run_secs) >= _FAILED_SECONDS
        own_form = {
            "workload": workload.key,
            "trace": trace,
            "run_secs": None if failed else run_secs,
            "target": target or None,
            "args": arguments,
            "error_kind": "run" if failed else None,
        }
        return TuningRecord.from_json(own_form, workload)
    except RecordError:
        raise
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        raise RecordError(f"malformed tuning record: {error!r}") from None


def is_of_auto_scheduler(form: Any) -> bool:
    """Whether a line is one of the auto-scheduler of Apache TVM."""
    return isinstance(form, dict) and {"i", "r"} <= form.keys() and isinstance(form.get("v"), str)


def read_auto_scheduler(form: dict[str, Any]) -> TuningRecord:
    """The record that a line of the auto-scheduler of Apache TVM says.

    Raises:
        RecordError: if it cannot be read, or its workload is not registered in this process.
    """
    return provider("lines of the auto-scheduler").record_of(form)


def read_target(form: Any) -> Target:
    """The target in a line of Apache TVM, without the attributes that do not affect its code.

    Args:
        form: such as ``"llvm -keys=cpu -link-params=0 -mcpu=skylake-avx512"``, or a dictionary.

    Raises:
        RecordError: if the target is not known here.
    """
    try:
        if not isinstance(form, str):
            return Target(form)
        words = [_RENAMED.sub("-max_shared_memory_per_block=", word) for word in form.split()]
        return Target(" ".join(word for word in words if not word.startswith(_FORGOTTEN)))
    except TVMError as error:
        raise RecordError(f"its target {form!r} cannot be used: {error}") from None


def workload_line(workload: Workload) -> list[Any]:
    """A workload as Apache TVM writes it."""
    program = json.dumps(to_node_graph(workload.mod)).encode()
    text = base64.b64encode(_LENGTH.pack(len(program)) + program).decode("ascii")
    return [str(workload.shash), text]


def record_line(record: TuningRecord, position: int) -> list[Any]:
    """A record as Apache TVM writes it.

    Args:
        record: the record.
        position: the position of its workload in the file of workloads.
    """
    target, arguments = record.target, record.args_info
    if arguments is None:
        arguments = ArgInfo.from_entry_func(record.workload.mod)
    return [
        position,
        [
            record.trace.as_json(index_maps_as_graphs=True),
            record.run_secs if record.is_valid else [_FAILED_SECONDS],
            {} if target is None else target.export(),
            [argument.as_json() for argument in arguments],
        ],
    ]


def write_records(records: Sequence[TuningRecord], work_dir: str | os.PathLike[str]) -> None:
    """Write records and their workloads to the two files that Apache TVM 0.18 reads.

    Args:
        records: the records.
        work_dir: the directory; it is made if it does not exist.

    Raises:
        DatabaseError: if there are such files already, or they cannot be written.
    """
    workloads = list(dict.fromkeys(record.workload for record in records))
    positions = {workload: position for position, workload in enumerate(workloads)}
    lines = {
        WORKLOAD_FILE: [workload_line(workload) for workload in workloads],
        RECORD_FILE: [record_line(record, positions[record.workload]) for record in records],
    }
    try:
        os.makedirs(work_dir, exist_ok=True)
        for name, forms in lines.items():
            with open(Path(work_dir) / name, "x", encoding="ascii") as file:
                file.writelines(f"{json.dumps(form)}\n" for form in forms)
    except OSError as error:
        raise DatabaseError(f"cannot write to {work_dir}: {error.strerror or error}") from None
