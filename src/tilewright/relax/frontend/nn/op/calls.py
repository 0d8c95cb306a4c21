"""What makes operators on `nn.Tensor`, and calls of tensor programs and registered functions."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from tilewright.error import ArgumentError, DeviceError
from tilewright.ir.expr import Expr
from tilewright.relax import op
from tilewright.relax.expr import PrimValue, RelaxExpr, ShapeExpr
from tilewright.relax.frontend.nn.tensor import Tensor, current_builder, graph_value, wrap_nested
from tilewright.tir.function import PrimFunc

__all__ = [
    "ccl_allgather", "ccl_allreduce", "ccl_broadcast_from_worker0", "debug_func", "extern",
    "print_", "tensor_expr_op", "tensor_ir_inplace_op", "tensor_ir_op",
]  # fmt: skip


def tensor_operator(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function from graph values to a graph call takes and returns tensors.

    The operator has one argument more at the end, `name`: the name of the variable in the graph,
    by default that of the function.
    """
    return _wrapped(function, function.__name__.rstrip("_"), inspect.signature(function))


def renamed(
    function: Callable[..., Any], name: str, *operands: str, doc: str | None = None
) -> Callable[..., Any]:
    """The operator of a graph operator whose first arguments are called `operands`."""
    parameters = list(inspect.signature(function).parameters.values())
    named = [p.replace(name=new) for p, new in zip(parameters, operands, strict=False)]
    signature = inspect.Signature([*named, *parameters[len(operands) :]])
    operator = _wrapped(function, name, signature)
    operator.__doc__ = doc or function.__doc__
    return operator


def _wrapped(
    function: Callable[..., Any], name: str, signature: inspect.Signature
) -> Callable[..., Any]:
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    last = inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=name)
    variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    if variadic:
        last = last.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    complete = signature.replace(
        parameters=[*parameters, last], return_annotation=inspect.Signature.empty
    )

    @functools.wraps(function)
    def operator(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = complete.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"nn.op.{name}{complete}: {error}") from None
        bound.apply_defaults()
        chosen = bound.arguments.pop("name")
        values = [graph_value(argument) for argument in bound.args]
        return wrap_nested(function(*values, **bound.kwargs), chosen)

    operator.__name__ = operator.__qualname__ = name
    operator.__signature__ = complete  # type: ignore[attr-defined]
    return operator


def require_tensor(caller: str, name: str, value: Any) -> Tensor:
    """`value`, an argument that has to be a tensor.

    Raises:
        ArgumentError: if it is something else.
    """
    if not isinstance(value, Tensor):
        raise ArgumentError(f"nn.op.{caller}: `{name}` is an nn.Tensor, got {value!r}")
    return value


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any],
    name_hint: str,
    args: Sequence[Any],
    *,
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """What a function on tensors of `tilewright.te` computes.

    Args:
        tensor_expr_func: such as a function of `tilewright.topi`.
        name_hint: the name of the tensor program.
        args: tensors, numbers, sizes, and lists of these.
        attrs: attributes of the tensor program.
    """
    values = [graph_value(arg) for arg in args]
    call = current_builder().call_te(
        tensor_expr_func, *values, primfunc_name_hint=name_hint, primfunc_attrs=attrs
    )
    return wrap_nested(call, name_hint)


def tensor_ir_op(func: PrimFunc, name_hint: str, args: Any, out: Any) -> Any:
    """What a tensor program computes.

    Args:
        func: the program.
        name_hint: its name in the module.
        args: tensors, and after them the sizes that are scalar parameters.
        out: tensors like the results, made by `nn.Tensor.placeholder`.
    """
    operands, sizes = _kernel_arguments("tensor_ir_op", args)
    info = _results("tensor_ir_op", out)
    name = current_builder().add_func(_program("tensor_ir_op", func), name_hint)
    return wrap_nested(op.call_tir(name, operands, info, sizes), name_hint)


def tensor_ir_inplace_op(
    func: PrimFunc, name_hint: str, args: Any, inplace_indices: int | Sequence[int], out: Any
) -> Any:
    """What a tensor program computes that writes over some of its arguments.

    Args:
        func: the program; a result over an argument is not a parameter of its own.
        name_hint: its name in the module.
        args: tensors, and after them the sizes that are scalar parameters.
        inplace_indices: for each result the argument that it is written over; -1 for a new array.
        out: tensors like the results.
    """
    operands, sizes = _kernel_arguments("tensor_ir_inplace_op", args)
    info = _results("tensor_ir_inplace_op", out)
    name = current_builder().add_func(_program("tensor_ir_inplace_op", func), name_hint)
    call = op.call_tir_inplace(name, operands, inplace_indices, info, sizes)
    return wrap_nested(call, name_hint)


def extern(name: str, args: Any, out: Any) -> Any:
    """What a registered function writes into arrays that are made for it.

    Args:
        name: under which it is registered when the function runs, or that of a tensor program.
        args: tensors, sizes, numbers and strings.
        out: tensors like the results, made by `nn.Tensor.placeholder`.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"nn.op.extern: the name of the function is a string, got {name!r}")
    values = [graph_value(arg) for arg in _items(args)]
    return wrap_nested(op.call_dps_packed(name, values, _results("extern", out)), name)


def debug_func(name: str, *args: Any, _line_info: str | None = None) -> None:
    """Call a registered function with values while the graph function runs.

    Args:
        name: the function; it is called with ``"file:line"`` and the values.
        *args: tensors, sizes, numbers and strings.

    Raises:
        ArgumentError: if the module is not exported with ``debug=True``.
    """
    from tilewright.relax.frontend.nn.exporter import Exporter

    exporter = Exporter.current()
    if exporter is None or exporter.io_effect is None:
        raise ArgumentError(
            "nn.op.print_ and nn.op.debug_func are for debugging: export or compile the module "
            "with debug=True"
        )
    exporter.io_effect.call(name, _line_info or _caller(2), args)


def print_(tensor: Tensor) -> None:
    """Print a tensor while the graph function runs; see `debug_func`."""
    require_tensor("print_", "tensor", tensor)
    debug_func("vm.builtin.debug_print", tensor, _line_info=_caller(2))


def ccl_allreduce(x: Any, op_type: str = "sum", in_group: bool = True) -> NoReturn:
    """Combining arrays of several machines, which is not supported.

    Raises:
        DeviceError: always.
    """
    raise _one_machine("ccl_allreduce")


def ccl_allgather(x: Any, num_workers: int) -> NoReturn:
    """Joining arrays of several machines, which is not supported.

    Raises:
        DeviceError: always.
    """
    raise _one_machine("ccl_allgather")


def ccl_broadcast_from_worker0(x: Any) -> NoReturn:
    """Sending an array to all machines, which is not supported.

    Raises:
        DeviceError: always.
    """
    raise _one_machine("ccl_broadcast_from_worker0")


def _one_machine(name: str) -> DeviceError:
    return DeviceError(f"nn.op.{name}: programs run on one machine, there are no other workers")


# --- arguments ------------------------------------------------------------------------------


def _caller(depth: int) -> str:
    """Where the caller's caller stands: ``"file:line"``."""
    frame = sys._getframe(depth)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _items(args: Any) -> list[Any]:
    return list(args) if isinstance(args, (list, tuple)) else [args]


def _program(caller: str, func: Any) -> PrimFunc:
    if not isinstance(func, PrimFunc):
        raise ArgumentError(f"nn.op.{caller}: the program is a PrimFunc, got {func!r}")
    return func.without_attr("global_symbol")


def _kernel_arguments(caller: str, args: Any) -> tuple[list[RelaxExpr], list[Expr] | None]:
    """The arrays, and the sizes after them."""
    arrays: list[RelaxExpr] = []
    sizes: list[Any] = []
    for arg in _items(args):
        if isinstance(arg, (Tensor, RelaxExpr)) and not isinstance(arg, (ShapeExpr, PrimValue)):
            if sizes:
                raise ArgumentError(f"nn.op.{caller}: sizes come after the tensors, got {args!r}")
            arrays.append(graph_value(arg))
        elif isinstance(arg, ShapeExpr):
            sizes += arg.values
        elif isinstance(arg, PrimValue):
            sizes.append(arg.value)
        elif isinstance(arg, (Expr, int)):
            sizes.append(arg)
        else:
            raise ArgumentError(f"nn.op.{caller}: expected tensors and sizes, got {arg!r}")
    return arrays, sizes or None


def _results(caller: str, out: Any) -> Any:
    """The struct info of results."""
    if isinstance(out, (list, tuple)):
        return [require_tensor(caller, "out", tensor)._info for tensor in out]
    return require_tensor(caller, "out", out)._info
