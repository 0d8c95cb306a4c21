"""Whether a device can run the loops that are bound to its blocks and threads.

That the iterations of each such loop are independent is proved for every loop by itself; see
`legality`. A kernel is more: all of its loops of one axis are the same threads. So the extents have
to fit together, memory of a thread or block has to be used in one of them only, barriers have to
stand where all threads come, and threads of different blocks never exchange anything, not even in
different loops. Lowering asks the same; here the step that goes wrong is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.error import LoweringError
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.atomic_updates import is_atomic
from tilewright.tir.analysis.dependence import NotProved, analyze, carried_between
from tilewright.tir.buffer import Buffer
from tilewright.tir.expand_tile_operations import expand_tile_operations
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.private_memory import is_shared_by
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written
from tilewright.tir.schedule.proofs.structural_match import runs_alike
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import (
    AttrStmt,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.compact_buffers import compact_buffers
from tilewright.tir.transform.device.barriers import insert_barriers, varies
from tilewright.tir.transform.device.cross_thread_reduction import lower_cross_thread_reduction
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.thread_axes import (
    AXES,
    BLOCKS,
    THREADS,
    is_bound,
    tag_of,
    unify_thread_axes,
)
from tilewright.tir.transform.device.thread_reductions import iterated_by
from tilewright.tir.transform.device.virtual_threads import inject_virtual_threads
from tilewright.tir.transform.lower_atomic_updates import lower_atomic_updates
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.plan_buffer_locations import plan_buffer_locations


def require_kernels(before: FunctionTree, after: FunctionTree) -> None:
    """Refuse an edit after which the threads of a device cannot run what is bound to them.

    Args:
        before: the program before.
        after: the program after.
    """
    if not after.checked or not after.loops_not_in_order:
        return
    kernels = [
        kernel
        for kernel in _kernels(after)
        if not _is_known(before, kernel) and not _is_plain(after, kernel)
    ]
    if not kernels:
        return
    try:
        for kernel in kernels:
            _require_no_exchange_between_blocks(after, kernel)
        _require_lowering(after, kernels)
    except ScheduleError as error:
        raise error.shown_in(after) from None


def _kernels(tree: FunctionTree) -> Iterator[For]:
    """The outermost loops that are bound to blocks and threads."""
    for loop in tree.loops_not_in_order:
        around = tree.all_loops_above(loop)
        if tag_of(loop) in AXES and not any(tag_of(outer) in AXES for outer in around):
            yield loop


def _is_known(before: FunctionTree, kernel: For) -> bool:
    old = before.loop(kernel.loop_var)
    return old is not None and runs_alike(old, kernel)


# --- the usual case -----------------------------------------------------------------------------


def _is_plain(tree: FunctionTree, kernel: For) -> bool:
    """Whether a kernel has nothing that its threads could get wrong together.

    Its bound loops, each of an axis of its own, stand around everything else, with only threads
    between the blocks. Loops of the same axes inside share the work of filling shared memory. All
    threads come everywhere, and do not reduce together.
    """
    nest = _nest(kernel)
    bound = {tag_of(loop): loop for loop in nest if is_bound(loop)}
    last = max((n for n, loop in enumerate(nest) if tag_of(loop) in BLOCKS), default=0)
    inner = _loops_in(nest[-1].body)
    leaves = _leaves(nest[-1].body)
    return (
        leaves is not None
        and len(bound) == sum(map(is_bound, nest))
        and all(map(is_bound, nest[:last]))
        and all(map(_is_counted, bound.values()))
        and all(_is_counted(loop) or _is_fixed(loop, kernel) for loop in (*nest, *inner))
        and all(_shares_work(tree, loop, bound) for loop in inner if is_bound(loop))
        and not any(_reduces_along(leaf, [*bound.values(), *inner]) for leaf in leaves)
    )


def _is_counted(loop: For) -> bool:
    return isinstance(loop.extent, IntImm)


def _is_fixed(loop: For, kernel: For) -> bool:
    """Whether a loop has as many iterations for all threads of a kernel."""
    return {*variables_of(loop.extent)}.isdisjoint(other.loop_var for other in _loops_in(kernel))


def _shares_work(tree: FunctionTree, loop: For, around: Mapping[str, For]) -> bool:
    """Whether a loop inside of another one of its axis fills memory that the threads share."""
    outer = around.get(tag_of(loop))
    if outer is None or not structural_equal(outer.extent, loop.extent):
        return False
    blocks = [leaf.block for leaf in tree.leaf_blocks_below(loop)]
    written = (buffer for block in blocks for buffer in buffers_written(block))
    read = (buffer for block in blocks for buffer in buffers_read(block))
    return all(is_shared_by(buffer.scope(), tag_of(loop)) for buffer in written) and all(
        owner_of(buffer.scope()) is not MemoryOwner.THREAD for buffer in read
    )


def _memory(tree: FunctionTree) -> Iterator[Buffer]:
    for realize in tree.blocks():
        yield from realize.block.alloc_buffers


def _nest(loop: For) -> list[For]:
    """A loop and those that have nothing beside them in it, the outermost first."""
    found = [loop]
    while isinstance(found[-1].body, For):
        found.append(found[-1].body)
    return found


def _leaves(stmt: Stmt) -> list[BlockRealize] | None:
    """The blocks in a statement; None if there are blocks in them, or other statements."""
    found: list[BlockRealize] = []
    for part in statements(stmt):
        if isinstance(part, BlockRealize):
            found.append(part)
            if any(isinstance(inner, BlockRealize) for inner in statements(part.block.body)):
                return None
    around: list[Stmt] = [stmt]
    while around:
        part = around.pop()
        if isinstance(part, (For, SeqStmt)):
            around += [child for child in part.children() if isinstance(child, Stmt)]
        elif not isinstance(part, BlockRealize):
            return None
    return found


def _reduces_along(leaf: BlockRealize, loops: Sequence[For]) -> bool:
    if is_atomic(leaf.block):
        return False
    bound = (loop.loop_var for loop in loops if is_bound(loop))
    return not iterated_by(leaf, IterType.COMM_REDUCE).isdisjoint(bound)


# --- all others ---------------------------------------------------------------------------------


def _require_no_exchange_between_blocks(tree: FunctionTree, kernel: For) -> None:
    own = [buffer for buffer in _memory(tree) if owner_of(buffer.scope()) is not MemoryOwner.DEVICE]
    found = carried_between(analyze(tree.func), kernel, BLOCKS, own)
    if found is None:
        return
    loops = [loop for loop in _loops_in(kernel) if tag_of(loop) in BLOCKS]
    start = "the blocks of threads of a kernel do not wait for each other, and "
    if isinstance(found, NotProved):
        raise ScheduleError(
            f"{start}it is not known whether they are independent: {found.reason}", at=loops
        )
    raise ScheduleError(
        f"{start}one depends on another one",
        at=loops,
        counterexample=lambda: str(found),
        hint="compute it in loops of its own, which become a kernel of their own, or bind other "
        "loops to blockIdx",
    )


def _loops_in(stmt: Stmt) -> list[For]:
    return [loop for loop in statements(stmt) if isinstance(loop, For)]


def _require_lowering(tree: FunctionTree, kernels: Sequence[For]) -> None:
    try:
        _lower(tree.func)
    except KernelError as error:
        found = [tree.loop(var) for var in error.loops]
        at = [loop for loop in found if loop is not None] or list(kernels)
        raise ScheduleError(
            error.message.replace("{", "{{").replace("}", "}}"),
            at=at,
            counterexample=error.example or None,
            hint=error.hint,
        ) from None
    except LoweringError:
        return  # not because of threads


def _lower(func: PrimFunc) -> None:
    """Make kernels of a function, as far as that may be refused."""
    func = expand_tile_operations(func, mark=True)
    func = lower_cross_thread_reduction(lower_atomic_updates(func))
    func = lower_blocks(func)
    # What is accepted with all memory in its full size is accepted with less, which takes longer to
    # find: indices mention fewer threads then. Only where barriers stand depends on it.
    try:
        if not _keeps_threads_away(unify_thread_axes(func)):
            return
    except KernelError:
        pass
    func = unify_thread_axes(compact_buffers(plan_buffer_locations(func)))
    if _keeps_threads_away(func):
        insert_barriers(inject_virtual_threads(func))


def _keeps_threads_away(kernels: PrimFunc) -> bool:
    """Whether some threads of a block may not come to what others do, which may need barriers."""
    varying: set[Var] = set()
    for stmt in statements(kernels.body):
        decides: tuple[Expr, ...] = ()
        if isinstance(stmt, AttrStmt) and isinstance(stmt.node, IterVar):
            if stmt.node.thread_tag in THREADS:
                varying.add(stmt.node.var)
        elif isinstance(stmt, LetStmt):
            if varies(stmt.value, varying):
                varying.add(stmt.var)
        elif isinstance(stmt, For):
            decides = stmt.min, stmt.extent
        elif isinstance(stmt, While) or (isinstance(stmt, IfThenElse) and not _only_stores(stmt)):
            decides = (stmt.condition,)
        if any(varies(expr, varying) for expr in decides):
            return True
    return False


def _only_stores(stmt: IfThenElse) -> bool:
    return stmt.else_case is None and isinstance(
        stmt.then_case, (BufferStore, Evaluate, IfThenElse)
    )
