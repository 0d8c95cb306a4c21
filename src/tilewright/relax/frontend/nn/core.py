"""The classes that modules are made of, under one name."""

from tilewright.relax.frontend.nn.containers import ModuleDict, ModuleList, Sequential
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.parameter import Parameter, get_default_dtype, set_default_dtype
from tilewright.relax.frontend.nn.tensor import Object, Tensor, wrap_nested

__all__ = [
    "Effect", "Module", "ModuleDict", "ModuleList", "Object", "Parameter", "Sequential", "Tensor",
    "get_default_dtype", "set_default_dtype", "wrap_nested",
]  # fmt: skip
