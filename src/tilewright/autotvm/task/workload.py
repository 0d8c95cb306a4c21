"""The arguments of a template as data: how a task is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import FloatImm, IntImm, StringImm
from tilewright.te.compute import placeholder
from tilewright.te.schedule import Schedule
from tilewright.te.tensor import Tensor

Workload = tuple[Any, ...]
"""The name of a template, and its arguments as data, which can be looked up."""

_TENSOR: Final = "TENSOR"


def serialize_args(args: Sequence[Any]) -> Workload:
    """The arguments of a template as data.

    Args:
        args: numbers, strings, None, tensors, or lists of these.

    Returns:
        The same as tuples, with ``("TENSOR", shape, dtype)`` for a tensor.

    Raises:
        ArgumentError: for anything else, and tensors whose shape is not constant.
    """
    if not isinstance(args, (list, tuple)):
        what = "a te schedule" if isinstance(args, Schedule) else repr(args)
        raise ArgumentError(
            f"the arguments of a template are a list, such as [512, 512, 512], got {what}"
        )
    return tuple(map(_encoded, args))


def deserialize_args(args: Sequence[Any]) -> list[Any]:
    """The arguments of a template from data, with new placeholders for tensors.

    Args:
        args: what `serialize_args` returned.
    """
    return [_decoded(arg) for arg in args]


def args_to_workload(args: Sequence[Any], task_name: str | None = None) -> Workload:
    """The name of a task: that of its template, if it is given, and its arguments as data.

    Args:
        args: the arguments.
        task_name: the name of the template.

    Raises:
        ArgumentError: for arguments that are not data.
    """
    own = serialize_args(args)
    return own if task_name is None else (task_name, *own)


def hashable(value: Any) -> Any:
    """A workload that was read from JSON, which has lists for tuples."""
    return tuple(map(hashable, value)) if isinstance(value, (list, tuple)) else value


def _encoded(arg: Any) -> Any:
    if isinstance(arg, Tensor):
        shape = tuple(extent.value for extent in arg.shape if isinstance(extent, IntImm))
        if len(shape) < arg.ndim:
            raise ArgumentError(
                f"the shape {list(arg.shape)} of {arg.name} is not constant; templates are for "
                "constant shapes"
            )
        return _TENSOR, shape, str(arg.dtype)
    if isinstance(arg, (IntImm, FloatImm, StringImm)):
        return arg.value
    if isinstance(arg, DType):
        return str(arg)
    if isinstance(arg, (list, tuple)):
        return tuple(map(_encoded, arg))
    if arg is None or isinstance(arg, (bool, int, float, str)):
        return arg
    raise ArgumentError(
        "an argument of a template is a number, a string, None, a tensor, or a list of such; got "
        f"{arg!r}"
    )


def _decoded(arg: Any) -> Any:
    if not isinstance(arg, (list, tuple)):
        return arg
    if arg[:1] not in ((_TENSOR,), [_TENSOR]):
        return tuple(map(_decoded, arg))
    try:
        _, shape, dtype = arg
        return placeholder(tuple(shape), name="placeholder", dtype=dtype)
    except (TypeError, ValueError):
        raise ArgumentValueError(
            f"a tensor as data is ('TENSOR', shape, dtype), got {arg!r}"
        ) from None
