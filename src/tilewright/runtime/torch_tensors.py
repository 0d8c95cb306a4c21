"""Tensors of torch as arguments: what sharing their memory alone would lose.

A tensor may stand for the negatives or the conjugates of the numbers in its memory, and autograd
may count on it to stay as it is. Neither is part of DLPack. This package does not import torch:
whoever passes a tensor has.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tilewright.error import ArgumentValueError

if TYPE_CHECKING:
    from tilewright.runtime.packed_func import Parameter


def require_plain(value: Any, place: str) -> None:
    """Refuse a tensor of torch whose memory does not hold its elements themselves.

    Args:
        value: anything; only tensors of torch are looked at.
        place: what stands before the message.

    Raises:
        ArgumentValueError: if its negative or its conjugate bit is set.
    """
    if isinstance(value, _tensor_class()) and (value.is_neg() or value.is_conj()):
        _refuse_bits(value, place)


def prepare_arguments(
    name: str, parameters: Sequence[Parameter] | None, args: Sequence[Any]
) -> None:
    """Check the tensors of torch among the arguments of a call, and tell autograd of writes.

    Args:
        name: of the function, for messages.
        parameters: what is known about its parameters.
        args: its arguments.

    Raises:
        ArgumentValueError: if the memory of a tensor does not hold its elements, or if a tensor
            that requires gradients would be written.
    """
    tensor_class, known = _tensor_class(), parameters or ()
    for position, arg in enumerate(args):
        if isinstance(arg, tensor_class):
            if arg.is_neg() or arg.is_conj():
                _refuse_bits(arg, _place(name, known, position))
            if position < len(known) and known[position].is_written:
                if arg.requires_grad and sys.modules["torch"].is_grad_enabled():
                    _refuse_write(_place(name, known, position))
                _count_write(arg)
        elif isinstance(arg, (tuple, list)):
            prepare_arguments(name, None, arg)


def _tensor_class() -> Any:
    """The class of torch's tensors; no class while torch is not imported, or only in part."""
    return getattr(sys.modules.get("torch"), "Tensor", ())


def _place(name: str, parameters: Sequence[Parameter], position: int) -> str:
    label = f" ({parameters[position].name})" if position < len(parameters) else ""
    return f"{name}: argument {position + 1}{label}"


def _refuse_bits(tensor: Any, place: str) -> NoReturn:
    bit = "negative" if tensor.is_neg() else "conjugate"
    raise ArgumentValueError(
        f"{place}: the {bit} bit of the torch tensor is set, so its memory does not hold its "
        f"elements; pass tensor.{'resolve_neg' if tensor.is_neg() else 'resolve_conj'}()"
    )


def _refuse_write(place: str) -> NoReturn:
    raise ArgumentValueError(
        f"{place}: this function writes the torch tensor, which requires gradients; pass "
        "tensor.detach(), or call it under torch.no_grad()"
    )


def _count_write(tensor: Any) -> None:
    """Raise the version of a tensor, so that backward passes that need its old elements fail."""
    if not tensor.is_inference():  # these have no version
        sys.modules["torch"].autograd.graph.increment_version(tensor)
