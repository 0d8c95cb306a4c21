"""The methods of `Schedule` that apply primitives; each is made from its function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import tilewright.tir.schedule.primitives  # noqa: F401, registers them
from tilewright.error import did_you_mean
from tilewright.tir.schedule.primitive import PRIMITIVES, Primitive


class PrimitiveMethods:
    """Base class with one method per primitive."""

    def _call(self, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        hint = did_you_mean(name, dir(type(self)))
        raise AttributeError(f"a schedule of blocks has no method {name!r}{hint}")


def _method(primitive: Primitive) -> Callable[..., Any]:
    def method(self: PrimitiveMethods, *args: Any, **kwargs: Any) -> Any:
        return self._call(primitive, args, kwargs)

    method.__name__ = primitive.name
    method.__qualname__ = f"Schedule.{primitive.name}"
    method.__doc__ = primitive.doc
    self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [self_parameter, *primitive.signature.parameters.values()]
    method.__signature__ = primitive.signature.replace(parameters=parameters)
    return method


for _primitive in PRIMITIVES.values():
    setattr(PrimitiveMethods, _primitive.name, _method(_primitive))
