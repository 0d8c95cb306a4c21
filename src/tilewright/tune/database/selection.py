"""Selection of records: by target, by time, by task."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tune.database.record import TuningRecord, machine_name, this_machine

if TYPE_CHECKING:
    from tilewright.tune.database.base import Database


def same_machine_code(record: TuningRecord, target: Target) -> bool:
    """Whether a record counts for `target`: same instructions, same number of cores.

    ``Target("llvm")`` means the reading machine, so the machine of the record counts too.
    """
    own = record.target
    if own is None:
        return True
    measured_here = record.machine.get("llvm_cpu") in (None, this_machine()["llvm_cpu"])
    means_reader = own.is_host and not {"mcpu", "mtriple"} & own.attrs.keys()
    if means_reader and not measured_here:
        return False
    if means_reader and "num-cores" not in own.attrs and "num-cores" not in target.attrs:
        return _instructions(own) == _instructions(target)
    return _instructions(own) == _instructions(target) and own.num_cores == target.num_cores


@functools.lru_cache(maxsize=256)
def _instructions(target: Target) -> tuple[Any, ...]:
    if target.kind.name not in ("llvm", "c"):
        return (target.kind.name, str(target))
    return (
        target.kind.name, target.triple, target.cpu, target.features, target.vector_bits,
    )  # fmt: skip


def records_of(
    database: Database | None,
    mod: IRModule | None,
    target: Target | None,
    machine: Mapping[str, Any] | None = None,
) -> list[TuningRecord]:
    """The records of a program for a target that were measured on machines of one kind.

    Args:
        database: where to look.
        mod: the program.
        target: the target.
        machine: one of these machines, as a record names it; by default this one.
    """
    if database is None or mod is None or not len(database) or not database.has_workload(mod):
        return []
    own = database.commit_workload(mod)
    own_machine = machine_name(this_machine() if machine is None else machine)
    return [
        record
        for record in database.get_all_tuning_records()
        if record.workload.shash == own.shash
        and machine_name(record.machine) == own_machine
        and (target is None or same_machine_code(record, target))
    ]


def standing(records: Iterable[TuningRecord]) -> list[TuningRecord]:
    """The records without those that a later one of the same candidate supersedes."""
    ordered = list(records)
    last = {r.candidate_key: i for i, r in enumerate(ordered) if r.supersedes}
    if not last:
        return ordered
    return [r for i, r in enumerate(ordered) if i >= last.get(r.candidate_key, 0)]


def fastest(records: Iterable[TuningRecord], top_k: int) -> list[TuningRecord]:
    """The fastest valid records, the best first; of equally fast ones the earlier first.

    Estimates come after all that was measured. Records that were superseded do not count.
    """
    valid = [record for record in standing(records) if record.is_valid]
    return sorted(valid, key=lambda record: record.rank)[: max(top_k, 0)]


def best_records(records: Iterable[TuningRecord]) -> list[TuningRecord]:
    """The fastest valid record of each workload for each target and machine."""
    best: dict[tuple[str, str, str], TuningRecord] = {}
    for record in standing(records):
        if not record.is_valid:
            continue
        key = (record.workload.key, str(record.target), machine_name(record.machine))
        if key not in best or record.mean_secs < best[key].mean_secs:
            best[key] = record
    return list(best.values())


def selected(
    records: Iterable[TuningRecord],
    *,
    workload: str | None = None,
    task: str | None = None,
    target: Target | str | None = None,
    machine: str | None = None,
    since: float | None = None,
    until: float | None = None,
    failed: bool | None = None,
) -> list[TuningRecord]:
    """The records that pass every test that is given.

    Args:
        records: to choose from.
        workload: the first digits of the hash of the workload.
        task: part of the name of the task.
        target: code for which the record counts as.
        machine: part of the name of the CPU, upper and lower case alike.
        since: measured at this time (seconds since 1970) or later.
        until: measured before this time.
        failed: True for failed candidates only, False for others only.
    """
    wanted = None if target is None else Target(target)
    tests: list[Callable[[TuningRecord], bool]] = []
    if workload is not None:
        tests.append(lambda r: r.workload.key.startswith(workload.lower()))
    if task is not None:
        tests.append(lambda r: task in r.task_name)
    if wanted is not None:
        tests.append(lambda r: same_machine_code(r, wanted))
    if machine is not None:
        tests.append(lambda r: machine.lower() in machine_name(r.machine).lower())
    if since is not None:
        tests.append(lambda r: r.timestamp >= since)
    if until is not None:
        tests.append(lambda r: r.timestamp < until)
    if failed is not None:
        tests.append(lambda r: r.is_valid is not failed)
    return [record for record in records if all(test(record) for test in tests)]
