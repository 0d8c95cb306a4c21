"""Tensors of torch as arguments: what sharing their memory alone would lose.

A tensor may stand for the negatives or the conjugates of the numbers in its memory, and autograd
may count on it to stay as it is. Neither is part of DLPack. This package does not import torch:
whoever passes a tensor has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from tilewright.error import ArgumentValueError

if TYPE_CHECKING:
    from tilewright.ir.library import Parameter

_tensor_class: Any = ()
"""The class of torch's tensors; no class until one is looked for with torch imported."""


def require_plain(value: Any, place: str) -> None:
    """Refuse a tensor of torch whose memory does not hold its elements themselves.

    Args:
        value: anything; only tensors of torch are looked at.
        place: what stands before the message.

    Raises:
        ArgumentValueError: if its negative or its conjugate bit is set.
    """
    if isinstance(value, _tensor_class or _find_class()) and (value.is_neg() or value.is_conj()):
        _refuse_bits(value, place)


def prepare_arguments(
    name: str,
    parameters: Sequence[Parameter] | None,
    written: Sequence[int],
    args: Sequence[Any],
) -> None:
    """Check the tensors of torch among the arguments of a call, and tell autograd of writes.

    Args:
        name: of the function, for messages.
        parameters: what is known about its parameters.
        written: the positions of those that it writes.
        args: its arguments.

    Raises:
        ArgumentValueError: if the memory of a tensor does not hold its elements, or if a tensor
            that requires gradients would be written.
    """
    tensor_class = _tensor_class or _find_class()
    may_be_complex = parameters is None  # compiled functions refuse the dtypes of conjugates
    for arg in args:
        if arg.__class__ is tensor_class or isinstance(arg, tensor_class):
            if arg.is_neg() or (may_be_complex and arg.is_conj()):
                _refuse_bits(arg, _place(name, parameters, _position(arg, args)))
        elif isinstance(arg, (tuple, list)):
            prepare_arguments(name, None, (), arg)
    changed = []
    for position in written:
        if position < len(args) and isinstance(args[position], tensor_class):
            tensor = args[position]
            if tensor.requires_grad and sys.modules["torch"].is_grad_enabled():
                _refuse_write(_place(name, parameters, position))
            changed.append(tensor)
    if changed:  # so that backward passes that need their old elements fail
        _version_counter()(changed)


def _find_class() -> Any:
    """The class of torch's tensors; no class while torch is not imported, or only in part."""
    global _tensor_class
    _tensor_class = getattr(sys.modules.get("torch"), "Tensor", ())
    return _tensor_class


def _position(arg: Any, args: Sequence[Any]) -> int:
    return next(n for n, other in enumerate(args) if other is arg)


def _place(name: str, parameters: Sequence[Parameter] | None, position: int) -> str:
    known = parameters or ()
    label = f" ({known[position].name})" if position < len(known) else ""
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


@cache
def _version_counter() -> Callable[[list[Any]], object]:
    """What raises the versions of tensors; those made in inference mode have none."""
    torch = sys.modules["torch"]
    native: Any = getattr(torch._C, "_increment_version", None)
    try:
        native([torch.empty(0)])
    except (TypeError, RuntimeError):  # of another release
        count = torch.autograd.graph.increment_version
        return lambda tensors: [count(tensor) for tensor in tensors if not tensor.is_inference()]
    return native
