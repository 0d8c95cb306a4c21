"""`Task`: a template with its arguments, and what can be chosen in it."""

from __future__ import annotations

import functools
from typing import Any

from tilewright.autotvm.task.dispatcher import ApplyConfig
from tilewright.autotvm.task.space import Config, ConfigSpace
from tilewright.autotvm.task.template import Template, template_named
from tilewright.autotvm.task.workload import Workload, serialize_args
from tilewright.error import ArgumentError, InstantiationError, TargetError
from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.te.create_prim_func import create_prim_func
from tilewright.te.schedule import Schedule
from tilewright.tir.analysis.cost import estimate_tir_flops
from tilewright.tune.workload import normalized


class Task:
    """A template with its arguments; `create` makes one.

    Args:
        name: the name of the template.
        args: its arguments, as `serialize_args` gives them.
        target: what it is for.

    Attributes:
        name: as above.
        args: as above.
        kwargs: none; for compatibility.
        target: as above.
        config_space: the knobs.
        mod: what it computes, as a module with the function ``main`` and no schedule.
        flop: number of arithmetic operations: what the template said by ``cfg.add_flop``, or what
            `mod` does.

    Raises:
        UnknownNameError: if there is no such template.
        InstantiationError: if the template fails.
    """

    def __init__(self, name: str, args: Workload, target: Target) -> None:
        self.name, self.args, self.target = name, args, target
        self.kwargs: dict[str, Any] = {}
        self.func: Template = template_named(name)
        self.config_space = ConfigSpace()
        _, params = self._called(self.config_space)
        self.mod: IRModule = normalized(create_prim_func(params))
        self.flop = self.config_space.flop or estimate_tir_flops(self.mod)

    @property
    def workload(self) -> Workload:
        """The name and the arguments: what tells it from other tasks."""
        return (self.name, *self.args)

    def instantiate(self, config: Config) -> tuple[Schedule, list[Any]]:
        """The schedule for a config.

        Args:
            config: such as ``task.config_space.get(0)``.

        Returns:
            The te schedule and the list of its parameters, for `tvm.lower` and `tvm.build`.

        Raises:
            InstantiationError: if the template refuses the config, or fails.
        """
        config.errors.clear()
        config.flop = 0
        found = self._called(config)
        if not config.valid():
            reason = "; ".join(config.errors)
            message = f"the template {self.name!r} refuses the config {config}: {reason}"
            raise InstantiationError(message, reason)
        return found

    def _called(self, config: Config) -> tuple[Schedule, list[Any]]:
        try:
            with ApplyConfig(config), self.target:
                found = self.func(*self.args)
        except Exception as error:
            what = "while its knobs are collected"
            if not isinstance(config, ConfigSpace):
                what = f"with the config {config}"
            raise InstantiationError(
                f"the template {self.name!r} with the arguments {list(self.args)} fails {what}: "
                f"{type(error).__name__}: {error}",
                f"{type(error).__name__} in the template",
            ) from error
        return self.func.checked(found)

    def __reduce__(self) -> Any:
        return create, (self.name, self.args, self.target)

    def __repr__(self) -> str:
        return (
            f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, "
            f"workload={self.workload})"
        )


def create(task_name: str, args: Any, target: Any, target_host: Any = None) -> Task:
    """A task of a template.

    Args:
        task_name: the name of the template.
        args: its arguments: numbers, strings, None, tensors, or lists of such.
        target: what it is for.
        target_host: what the code beside that of `target` is for.

    Raises:
        UnknownNameError: if no template of that name is registered in this process.
        ArgumentError: for arguments that are not data, such as a schedule.
        InstantiationError: if the template fails, or its knobs have no values.
    """
    if isinstance(args, Schedule):
        raise ArgumentError(
            "autotvm.task.create(task_name, args, target) takes no schedule: the template makes "
            "one. Put the code that makes it into a function with the decorator "
            f"@autotvm.template({task_name!r}), and give its arguments, such as [512, 512, 512]"
        )
    template_named(task_name)
    if target is None or isinstance(target, (list, tuple)):
        raise TargetError(
            f"autotvm.task.create: `target` is a target such as 'llvm', got {target!r}"
        )
    return Task(task_name, serialize_args(args), Target(target, target_host))


@functools.lru_cache(maxsize=64)
def _known_task(parts: Any, name: str, args: Workload, target: Target) -> Task:
    del parts
    return create(name, args, target)


def known_task(name: str, args: Workload, target: Target) -> Task:
    """The task of a template, made once until the template is registered again."""
    return _known_task(template_named(name).parts, name, args, target)
