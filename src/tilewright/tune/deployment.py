"""The form of a candidate that is measured: the one in which models run it."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.lift_copies import lift_copies
from tilewright.tune.candidate import TensorInfo, entry_function
from tilewright.tune.measure.arguments import packer_of


class Deployed(NamedTuple):
    """A module as it is built.

    Attributes:
        mod: the module; where constant operands are packed, with the functions that do so once, of
            the names that `packer_of` gives them.
        packed: the parameters that take a packed constant, by position.
    """

    mod: IRModule
    packed: dict[int, TensorInfo]


def packs_constants(mod: IRModule) -> bool:
    """Whether schedules of a program may pack parameters that are constants in all calls."""
    return any(CONSTANT_PARAMS in function.attrs for function in mod.functions.values())


def deployed(mod: IRModule) -> Deployed:
    """A scheduled program in which packing of constant operands is lifted out of its function."""
    if not packs_constants(mod):
        return Deployed(mod, {})
    entry = entry_function(mod)
    function, copies = lifted(entry)
    packed = {}
    for position in copies:
        buffer = function.buffer_map[function.params[position]]
        packed[position] = TensorInfo(buffer.dtype, [int(n.value) for n in buffer.shape])  # type: ignore[attr-defined]
    result = mod.clone()
    for var, own in mod.functions.items():
        if own is entry:
            result.update_func(var, function)
    for position, copy in copies.items():
        name = packer_of(position)
        result.update_func(GlobalVar(name), copy.with_attr("global_symbol", name))
    return Deployed(result, packed)


def lifted(function: PrimFunc) -> tuple[PrimFunc, dict[int, PrimFunc]]:
    """A function without what it copies of constant parameters, and the functions that copy."""
    positions = [int(position) for position in function.attrs.get(CONSTANT_PARAMS) or ()]
    return lift_copies(function.without_attr(CONSTANT_PARAMS), positions)
