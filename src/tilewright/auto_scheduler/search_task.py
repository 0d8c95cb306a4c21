"""`SearchTask`: a computation and the target that it is tuned for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tilewright.auto_scheduler.compute_dag import ComputeDAG, LayoutRewriteOption, require_layout
from tilewright.auto_scheduler.hardware_params import HardwareParams
from tilewright.auto_scheduler.workload_registry import (
    make_workload_key,
    register_workload_tensors,
)
from tilewright.driver.build_module import build
from tilewright.error import ArgumentError, ArgumentValueError, RecordError, TargetError
from tilewright.schedule_rules.eligible import ATTRIBUTES
from tilewright.target import Target
from tilewright.te.schedule import Schedule
from tilewright.te.tensor import Tensor
from tilewright.tir import schedule as tir

if TYPE_CHECKING:
    from tilewright.auto_scheduler.search_policy import SearchPolicy
    from tilewright.auto_scheduler.tuning_options import TuningOptions


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
                compute_dag.workload_key(), compute_dag.computation
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

    def tune(
        self,
        tuning_options: TuningOptions,
        search_policy: SearchPolicy | None = None,
        adaptive_training: bool = False,
    ) -> None:
        """Search for the fastest schedule by measuring.

        The fastest candidates are measured again in the end, in turns with the default schedule,
        so that what `apply_best` finds in the log is not slower than that.

        Args:
            tuning_options: how much is measured, and how.
            search_policy: how it is searched; by default a `SketchPolicy` with an `XGBModel`.
            adaptive_training: for the model of the default policy: do not learn anew from every
                measurement.

        Raises:
            TuningError: if not a single candidate ran; it says why.
            TargetError: for a target whose code does not run on this machine.
        """
        from tilewright.auto_scheduler.cost_model import XGBModel
        from tilewright.auto_scheduler.search_policy import SearchPolicy, SketchPolicy
        from tilewright.auto_scheduler.tuning_options import TuningOptions

        if not isinstance(tuning_options, TuningOptions):
            raise ArgumentError(f"SearchTask.tune: expected TuningOptions, got {tuning_options!r}")
        tuning_options.check_target(self.target)
        if search_policy is None:
            model = XGBModel(adaptive_training=adaptive_training)
            search_policy = SketchPolicy(self, model, verbose=tuning_options.verbose)
        if not isinstance(search_policy, SearchPolicy) or search_policy.task is not self:
            raise ArgumentError(
                f"SearchTask.tune: search_policy is to be a policy of this task, {self}; got "
                f"{search_policy!r}"
            )
        search_policy.search(tuning_options)

    def apply_best(
        self,
        log_file: str | os.PathLike[str],
        include_compatible: bool = False,
        layout_rewrite_option: LayoutRewriteOption | int | None = None,
    ) -> tuple[Schedule, list[Tensor]]:
        """The best schedule of a log, and the arguments: `tvm.lower` and `tvm.build` take both.

        Args:
            log_file: the log.
            include_compatible: let records for other targets count.
            layout_rewrite_option: see `LayoutRewriteOption`.

        Returns:
            A schedule of the tensors that goes on with the steps of the record, each of which is
            proved again.

        Raises:
            DatabaseError: if there is no such file, or it cannot be read.
            RecordError: if it has no valid record of the computation for the target.
        """
        option = (
            self.layout_rewrite_option if layout_rewrite_option is None else layout_rewrite_option
        )
        best = self._best(log_file, include_compatible)
        return self.compute_dag.apply_steps_from_state(best, LayoutRewriteOption(option))

    def print_best(
        self,
        log_file: str | os.PathLike[str],
        print_mode: str = "schedule",
    ) -> str:
        """The best schedule of a log, as Python that repeats it or as the source of its code.

        Args:
            log_file: the log.
            print_mode: ``"schedule"`` is Python that makes a `tir.Schedule`, to be run where the
                workload is registered; ``"source"`` is what the backend generates: the kernels for
                devices, LLVM IR for ``llvm``, C for ``c``; ``"asm"`` is assembly. ``"cuda"`` is
                another name of ``"source"``, for programs that know it.

        Raises:
            ArgumentValueError: for another mode.
            DatabaseError: if there is no such file, or it cannot be read.
            RecordError: if it has no valid record of the computation for the target.
        """
        if print_mode not in ("schedule", "source", "cuda", "asm"):
            raise ArgumentValueError(
                "print_best: print_mode is 'schedule', 'source' ('cuda' is the same) or 'asm', "
                f"got {print_mode!r}"
            )
        best = self._best(log_file)
        if print_mode == "schedule":
            return self._as_python(best)
        module = build(*self.compute_dag.apply_steps_from_state(best), self.target)
        if print_mode == "asm":
            return module.get_source("asm")
        return (*module.imported_modules, module)[0].get_source()

    def _best(self, log_file: str | os.PathLike[str], any_target: bool = False) -> tir.Schedule:
        """The best schedule of a log for the program."""
        from tilewright.auto_scheduler.measure_record import best_schedule

        found = best_schedule(log_file, self.compute_dag, None if any_target else self.target)
        if found is None:
            raise RecordError(
                f"{log_file} has no valid record of {self.workload_key} for {self.target}; "
                "tune the task with RecordToFile among the measure_callbacks"
            )
        return found

    def _as_python(self, sch: tir.Schedule) -> str:
        lines = [
            f"# {self.workload_key} for {self.target}",
            "from tilewright import auto_scheduler, te, tir",
            "",
            f"tensors = auto_scheduler.workload_key_to_tensors({self.workload_key!r})",
            f"function = te.create_prim_func(tensors).with_attrs({ATTRIBUTES})",
            "sch = tir.Schedule(function)",
            *sch.trace.simplified().as_python(),
        ]
        return "\n".join(lines) + "\n"

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
