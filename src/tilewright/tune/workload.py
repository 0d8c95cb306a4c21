"""Programs to be tuned, and when the records of one are used for another."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentError, RecordError, require_one_of
from tilewright.ir.expr import IntImm
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal, structural_hash
from tilewright.tir.analysis.cost import estimate_tir_flops
from tilewright.tir.expr import IterType
from tilewright.tir.function import PrimFunc
from tilewright.tir.json_form import from_json, to_json
from tilewright.tir.stmt import AllocateConst, Block, BufferStore

ENTRY = "main"
"""The name of the function in the module of a task."""


def normalized(mod: IRModule | BaseFunc) -> IRModule:
    """The module of a task: a single function is called ``main``, whatever its name was.

    So that a program has the same hash, and its traces name the same function, wherever it came
    from. Modules of several functions stay as they are.
    """
    if isinstance(mod, BaseFunc):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise ArgumentError(f"expected an IRModule or a PrimFunc, got {mod!r}")
    if len(mod) != 1:
        return mod
    ((var, func),) = mod.functions.items()
    if var.name_hint == ENTRY and func.global_symbol == ENTRY:
        return mod
    return IRModule({ENTRY: func.with_attr("global_symbol", ENTRY)}, mod.attrs, mod.global_infos)


class Workload:
    """A module that is tuned, with its hash.

    Args:
        mod: the module.
        shash: the hash by which records name it; by default the structural hash.
    """

    def __init__(self, mod: IRModule | BaseFunc, shash: int | None = None) -> None:
        self.mod = normalized(mod)
        self.shash = structural_hash(self.mod) if shash is None else int(shash)

    @property
    def key(self) -> str:
        """The hash as 16 hexadecimal digits: how records name the workload."""
        return f"{self.shash:016x}"

    def as_json(self) -> dict[str, Any]:
        """``{"hash": ..., "module": ...}``, which `json.dumps` writes."""
        return {"hash": self.key, "module": to_json(self.mod)}

    @staticmethod
    def from_json(json_obj: Any) -> Workload:
        """The workload that `as_json` wrote.

        Raises:
            RecordError: if it is malformed.
        """
        try:
            shash, mod = int(json_obj["hash"], 16), from_json(json_obj["module"])
            if not isinstance(mod, IRModule):
                raise RecordError(f"a workload is a module, got {mod!r}")
            return Workload(mod, shash)
        except RecordError:
            raise
        except (TypeError, LookupError, ValueError, AttributeError, OverflowError) as error:
            raise RecordError(f"malformed workload: {error}") from None

    def __repr__(self) -> str:
        return f"Workload({self.key})"


class ModuleEquality:
    """A relation between modules, with a hash that goes with it."""

    name: str = ""
    needs_same_blocks: bool = True
    """Whether equal modules have the same blocks, so that traces of one apply to the other."""

    def hash(self, mod: IRModule) -> int:
        """A number of 64 bits that equal modules share, in every process."""
        raise NotImplementedError(f"{type(self).__name__} does not define hash")

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Whether records of one module may be used for the other."""
        raise NotImplementedError(f"{type(self).__name__} does not define equal")

    @staticmethod
    def create(name: str | ModuleEquality) -> ModuleEquality:
        """The relation of that name, such as ``"structural"``."""
        if isinstance(name, ModuleEquality):
            return name
        require_one_of("module_equality", name, _KINDS)
        return _KINDS[name]()


class StructuralEquality(ModuleEquality):
    """The modules differ in names at most."""

    name = "structural"

    def hash(self, mod: IRModule) -> int:
        """The structural hash."""
        return structural_hash(mod)

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Structural equality."""
        return structural_equal(lhs, rhs)


class IgnoreArrays(ModuleEquality):
    """The modules may also differ in the values of constant arrays."""

    name = "ignore-ndarray"

    def hash(self, mod: IRModule) -> int:
        """The structural hash without the values of arrays."""
        return structural_hash(without_values(mod))

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Structural equality without the values of arrays."""
        return structural_equal(without_values(lhs), without_values(rhs))


class SameAnchor(ModuleEquality):
    """The main blocks, those that take longest, are equal; what is around them may differ."""

    name = "anchor-block"
    needs_same_blocks = False

    def hash(self, mod: IRModule) -> int:
        """The structural hash of the main block; of the module if it has none."""
        anchor = anchor_block(mod)
        return structural_hash(mod if anchor is None else anchor)

    def equal(self, lhs: IRModule, rhs: IRModule) -> bool:
        """Structural equality of the main blocks."""
        a, b = anchor_block(lhs), anchor_block(rhs)
        if a is None or b is None:
            return a is b and structural_equal(lhs, rhs)
        return structural_equal(a, b, map_free_vars=True)


def without_values(mod: IRModule) -> IRModule:
    """A module with zeros in all constant arrays of its tensor programs."""
    functions: dict[Any, Any] = {}
    for var, func in mod.functions.items():
        body = _Zeroed()(func.body) if isinstance(func, PrimFunc) else None
        functions[var] = func if body is None else func.replace(body=body)
    return IRModule(functions, mod.attrs, mod.global_infos)


class _Zeroed(Rewriter):
    def AllocateConst(self, stmt: AllocateConst) -> AllocateConst:
        data = np.zeros_like(stmt.data)
        return stmt.replace(data=data, body=self(stmt.body))


def anchor_block(mod: IRModule) -> Block | None:
    """The block of a reduction that does most of the arithmetic of a module."""
    best: tuple[float, Block] | None = None
    for func in mod.functions.values():
        if not isinstance(func, PrimFunc):
            continue
        for node in walk(func.body):
            if isinstance(node, Block) and _is_reduction(node):
                work = _work(node)
                if best is None or work > best[0]:
                    best = work, node
    return None if best is None else best[1]


def _is_reduction(block: Block) -> bool:
    return any(iterator.iter_type == IterType.COMM_REDUCE for iterator in block.iter_vars)


def _work(block: Block) -> float:
    extents = [iterator.dom.extent for iterator in block.iter_vars if iterator.dom is not None]
    instances = math.prod(extent.value for extent in extents if isinstance(extent, IntImm))
    plain = isinstance(block.body, BufferStore)
    return instances * (1 + (estimate_tir_flops(block.body) if plain else 0))


_KINDS: Final[dict[str, type[ModuleEquality]]] = {
    kind.name: kind for kind in (StructuralEquality, IgnoreArrays, SameAnchor)
}
