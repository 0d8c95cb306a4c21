"""Passes that tune kernels, or apply the best schedules of a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import TargetError
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.providers import loaded_provider, provider
from tilewright.target import Target


class MetaScheduleApplyDatabase(ModulePass):
    """Give each kernel the best schedule of a database; without a database, change nothing.

    How many were found is logged. The others get the default schedule when they are built.

    Args:
        work_dir: the directory of a tuning run; by default the database of the ``with`` statement
            around (``with database:``).
    """

    def __init__(self, work_dir: str | None = None) -> None:
        super().__init__()
        self.work_dir = work_dir

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        database = self._database()
        if database is None:
            return mod
        return provider("model tuning").apply_database(mod, database, Target.current())

    def _database(self) -> Any:
        if self.work_dir is not None:
            databases = provider("tuning databases")
            return databases.Database.create("json", work_dir=self.work_dir, allow_missing=False)
        # Where nobody has loaded the tuner, no database is in scope.
        databases = loaded_provider("tuning databases")
        return None if databases is None else databases.Database.current()


class MetaScheduleTuneIRMod(ModulePass):
    """Tune the kernels of a model; the records go to `work_dir`, the module stays as it is.

    Needs a target: ``with Target("llvm --num-cores=1"): tune(mod)``.

    Args:
        params: values of parameters of ``main`` by name.
        work_dir: a directory for the records and the logs.
        max_trials_global: how many candidates are measured at most.
        max_trials_per_task: how many of each kernel.
        op_names: tune only kernels whose name contains one of these.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None,
        work_dir: str,
        max_trials_global: int,
        max_trials_per_task: int | None = None,
        op_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.params, self.work_dir = params, work_dir
        self.max_trials_global, self.max_trials_per_task = max_trials_global, max_trials_per_task
        self.op_names = op_names

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        provider("model tuning").tune_relax(
            mod,
            self.params,
            _target(type(self).__name__),
            self.work_dir,
            self.max_trials_global,
            max_trials_per_task=self.max_trials_per_task,
            op_names=self.op_names,
        )
        return mod


class MetaScheduleTuneTIR(ModulePass):
    """Tune the tensor programs of a module, whoever calls them; see `MetaScheduleTuneIRMod`.

    Args:
        work_dir: a directory for the records and the logs.
        max_trials_global: how many candidates are measured at most.
    """

    def __init__(self, work_dir: str, max_trials_global: int) -> None:
        super().__init__()
        self.work_dir, self.max_trials_global = work_dir, max_trials_global

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        tuner = provider("program tuning")
        tuner.tune_tir(mod, _target(type(self).__name__), self.work_dir, self.max_trials_global)
        return mod


def _target(name: str) -> Target:
    target = Target.current()
    if target is None:
        raise TargetError(f'{name} needs a target: with Target("llvm --num-cores=1"): ...')
    return target
