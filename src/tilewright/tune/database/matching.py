"""Whether code for one target is code for another."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tilewright.target import Target
from tilewright.tune.machine import this_machine

if TYPE_CHECKING:
    from tilewright.tune.database.record import TuningRecord


def same_machine_code(record: TuningRecord, target: Target) -> bool:
    """Whether a record counts for `target`: same instructions, same number of cores.

    ``Target("llvm")`` means whatever machine reads it, so the record's machine counts too.
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
