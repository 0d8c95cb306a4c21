"""Templates: functions of arguments and knobs that make a te schedule, registered by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.autotvm.task.dispatcher import ApplyConfig, DispatchContext
from tilewright.autotvm.task.workload import args_to_workload, deserialize_args
from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError, did_you_mean
from tilewright.target import Target
from tilewright.te.operation import PlaceholderOp, topological_order
from tilewright.te.schedule import Schedule
from tilewright.te.tensor import Tensor

Function = Callable[..., Any]


class Template:
    """How the schedules of a task are made.

    Attributes:
        name: by which tasks name it.
        function: returns a te schedule and its parameters; None if it has two parts.
        compute: returns tensors.
        schedule: returns a te schedule of tensors.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.function: Function | None = None
        self.compute: Function | None = None
        self.schedule: Function | None = None

    @property
    def parts(self) -> tuple[Function | None, ...]:
        """The functions, which are other ones when a name is registered again."""
        return self.function, self.compute, self.schedule

    @property
    def is_complete(self) -> bool:
        """Whether it can be called."""
        return self.function is not None or None not in (self.compute, self.schedule)

    def __call__(self, *args: Any) -> Any:
        """What its functions return for arguments as data; see `checked`."""
        given = deserialize_args(args)
        if self.function is not None:
            return self.function(*given)
        assert self.compute is not None
        assert self.schedule is not None
        results = self.compute(*given)
        outputs = [results] if isinstance(results, Tensor) else list(results)
        order = topological_order(outputs)
        inputs = [t for op in order if isinstance(op, PlaceholderOp) for t in op.outputs]
        listed = [arg for arg in _tensors(given) if arg in inputs]
        rest = [tensor for tensor in inputs if tensor not in listed]
        return self.schedule(outputs), [*listed, *rest, *outputs]

    def checked(self, found: Any) -> tuple[Schedule, list[Any]]:
        """What the template returned, as a schedule and the list of its parameters.

        Raises:
            ArgumentError: if it returned something else.
        """
        if isinstance(found, (list, tuple)) and len(found) == 2:
            schedule, args = found
            if isinstance(schedule, Schedule) and isinstance(args, (list, tuple)) and args:
                return schedule, list(args)
        raise ArgumentError(
            f"the template {self.name!r} returns a te schedule and the list of its parameters, "
            f"such as `return s, [A, B, C]`; got {found!r}"
        )


def _tensors(args: Sequence[Any]) -> list[Tensor]:
    """The tensors among arguments, each once."""
    found: list[Tensor] = []
    for arg in args:
        inner = _tensors(arg) if isinstance(arg, (list, tuple)) else [arg]
        found += [t for t in inner if isinstance(t, Tensor) and t not in found]
    return found


_TEMPLATES: dict[str, Template] = {}


def template_named(name: str) -> Template:
    """The template of a name.

    Raises:
        UnknownNameError: if none was registered in this process.
    """
    found = _TEMPLATES.get(name) if isinstance(name, str) else None
    if found is None:
        hint = did_you_mean(name, _TEMPLATES, f"; registered are {sorted(_TEMPLATES)}")
        raise UnknownNameError(
            f"there is no template {name!r} in this process{hint}. Import the module whose "
            f"function has the decorator @autotvm.template({name!r})"
        )
    if not found.is_complete:
        missing = "compute" if found.compute is None else "schedule"
        raise UnknownNameError(
            f"the template {name!r} has no {missing} function: register one by "
            f"@autotvm.register_topi_{missing}({name!r})"
        )
    return found


def template(task_name: str, func: Function | None = None) -> Any:
    """Decorator: register a function as a template.

    The function takes numbers, strings and tensors, says its knobs to ``autotvm.get_config()``, and
    returns a te schedule and the list of its parameters. Called as ever, it gets the config that
    the `DispatchContext` has for its arguments.

    Example::

        @autotvm.template("scale")
        def scale(n):
            A = te.placeholder((n,), name="A")
            B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
            s = te.create_schedule(B.op)
            cfg = autotvm.get_config()
            cfg.define_split("tile", B.op.axis[0], num_outputs=2)
            _, inner = cfg["tile"].apply(s, B, B.op.axis[0])
            s[B].vectorize(inner)
            return s, [A, B]

    Args:
        task_name: the name.
        func: the function, if this is not used as a decorator.

    Raises:
        ArgumentValueError: if another function has the name already.
    """
    known = _entry(task_name)

    def register(function: Function) -> Function:
        _require_free(task_name, known.function or known.compute or known.schedule, function)
        known.function = function

        @functools.wraps(function)
        def called(*args: Any) -> Any:
            workload = args_to_workload(args, task_name)
            config = DispatchContext.current.query(Target.current(), workload)
            with ApplyConfig(config):
                return function(*args)

        return called

    return register if func is None else register(func)


def register_topi_compute(task_name: str, func: Function | None = None) -> Any:
    """Decorator: register the compute function of a template that has two parts.

    Args:
        task_name: the name of the template.
        func: the function, if this is not used as a decorator. It takes the config and the
            arguments, and returns a tensor or a list of tensors.

    Returns:
        The function without the parameter for the config, which it gets as `template` says.

    Raises:
        ArgumentValueError: if another function has the name already.
    """
    known = _entry(task_name)

    def register(function: Function) -> Function:
        @functools.wraps(function)
        def called(*args: Any) -> Any:
            workload = args_to_workload(args, task_name)
            config = DispatchContext.current.query(Target.current(), workload)
            results = function(config, *args)
            for tensor in [results] if isinstance(results, Tensor) else results:
                tensor.op.attrs["workload"] = workload
            return results

        _require_free(task_name, known.function or known.compute, called)
        known.compute = called
        return called

    return register if func is None else register(func)


def register_topi_schedule(task_name: str, func: Function | None = None) -> Any:
    """Decorator: register the schedule of a template that has two parts.

    Args:
        task_name: the name of the template.
        func: the function, if this is not used as a decorator. It takes the config and the list of
            tensors to compute, which may be computed from what the compute function returned, and
            returns a te schedule.

    Returns:
        The function without the parameter for the config, which it gets as `template` says.

    Raises:
        ArgumentValueError: if another function has the name already.
    """
    known = _entry(task_name)

    def register(function: Function) -> Function:
        @functools.wraps(function)
        def called(outs: Any, *args: Any) -> Any:
            tensors = [outs] if isinstance(outs, Tensor) else list(outs)
            config = DispatchContext.current.query(Target.current(), get_workload(tensors))
            return function(config, tensors, *args)

        _require_free(task_name, known.function or known.schedule, called)
        known.schedule = called
        return called

    return register if func is None else register(func)


def get_workload(outs: Sequence[Tensor]) -> Any:
    """The workload of the function of `register_topi_compute` that made one of some tensors.

    Raises:
        ArgumentValueError: if none did.
    """
    for op in reversed(topological_order(list(outs))):
        if "workload" in op.attrs:
            return op.attrs["workload"]
    raise ArgumentValueError(
        f"none of {[tensor.name for tensor in outs]} comes from a function of "
        "autotvm.register_topi_compute, so there is no telling which config is meant"
    )


def _entry(name: Any) -> Template:
    if not isinstance(name, str) or not name:
        raise ArgumentError(
            'autotvm.template: the name is a string, as in @autotvm.template("matmul"); got '
            f"{name!r}"
        )
    return _TEMPLATES.setdefault(name, Template(name))


def _require_free(name: str, known: Function | None, function: Function) -> None:
    """Refuse a second function of a name, but for one that is defined anew."""
    if known is None or _place(known) == _place(function):
        return
    raise ArgumentValueError(
        f"the template {name!r} is registered already, by {'.'.join(_place(known))}; give this one "
        "another name"
    )


def _place(function: Function) -> tuple[str, str]:
    return function.__module__, function.__qualname__
