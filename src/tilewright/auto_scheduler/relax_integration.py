"""The tasks of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.auto_scheduler.compute_dag import ComputeDAG
from tilewright.auto_scheduler.hardware_params import HardwareParams
from tilewright.auto_scheduler.search_task import SearchTask
from tilewright.ir.module import IRModule
from tilewright.meta_schedule import relax_integration
from tilewright.target import Target
from tilewright.tune.workload import anchor_block


def extract_tasks(
    mod: IRModule,
    params: Mapping[str, Any] | None,
    target: Target | str,
    target_host: Target | str | None = None,
    hardware_params: HardwareParams | None = None,
    include_simple_tasks: bool = False,
) -> tuple[list[SearchTask], list[int]]:
    """The tensor programs of a model as tasks, each once, with how often it is called.

    What is found for them is used where ``with ApplyHistoryBest(log_file):`` is around
    `relax.build`. See `tilewright.meta_schedule.relax_integration.extract_tasks`.

    Args:
        mod: the model, a module of relax functions.
        params: values of parameters of ``main`` by name.
        target: the target of the tuning.
        target_host: the target of the code beside that of a GPU.
        hardware_params: a description of the machine.
        include_simple_tasks: whether programs without a reduction are tasks, too.

    Returns:
        The tasks, and how often one run of the model calls each.
    """
    chosen = Target(target)
    tasks: list[SearchTask] = []
    weights: list[int] = []
    for found in relax_integration.extract_tasks(mod, chosen, params):
        if anchor_block(found.mod) is None and not include_simple_tasks:
            continue
        task = SearchTask(
            compute_dag=ComputeDAG(found.mod["main"]),
            target=chosen,
            target_host=target_host,
            hardware_params=hardware_params,
            desc=found.task_name,
        )
        tasks.append(task)
        weights.append(found.weight)
    return tasks, weights
