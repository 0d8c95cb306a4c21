"""`SubroutineMixin`: modules of a class become a private function that is called."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import GlobalVar
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.relax.expr import Call, Function, ShapeExpr, Var
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.tensor import Tensor, current_builder, graph_result, wrap_nested
from tilewright.tir.substitute import substitute

if TYPE_CHECKING:
    from tilewright.relax.block_builder import BlockBuilder


_MARK: Final = "_is_subroutine"
"""An attribute of methods that build functions of their own."""


class SubroutineMixin:
    """Lets a class choose that its `forward` is a function of its own.

    Attributes:
        define_subroutine: True for a class that does. Its modules are called with their tensors
            and parameters; modules that compute the same share one function.
    """

    define_subroutine: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        forward = getattr(cls, "forward", None)
        if cls.define_subroutine and forward is not None and not hasattr(forward, _MARK):
            cls.forward = _as_subroutine(forward)


def _as_subroutine(forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward`, whose calls build a function and the call of it."""

    @functools.wraps(forward)
    def call_subroutine(self: Any, *args: Any, **kwargs: Any) -> Any:
        values = [*args, *kwargs.values()]
        if self._holds(Effect) or not all(isinstance(value, Tensor) for value in values):
            return forward(self, *args, **kwargs)
        return _call(self, forward, args, kwargs)

    setattr(call_subroutine, _MARK, True)
    return call_subroutine


def _call(
    module: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The call of a private function that computes ``forward(module, *args, **kwargs)``."""
    builder = current_builder()
    params = [param for _, param in module.named_parameters()]
    names = [*_argument_names(forward, len(args)), *kwargs]
    names += [name for name, _ in module.named_parameters()]
    operands = [tensor._expr for tensor in (*args, *kwargs.values(), *params)]
    infos = _with_own_sizes([operand.struct_info for operand in operands])
    variables = [Var(*pair) for pair in zip(names, infos, strict=True)]
    inner = [Tensor(_expr=variable) for variable in variables]
    outer = [param._expr for param in params]
    for param, variable in zip(params, variables[len(operands) - len(params) :], strict=True):
        param._expr = variable
    try:
        with builder.body_of_function(variables):
            with builder.dataflow():
                named = zip(kwargs, inner[len(args) :], strict=False)
                result = graph_result(forward(module, *inner[: len(args)], **dict(named)))
                output = builder.emit_output(result)
            body = builder.end_body(output)
    finally:
        for param, expr in zip(params, outer, strict=True):
            param._expr = expr
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(module).__name__).lower()
    function = Function(tuple(variables), body, body.struct_info)
    return wrap_nested(Call(_shared_name(builder, name, function), operands), name)


def _argument_names(forward: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` arguments after ``self``."""
    parameters = list(inspect.signature(forward).parameters.values())[1:]
    names = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL][:count]
    return names + [f"arg{index}" for index in range(len(names), count)]


def _shared_name(builder: BlockBuilder, name: str, function: Function) -> GlobalVar:
    """The name of a function of the module that equals `function`, which is added if need be."""
    known = GlobalVar(name)
    number = 0
    while builder.has_function(known.name_hint):
        if structural_equal(builder.lookup_function(known), function):
            return known
        number += 1
        known = GlobalVar(f"{name}{number}")
    return builder.add_func(function, name)


def _with_own_sizes(infos: Sequence[Any]) -> list[Any]:
    """Struct info of arrays in which the symbolic sizes are those of another function.

    An extent with a size that no array has alone becomes a size itself.
    """
    own: dict[Size, Size] = {}
    for info in infos:
        for extent in info.extents or ():
            if isinstance(extent, Size) and extent not in own:
                own[extent] = Size(extent.name, extent.dtype)
    expressions: list[tuple[Expr, Size]] = []

    def inside(extent: Expr) -> Expr:
        if all(size in own for size in walk(extent) if isinstance(size, Size)):
            return substitute(extent, own)
        for known, size in expressions:
            if structural_equal(known, extent, map_free_vars=False):
                return size
        size = Size(f"extent{len(expressions)}", INT64)
        expressions.append((extent, size))
        return size

    def with_own(info: Any) -> Any:
        extents = info.extents
        return info if extents is None else info.replace(shape=ShapeExpr([*map(inside, extents)]))

    return [with_own(info) for info in infos]
