"""`SearchTask`: a computation and the target that it is tuned for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.auto_scheduler.compute_dag import ComputeDAG, LayoutRewriteOption, require_layout
from tilewright.auto_scheduler.hardware_params import HardwareParams
from tilewright.auto_scheduler.workload_registry import (
    make_workload_key,
    register_workload_tensors,
)
from tilewright.error import ArgumentError, ArgumentValueError, TargetError
from tilewright.target import Target


class SearchTask:
    """A computation and the target that it is tuned for.

    Args:
        func: a registered function that makes the tensors, or its name.
        args: the arguments of `func`.
        compute_dag: the computation, in place of `func`.
        workload_key: the workload key, in place of `func` and `args`; or the name of `compute_dag`
            in logs.
        target: the target; by default the current one.
        target_host: the target of the code beside that of a GPU.
        hardware_params: a description of the machine, see `HardwareParams`.
        layout_rewrite_option: see `LayoutRewriteOption`.
        task_inputs: refused; see `register_task_input_buffer`.
        task_inputs_overwrite: refused.
        task_inputs_save_to_file: refused.
        desc: what tables call the task; by default the workload key.

    Attributes:
        compute_dag: the computation.
        workload_key: names it in logs.
        target: the target.

    Raises:
        ArgumentError: if there is no computation, or more than one.
        UnknownNameError: if a function is not registered.
        TargetError: if there is no target.
    """

    def __init__(
        self,
        func: Callable[..., Any] | str | None = None,
        args: Any = None,
        compute_dag: ComputeDAG | None = None,
        workload_key: str | None = None,
        target: Target | str | Mapping[str, Any] | None = None,
        target_host: Target | str | None = None,
        hardware_params: HardwareParams | None = None,
        layout_rewrite_option: LayoutRewriteOption | int | None = None,
        task_inputs: Any = None,
        task_inputs_overwrite: bool = False,
        task_inputs_save_to_file: bool = False,
        desc: str = "",
    ) -> None:
        if func is not None and (compute_dag is not None or workload_key is not None):
            raise ArgumentError("SearchTask: `func` is given with `compute_dag` or `workload_key`")
        if func is None and compute_dag is None and workload_key is None:
            raise ArgumentError("SearchTask: give `func` and `args`, or `workload_key`")
        if task_inputs or task_inputs_overwrite or task_inputs_save_to_file:
            register_task_input_buffer()
        if func is not None:
            workload_key = make_workload_key(func, () if args is None else args)
        if compute_dag is None:
            assert workload_key is not None
            compute_dag = ComputeDAG(workload_key)
        elif workload_key is None:
            workload_key = register_workload_tensors(
                compute_dag.workload_key(), compute_dag.tensors
            )
        self.compute_dag = compute_dag
        self.workload_key: str = workload_key
        chosen = Target.current() if target is None else Target(target)
        if chosen is None:
            raise TargetError('SearchTask: give a `target`, such as "llvm"')
        if target_host is not None:
            chosen = chosen.with_host(target_host)
        self.hardware_params = hardware_params or HardwareParams(target=chosen)
        self.target = chosen if hardware_params is None else hardware_params.applied_to(chosen)
        require_layout(layout_rewrite_option)
        self.layout_rewrite_option = LayoutRewriteOption(layout_rewrite_option or 0)
        self.desc = desc or self.workload_key

    @property
    def target_host(self) -> Target | None:
        """The target of the code beside that of a GPU."""
        return self.target.host

    def __repr__(self) -> str:
        return f"SearchTask({self.workload_key}, {self.target})"


def register_task_input_buffer(*_: Any, **__: Any) -> None:
    """Refuse inputs of a task's own, and say how candidates get theirs.

    Raises:
        ArgumentValueError: always.
    """
    raise ArgumentValueError(
        "candidates are measured with random inputs. For others, such as indices of a sparse "
        "array, give TuningOptions(runner=tilewright.tune.measure.LocalRunner("
        "f_alloc_argument=...)), a function that returns them"
    )
