"""A call of each schedule primitive on each of the measured programs where it applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tilewright.script import tir as T
from tilewright.tir import LoopRV, Schedule, TensorIntrin

INTRINSIC = "benchmark_scale_16"
"""The name of a tensor intrinsic that multiplies 16 elements by a number."""


@T.prim_func
def _scale(
    A: T.Buffer((16,), "float32", offset_factor=1), B: T.Buffer((16,), "float32", offset_factor=1)
):
    with T.block("root"):
        T.reads(A[0:16])
        T.writes(B[0:16])
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * T.float32(0.125)


@T.prim_func
def _scale_at_once(
    A: T.Buffer((16,), "float32", offset_factor=1), B: T.Buffer((16,), "float32", offset_factor=1)
):
    with T.block("root"):
        T.reads(A[0:16])
        T.writes(B[0:16])
        B[0:16] = A[0:16] * T.Broadcast(T.float32(0.125), 16)


def register() -> None:
    """Make known the tensor intrinsic that calls mention."""
    TensorIntrin.register(INTRINSIC, _scale, _scale_at_once, override=True)


class Call(NamedTuple):
    """One call to measure.

    Attributes:
        primitive: the name of the method.
        program: on which program.
        prepare: takes a schedule of the tiled program, makes what the call needs, and returns the
            arguments.
    """

    primitive: str
    program: str
    prepare: Callable[[Schedule], tuple[Any, ...]]


def _loop(sch: Schedule, block: str, position: int) -> LoopRV:
    return sch.get_loops(block)[position]


# --- loops --------------------------------------------------------------------------------------

_LOOPS: Final = [
    Call("get_block", "matmul", lambda s: ("C",)),
    Call("get_block", "conv2d", lambda s: ("conv",)),
    Call("get_block", "attention", lambda s: ("P",)),
    Call("get_loops", "matmul", lambda s: ("C",)),
    Call("get_loops", "conv2d", lambda s: ("conv",)),
    Call("get_loops", "attention", lambda s: ("S",)),
    Call("get_consumers", "attention", lambda s: ("masked",)),
    Call("split", "matmul", lambda s: (_loop(s, "C", 5), [None, 8])),
    Call("split", "conv2d", lambda s: (_loop(s, "conv", 12), [None, 2])),
    Call("split", "attention", lambda s: (_loop(s, "P", 2), [None, 24])),
    Call("fuse", "matmul", lambda s: s.get_loops("C")[:2]),
    Call("fuse", "conv2d", lambda s: s.get_loops("conv")[:3]),
    Call("fuse", "attention", lambda s: s.get_loops("S")[:3]),
    Call("reorder", "matmul", lambda s: (_loop(s, "C", 5), _loop(s, "C", 3))),
    Call("reorder", "conv2d", lambda s: (_loop(s, "conv", 14), _loop(s, "conv", 3))),
    Call("reorder", "attention", lambda s: (_loop(s, "S", 6), _loop(s, "S", 4))),
    Call("loop_partition", "matmul", lambda s: (_loop(s, "C", 1), [2, None])),
    Call("loop_partition", "conv2d", lambda s: (_loop(s, "relu", 1), [8, None])),
    Call("loop_partition", "attention", lambda s: (_loop(s, "P", 2), [32, None])),
    Call("merge", "conv2d", lambda s: (_loop(s, "bias", 2), _loop(s, "relu", 2))),
    Call("merge", "attention", lambda s: (_loop(s, "E", 2), _loop(s, "total", 2))),
    Call("add_unit_loop", "matmul", lambda s: ("C",)),
    Call("add_unit_loop", "conv2d", lambda s: ("conv",)),
    Call("add_unit_loop", "attention", lambda s: ("P",)),
    Call("reorder_block_iter_var", "matmul", lambda s: ("C", [1, 0, 2])),
    Call("reorder_block_iter_var", "conv2d", lambda s: ("conv", [3, 4, 5, 0, 1, 2])),
    Call("reorder_block_iter_var", "attention", lambda s: ("S", [0, 2, 1, 3])),
    Call("parallel", "matmul", lambda s: (_loop(s, "C", 0),)),
    Call("parallel", "conv2d", lambda s: (_loop(s, "conv", 0),)),
    Call("parallel", "attention", lambda s: (_loop(s, "S", 0),)),
    Call("vectorize", "matmul", lambda s: (_loop(s, "C", 4),)),
    Call("vectorize", "conv2d", lambda s: (_loop(s, "conv", 14),)),
    Call("vectorize", "attention", lambda s: (_loop(s, "E", 2),)),
    Call("unroll", "matmul", lambda s: (_loop(s, "C", 4),)),
    Call("unroll", "conv2d", lambda s: (_loop(s, "conv", 14),)),
    Call("unroll", "attention", lambda s: (_loop(s, "S", 5),)),
    Call("bind", "matmul", lambda s: (_loop(s, "C", 0), "blockIdx.x")),
    Call("bind", "conv2d", lambda s: (_loop(s, "conv", 0), "blockIdx.x")),
    Call("bind", "attention", lambda s: (_loop(s, "S", 0), "blockIdx.x")),
]


# --- caches and layouts -------------------------------------------------------------------------


def _cached_read(sch: Schedule) -> tuple[Any, ...]:
    """A copy of an input, to be computed in the tiles."""
    return sch.cache_read("C", 0, "local"), _loop(sch, "C", 2)


def _cached_write(sch: Schedule) -> tuple[Any, ...]:
    """A copy of the output, to be written back per tile."""
    return sch.cache_write("C", 0, "local"), _loop(sch, "C", 1)


def _allocated(sch: Schedule) -> tuple[Any, ...]:
    """A buffer of a block around a tile."""
    tile = sch.blockize(_loop(sch, "C", 3))
    sch.cache_read("C", "A", "local")
    return tile, "A_local"


_MEMORY: Final = [
    Call("cache_read", "matmul", lambda s: ("C", 1, "local")),
    Call("cache_read", "conv2d", lambda s: ("conv", 1, "local")),
    Call("cache_read", "attention", lambda s: ("E", 0, "local")),
    Call("cache_write", "matmul", lambda s: ("C", 0, "local")),
    Call("cache_write", "conv2d", lambda s: ("conv", 0, "local")),
    Call("cache_write", "attention", lambda s: ("S", 0, "local")),
    Call("lift_alloc", "matmul", _allocated),
    Call("cache_index", "attention", lambda s: ("joined", "local")),
    Call("reindex", "matmul", lambda s: ("C", ("read", 1))),
    Call("reindex", "conv2d", lambda s: ("conv", ("read", 1))),
    Call("reindex", "attention", lambda s: ("S", ("write", 0))),
    Call("reindex_cache_read", "matmul",
         lambda s: ("C", 1, "local", lambda i, j, k: (j // 16, k, j % 16))),
    Call("reindex_cache_read", "attention",
         lambda s: ("S", 1, "local", lambda h, i, j, d: (h, d, j))),
    Call("reindex_cache_write", "matmul",
         lambda s: ("C", 0, "local", lambda i, j, k: (j // 16, i, j % 16))),
    Call("reindex_cache_write", "attention",
         lambda s: ("S", 0, "local", lambda h, i, j, d: (h, j, i))),
    Call("read_at", "matmul", lambda s: (_loop(s, "C", 2), "C", 0, "shared")),
    Call("read_at", "conv2d", lambda s: (_loop(s, "conv", 6), "conv", 1, "shared")),
    Call("read_at", "attention", lambda s: (_loop(s, "S", 3), "S", 1, "shared")),
    Call("write_at", "matmul", lambda s: (_loop(s, "C", 1), "C", 0, "shared")),
    Call("write_at", "conv2d", lambda s: (_loop(s, "conv", 5), "conv", 0, "shared")),
    Call("write_at", "attention", lambda s: (_loop(s, "S", 2), "S", 0, "shared")),
    Call("stage_mem", "matmul", lambda s: (_loop(s, "C", 2), "A")),
    Call("stage_mem", "conv2d", lambda s: (_loop(s, "conv", 6), "W")),
    Call("stage_mem", "attention", lambda s: (_loop(s, "S", 3), "K")),
    Call("transform_layout", "matmul",
         lambda s: ("C", ("read", 1), lambda k, j: (j // 16, k, j % 16))),
    Call("transform_layout", "conv2d",
         lambda s: ("conv", ("read", 1), lambda o, c, r, t: (o // 8, c, r, t, o % 8))),
    Call("transform_layout", "attention", lambda s: ("S", ("write", 0), lambda h, i, j: (h, j, i))),
    Call("transform_block_layout", "conv2d",
         lambda s: ("bias", lambda o, h, w: (o, h * 56 + w))),
    Call("transform_block_layout", "attention", lambda s: ("P", lambda h, i, j: (h * 128 + i, j))),
    Call("set_axis_separator", "matmul", lambda s: ("C", ("read", 0), [1])),
    Call("set_axis_separator", "conv2d", lambda s: ("conv", ("write", 0), [1])),
    Call("set_axis_separator", "attention", lambda s: ("S", ("write", 0), [1])),
    Call("set_scope", "conv2d", lambda s: ("conv", 0, "shared")),
    Call("set_scope", "attention", lambda s: ("S", 0, "shared")),
    Call("storage_align", "conv2d", lambda s: ("conv", 0, 1, 32, 8)),
    Call("storage_align", "attention", lambda s: ("S", 0, 1, 32, 8)),
    Call("unsafe_set_dtype", "conv2d", lambda s: ("conv", 0, "float16")),
    Call("unsafe_set_dtype", "attention", lambda s: ("S", 0, "float16")),
    Call("unsafe_hide_buffer_access", "matmul", lambda s: ("C", "read", [0])),
]  # fmt: skip


# --- places of computation, reductions ----------------------------------------------------------


def _windows(sch: Schedule) -> tuple[Any, ...]:
    """The padded image, computed where rows of it are convolved."""
    sch.compute_at("pad", _loop(sch, "conv", 1))
    return "pad", 0


def _guarded(sch: Schedule) -> tuple[Any, ...]:
    """The padded image, computed again for each tile of channels."""
    loop = _loop(sch, "conv", 0)
    sch.compute_at("pad", loop)
    return "pad", loop


def _vector(sch: Schedule) -> tuple[Any, ...]:
    """Loops of the length of the intrinsic."""
    _, inner = sch.split(_loop(sch, "scaled", 2), [None, 16])
    return inner, INTRINSIC


_PLACES: Final = [
    Call("compute_at", "matmul", _cached_read),
    Call("compute_at", "conv2d", lambda s: ("pad", _loop(s, "conv", 2))),
    Call("compute_at", "attention", lambda s: ("scaled", _loop(s, "S", 1))),
    Call("compute_at", "attention", lambda s: ("total", _loop(s, "P", 1))),
    Call("reverse_compute_at", "matmul", _cached_write),
    Call("reverse_compute_at", "conv2d", lambda s: ("bias", _loop(s, "conv", 2))),
    Call("reverse_compute_at", "attention", lambda s: ("masked", _loop(s, "S", 2))),
    Call("reverse_compute_at", "attention", lambda s: ("joined", _loop(s, "O", 1))),
    Call("compute_inline", "conv2d", lambda s: ("pad",)),
    Call("compute_inline", "conv2d", lambda s: ("bias",)),
    Call("compute_inline", "attention", lambda s: ("scaled",)),
    Call("compute_inline", "attention", lambda s: ("masked",)),
    Call("reverse_compute_inline", "conv2d", lambda s: ("relu",)),
    Call("decompose_reduction", "matmul", lambda s: ("C", _loop(s, "C", 2))),
    Call("decompose_reduction", "conv2d", lambda s: ("conv", _loop(s, "conv", 6))),
    Call("decompose_reduction", "attention", lambda s: ("S", _loop(s, "S", 3))),
    Call("rfactor", "matmul", lambda s: (_loop(s, "C", 2), 0)),
    Call("rfactor", "conv2d", lambda s: (_loop(s, "conv", 6), 0)),
    Call("rfactor", "attention", lambda s: (_loop(s, "total", 2), 0)),
    Call("pad_einsum", "attention", lambda s: ("total", [1, 24, 24])),
    Call("decompose_padding", "conv2d", lambda s: ("pad", _loop(s, "pad", 0))),
    Call("rolling_buffer", "conv2d", _windows),
    Call("add_guard", "conv2d", _guarded),
    Call("blockize", "matmul", lambda s: (_loop(s, "C", 3),)),
    Call("blockize", "conv2d", lambda s: (_loop(s, "conv", 12),)),
    Call("blockize", "attention", lambda s: (_loop(s, "S", 4),)),
    Call("tensorize", "attention", _vector),
    Call("annotate", "matmul", lambda s: (_loop(s, "C", 0), "key", 1)),
    Call("annotate", "conv2d", lambda s: (_loop(s, "conv", 0), "key", 1)),
    Call("annotate", "attention", lambda s: (_loop(s, "S", 0), "key", 1)),
]


# --- samplings ----------------------------------------------------------------------------------

_SAMPLINGS: Final = [
    Call("sample_categorical", "matmul", lambda s: ([1, 2, 4], [0.25, 0.5, 0.25])),
    Call("sample_perfect_tile", "matmul", lambda s: (_loop(s, "C", 0), 3)),
    Call("sample_perfect_tile", "conv2d", lambda s: (_loop(s, "relu", 0), 4)),
    Call("sample_perfect_tile", "attention", lambda s: (_loop(s, "P", 1), 4)),
    Call("sample_partitioned_tile", "matmul", lambda s: (_loop(s, "C", 0), 3, 1, 2)),
    Call("sample_compute_location", "conv2d", lambda s: ("bias",)),
    Call("sample_compute_location", "attention", lambda s: ("E",)),
]

CALLS: Final = [*_LOOPS, *_MEMORY, *_PLACES, *_SAMPLINGS]


def _transposed(sch: Schedule) -> tuple[Any, ...]:
    """Loops of two blocks of which the second one needs elements that are computed later."""
    _, h, w = sch.get_loops("relu")
    sch.reorder(w, h)
    return _loop(sch, "bias", 2), h


REFUSED: Final = [
    Call("merge", "conv2d", _transposed),
    Call("merge", "attention", lambda s: (_loop(s, "largest", 2), _loop(s, "E", 2))),
    Call("parallel", "matmul", lambda s: (_loop(s, "C", 2),)),
    Call("parallel", "conv2d", lambda s: (_loop(s, "conv", 6),)),
    Call("parallel", "attention", lambda s: (_loop(s, "total", 2),)),
]
"""Calls that are refused because of a dependence."""
