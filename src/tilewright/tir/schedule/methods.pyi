"""The primitives as methods, made by tools/schedule_stubs.py.

What they return is what their examples return.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.ir.expr import Expr
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.primitive import Primitive
from tilewright.tir.schedule.symbols import BlockRV, ExprRV, LoopRV

class PrimitiveMethods:
    def _call(self, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...
    def add_guard(self, block: BlockRV | str, loop: LoopRV) -> None:
        """Let the iterations of a loop reuse what a block computed in earlier ones."""

    def annotate(self, block_or_loop: LoopRV | BlockRV | str, ann_key: str, ann_val: Any) -> None:
        """Annotate a block or a loop."""

    def unannotate(self, block_or_loop: LoopRV | BlockRV | str, ann_key: str) -> None:
        """Remove an annotation of a block or a loop."""

    def unsafe_hide_buffer_access(
        self, block: BlockRV | str, buf_type: str, buf_index_array: Sequence[int | Expr]
    ) -> None:
        """Leave regions out of what a block states to read or to write."""

    def enter_postproc(self) -> None:
        """Mark that what follows in the trace is postprocessing."""

    def blockize(
        self, target: LoopRV | Sequence[BlockRV | str], preserve_unit_iters: bool = True
    ) -> BlockRV:
        """Make one block of what is inside of a loop, or of several blocks next to each other."""

    def set_scope(self, block: BlockRV | str, buffer_index: Any, storage_scope: str) -> None:
        """Put a buffer that a block writes into a storage scope."""

    def storage_align(
        self,
        block: BlockRV | str,
        buffer_index: Any,
        axis: int | Expr,
        factor: int | Expr,
        offset: int | Expr,
    ) -> None:
        """Make the stride of a dimension of a buffer ``k * factor + offset`` for some ``k``."""

    def unsafe_set_dtype(self, block: BlockRV | str, buffer_index: Any, dtype: str) -> None:
        """Store the elements of a buffer in another type."""

    def cache_index(
        self, block: BlockRV | str, storage_scope: str, cse_thresh: int | Expr = 0
    ) -> list[BlockRV]:
        """Compute the indices with which a block accesses buffers ahead, into buffers."""

    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: Any,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Let blocks read a buffer through a copy of it."""

    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: Any,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Let a block write into another buffer, which a new block copies to the original one."""

    def cache_inplace(
        self, block: BlockRV | str, read_buffer_index: Any, storage_scope: str
    ) -> list[BlockRV]:
        """Let a block read and write a copy of a buffer, which is copied back after the block."""

    def compute_inline(self, block: BlockRV | str) -> None:
        """Replace every read of a block's result by the value that the block stores."""

    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Let the only producer of a block store what the block computes from its value."""

    def compute_at(
        self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Move a producer under a loop, where each iteration computes what it needs."""

    def reverse_compute_at(
        self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Move a consumer under a loop, where each iteration uses what it has computed."""

    def read_at(
        self, loop: LoopRV, block: BlockRV | str, read_buffer_index: Any, storage_scope: str
    ) -> BlockRV:
        """Let the blocks in a loop read a buffer through a copy made at the start of each
        iteration."""

    def write_at(
        self, loop: LoopRV, block: BlockRV | str, write_buffer_index: Any, storage_scope: str
    ) -> BlockRV:
        """Let a block in a loop write into another buffer, which each iteration copies at its
        end."""

    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Split a block that pads into one that fills with a constant and one that copies."""

    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Make the initialisation of a reduction a block of its own, right before a loop."""

    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of a loop on several threads."""

    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of a loop as lanes of vector instructions."""

    def unroll(self, loop: LoopRV) -> None:
        """Repeat the body of a loop once per iteration."""

    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Let GPU threads or blocks run the iterations of a loop."""

    def loop_partition(
        self, loop: LoopRV, factors: Sequence[int | Expr | None], preserve_unit_iters: bool = True
    ) -> list[LoopRV]:
        """Cut the range of a loop into consecutive parts, each a loop of its own."""

    def split(
        self,
        loop: LoopRV,
        factors: Sequence[int | Expr | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Split a loop into nested loops, one per factor, the outermost first."""

    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse perfectly nested loops into one."""

    def add_unit_loop(self, block_or_loop: LoopRV | BlockRV | str) -> LoopRV:
        """Put a loop of one iteration around a block or a loop."""

    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int | Expr]) -> None:
        """Pad the iteration domain of an einsum, so that its extents become multiples of
        numbers."""

    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block called `name`."""

    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around a block inside of its scope, the outermost first."""

    def get_child_blocks(self, block_or_loop: LoopRV | BlockRV | str) -> list[BlockRV]:
        """The blocks inside of a block or a loop, without those inside of these blocks."""

    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks of the same scope that write what a block reads, in the order of the text."""

    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks of the same scope that read what a block writes, in the order of the text."""

    def get_output_blocks(self, scope_block: BlockRV | str) -> list[BlockRV]:
        """The child blocks of a block that write a buffer which outlives the block."""

    def reindex(self, block: BlockRV | str, buffer: Any, occurrence: int | None = None) -> BlockRV:
        """Let a block access a buffer through a cache whose indices are the block's iterators."""

    def reindex_cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: Any,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Let a block read a buffer through a cache with indices of the user's choice."""

    def reindex_cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: Any,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Let a block write a buffer through a cache with indices of the user's choice."""

    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Put nested loops into a new order."""

    def reorder_block_iter_var(self, block: BlockRV | str, new_order: Sequence[int | Expr]) -> None:
        """Put the iterators of a block into a new order; nothing else changes."""

    def merge(self, *loops: LoopRV, place: str | None = None) -> LoopRV:
        """Merge loops of the same extent that are not nested into one that does the work of all."""

    def rfactor(self, loop: LoopRV, factor_axis: int | Expr) -> BlockRV:
        """Factorise a reduction over one of its loops, whose iterations become independent."""

    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: Any) -> None:
        """Keep what neighbouring iterations of a loop both need in a circular buffer."""

    def sample_categorical(
        self, candidates: Sequence[int | Expr], probs: Sequence[float], decision: int | None = None
    ) -> ExprRV:
        """Choose one of several numbers at random."""

    def sample_perfect_tile(
        self,
        loop: LoopRV | int | Expr,
        n: int,
        max_innermost_factor: int = 16,
        decision: Sequence[int] | None = None,
    ) -> list[ExprRV]:
        """Choose `n` factors whose product is the extent of a loop, all choices equally likely."""

    def sample_partitioned_tile(
        self,
        loop: LoopRV | int | Expr,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: Sequence[int] | None = None,
    ) -> list[ExprRV]:
        """Choose `n` factors of the extent of a loop, the inner ones with a given divisor."""

    def sample_compute_location(self, block: BlockRV | str, decision: int | None = None) -> LoopRV:
        """Choose at random a place at which `compute_at` can compute a block."""

    def shift_zero_point(self, block: BlockRV | str, read_buffer_index: Any) -> None:
        """Move the zero point of an operand of a sum of products, so that it has the other sign."""

    def stage_mem(self, loop: LoopRV, buffer: Any, storage_scope: str = "global") -> list[BlockRV]:
        """Let each iteration of a loop work on a copy of the part of a buffer that it accesses."""

    def lift_alloc(self, block: BlockRV | str, buffer: Any, levels: int = 1) -> None:
        """Move the allocation of a buffer from a block to the block around it."""

    def tensorize(
        self,
        block_or_loop: LoopRV | BlockRV | str,
        tensor_intrin: str,
        preserve_unit_iters: bool = True,
    ) -> None:
        """Replace what is inside of a loop or a block by the implementation of a tensor
        intrinsic."""

    def transform_block_layout(
        self, block: BlockRV | str, index_map: IndexMap | Callable[..., Any]
    ) -> None:
        """Replace the iterators of a block, and the loops that they are bound to, by others."""

    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: Any,
        index_map: IndexMap | Callable[..., Any],
        pad_value: Any = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Put the elements of a buffer into another layout."""

    def set_axis_separator(
        self, block: BlockRV | str, buffer: Any, axis_separators: Sequence[int] | None
    ) -> None:
        """Set the dimensions of a buffer at which a new physical dimension starts."""
