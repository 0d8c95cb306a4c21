"""Tensors of torch as arguments: what sharing their memory alone would lose.

A tensor may stand for the negatives or the conjugates of the numbers in its memory, and autograd
may count on it to stay as it is. Neither is part of DLPack. This package does not import torch:
whoever passes a tensor has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tilewright.error import ArgumentValueError

if TYPE_CHECKING:
    from tilewright.runtime.packed_func import PackedFunc

tensor_class: Any = ()
"""The class of torch's tensors; no class until one is looked for with torch imported."""
_raise_versions: Callable[[Sequence[Any]], object] | None = None
"""See `_find_version_counter`."""


def require_plain(value: Any, place: str) -> None:
    """Refuse a tensor of torch whose memory does not hold its elements themselves.

    Args:
        value: anything; only tensors of torch are looked at.
        place: what stands before the message.

    Raises:
        ArgumentValueError: if its negative or its conjugate bit is set.
    """
    if isinstance(value, tensor_class or _find_class()) and (value.is_neg() or value.is_conj()):
        _refuse_bits(value, place)


def prepare_arguments(function: PackedFunc, args: Sequence[Any]) -> None:
    """Check the tensors of torch among the arguments of a call, and tell autograd of writes.

    Args:
        function: what is called.
        args: its arguments.

    Raises:
        ArgumentValueError: if the memory of a tensor does not hold its elements, or if a tensor
            that requires gradients would be written.
    """
    if function.parameters is None:
        _require_plain_items(args, function.name)
        return
    known_class = tensor_class or _find_class()
    for arg in args:  # those of conjugates have dtypes that compiled code refuses
        if (type(arg) is known_class or isinstance(arg, known_class)) and arg.is_neg():
            _refuse_bits(arg, _place(function, [other is arg for other in args].index(True)))
    if not function.written:
        return
    changed: tuple[Any, ...] = ()
    try:
        for position in function.written:
            arg = args[position]
            if type(arg) is known_class or isinstance(arg, known_class):
                if arg.requires_grad and sys.modules["torch"].is_grad_enabled():
                    _refuse_write(_place(function, position))
                changed += (arg,)
    except IndexError:
        return  # too few arguments, which compiled code refuses
    if changed:  # so that backward passes that need their old elements fail
        (_raise_versions or _find_version_counter())(changed)


def _require_plain_items(items: Sequence[Any], name: str) -> None:
    for number, item in enumerate(items, 1):
        if isinstance(item, (tuple, list)):
            _require_plain_items(item, name)
        else:
            require_plain(item, f"{name}: argument {number}")


def _find_class() -> Any:
    """The class of torch's tensors; no class while torch is not imported, or only in part."""
    global tensor_class
    tensor_class = getattr(sys.modules.get("torch"), "Tensor", ())
    return tensor_class


def _place(function: PackedFunc, position: int) -> str:
    known = function.parameters or ()
    label = f" ({known[position].name})" if position < len(known) else ""
    return f"{function.name}: argument {position + 1}{label}"


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


def _find_version_counter() -> Callable[[Sequence[Any]], object]:
    """What raises the versions of tensors; those made in inference mode have none."""
    global _raise_versions
    torch = sys.modules["torch"]

    def count(tensors: Sequence[Any]) -> None:
        for tensor in tensors:
            if not tensor.is_inference():
                torch.autograd.graph.increment_version(tensor)

    counter: Callable[[Sequence[Any]], object] = getattr(torch._C, "_increment_version", count)
    try:
        counter((torch.empty(0),))
    except (TypeError, RuntimeError):  # of another release
        counter = count
    _raise_versions = counter
    return counter
