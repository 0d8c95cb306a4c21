"""What makes an operator on `nn.Tensor` of a function that makes a graph call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tilewright.error import ArgumentError
from tilewright.relax.frontend.nn.tensor import Tensor, graph_value, wrap_nested


def tensor_operator(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function from graph values to a graph call takes and returns tensors.

    The operator has one argument more at the end, `name`: the name of the variable in the graph,
    by default that of the function.
    """
    return _wrapped(function, function.__name__.rstrip("_"), inspect.signature(function))


def renamed(function: Callable[..., Any], name: str, *operands: str) -> Callable[..., Any]:
    """The operator of a graph operator whose first arguments are called `operands`."""
    parameters = list(inspect.signature(function).parameters.values())
    named = [p.replace(name=new) for p, new in zip(parameters, operands, strict=False)]
    signature = inspect.Signature([*named, *parameters[len(operands) :]])
    return _wrapped(function, name, signature)


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
