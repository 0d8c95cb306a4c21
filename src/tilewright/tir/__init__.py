"""Tensor programs: buffers, blocks, loops and functions over them."""

import importlib
from typing import TYPE_CHECKING, Any, Final

from tilewright.ir import *  # noqa: F403
from tilewright.tir.buffer import (
    Buffer,
    BufferLoad,
    BufferRegion,
    MatchBufferRegion,
    Range,
    decl_buffer,
)
from tilewright.tir.expr import CommReducer, IterType, IterVar, ProducerLoad, Reduce
from tilewright.tir.function import PrimFunc
from tilewright.tir.index_map import IndexMap
from tilewright.tir.op import *  # noqa: F403
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Prefetch,
    SeqStmt,
    Stmt,
    While,
    seq,
)
from tilewright.tir.substitute import substitute
from tilewright.tir.tensor_intrin import TensorIntrin

if TYPE_CHECKING:
    from tilewright.tir.schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError, Trace

del transform  # noqa: F821  # that of `ir`; the one of this package is loaded below

_SCHEDULE: Final = ("BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "Trace")

_MODULES: Final = ("analysis", "ir_builder", "schedule", "stmt_functor", "transform")


def __getattr__(name: str) -> Any:
    """Sub-packages that not every program needs are loaded when they are first used."""
    if name in _SCHEDULE:
        return getattr(importlib.import_module("tilewright.tir.schedule"), name)
    if name in _MODULES:
        return importlib.import_module(f"tilewright.tir.{name}")
    raise AttributeError(f"module 'tilewright.tir' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SCHEDULE, *_MODULES})
