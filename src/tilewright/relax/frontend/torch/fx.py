"""Models that `torch.fx` has traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx import GraphModule

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.relax.frontend.torch.program import from_exported_program


def from_fx(
    model: GraphModule,
    input_info: Sequence[tuple[Sequence[int], str]],
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
) -> IRModule:
    """The graph of a model that `torch.fx.symbolic_trace` has traced, as function ``main``.

    The model is exported for inputs of these shapes, as it behaves in evaluation; for dynamic sizes
    export it yourself and call `from_exported_program`.

    Args:
        model: the traced model; another module of torch is taken, too.
        input_info: the shape and the dtype of each input, such as ``[((1, 784), "float32")]``.
        keep_params_as_input: see `from_exported_program`, as for the others.
        unwrap_unit_return_tuple: return a single output as it is.
        no_bind_return_tuple: return the tuple of outputs without binding it to a variable.

    Raises:
        ArgumentError: for a model that is none, or information that is not a constant shape and
            dtype.
        UnsupportedOperatorError: if there are operations without a counterpart; it lists them all.
    """
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"from_fx: expected a traced model, got {type(model).__name__}")
    examples = tuple(_example(position, info) for position, info in enumerate(input_info))
    with torch.no_grad(), _in_evaluation(model):
        program = torch.export.export(model, examples)
    return from_exported_program(
        program,
        keep_params_as_input=keep_params_as_input,
        unwrap_unit_return_tuple=unwrap_unit_return_tuple,
        no_bind_return_tuple=no_bind_return_tuple,
    )


def _example(position: int, info: Any) -> torch.Tensor:
    """An input of this shape and dtype."""
    owner = f"from_fx: input_info[{position}]"
    if not isinstance(info, (tuple, list)) or len(info) != 2:
        raise ArgumentError(f"{owner} is a pair of a shape and a dtype, got {info!r}")
    shape, name = info
    dtype = getattr(torch, str(name), None)
    if not isinstance(dtype, torch.dtype):
        raise ArgumentError(f"{owner}: torch has no dtype {name!r}")
    try:
        sizes = [int(size) for size in shape]
    except TypeError:
        raise ArgumentError(
            f"{owner}: expected constant sizes, got {shape!r}; for dynamic ones call "
            "from_exported_program(torch.export.export(model, inputs, dynamic_shapes=...))"
        ) from None
    return torch.zeros(sizes, dtype=dtype)


@contextmanager
def _in_evaluation(model: torch.nn.Module) -> Iterator[None]:
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
