"""Moving the zero point of an operand of a sum of products of integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Cast, Expr, Var
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.op import reinterpret
from tilewright.tir.schedule.buffer_reference import buffer_read, recorded_index
from tilewright.tir.schedule.edits.bindings import TRUE
from tilewright.tir.schedule.edits.einsum import (
    Einsum,
    element_of,
    elements_nest,
    loops_of_einsum,
    match_einsum,
    require_whole_domain,
)
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.edits.stage import require_not_root, with_stage
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.regions import with_accesses
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, Stmt
from tilewright.tir.substitute import substitute, variables_of


@primitive
def shift_zero_point(tree: FunctionTree, block: BlockRealize, read_buffer_index: Any) -> Edit:
    """Move the zero point of an operand of a sum of products, so that it has the other sign.

    Machines often multiply unsigned by signed bytes, but not signed by signed ones. A copy of the
    operand has 128 more in each element, as an unsigned byte (or 128 less, as a signed one); what
    that adds to the sum is 128 times the sum of the other operand, and is subtracted from the
    result. Integers wrap around, so that the result is the same.

    Before::

        for i, j, k in T.grid(16, 16, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])

    After ``shift_zero_point("C", "B")``::

        B_shifted = T.alloc_buffer((64, 16), "uint8")
        A_sum = T.alloc_buffer((16,), "int32")
        C_shifted = T.alloc_buffer((16, 16), "int32")
        for i0, i1 in T.grid(64, 16):
            with T.block("B_shifted"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                B_shifted[v0, v1] = T.reinterpret("uint8", B[v0, v1] ^ T.int8(-128))
        for i, k in T.grid(16, 64):
            with T.block("A_sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    A_sum[vi] = 0
                A_sum[vi] = A_sum[vi] + T.Cast("int32", A[vi, vk])
        for i, j, k in T.grid(16, 16, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C_shifted[vi, vj] = 0
                C_shifted[vi, vj] = C_shifted[vi, vj] + (
                    T.Cast("int32", A[vi, vk]) * T.Cast("int32", B_shifted[vk, vj])
                )
        for i, j in T.grid(16, 16):
            with T.block("C_shifted"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = C_shifted[vi, vj] - A_sum[vi] * 128

    Requires: the block sums products of two elements of different buffers, both integers that are
    converted to the dtype of the sum, which is a wider integer; each iterator is bound to a loop
    of its own over its domain, and nothing else is in these loops.

    Args:
        block: the block.
        read_buffer_index: the operand: its position in the block's reads, its name, or the buffer.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(byte_matmul)
        sch.shift_zero_point("C", "B")
    """
    require_not_root(tree, block)
    einsum = match_einsum(block)
    chain = loops_of_einsum(tree, block)
    require_whole_domain(einsum, {loop.loop_var: loop.extent for loop in chain})
    given = buffer_read(block, read_buffer_index)
    operand, other = _operands(einsum, given.buffer)
    target = einsum.target
    shifted = _copy_of(operand.buffer, _with_other_sign(operand.dtype), "shifted")
    products = _copy_of(target.buffer, target.dtype, "shifted")
    mentioned = {var for index in other.indices for var in variables_of(index)}
    kept = [item for item in _spatial(block.block) if item.var in mentioned]
    shape = tuple(item.dom.extent for item in kept) or (const(1),)  # type: ignore[union-attr]
    sums = decl_buffer(shape, target.dtype, f"{other.buffer.name}_sum")
    body: Stmt = block.replace(
        block=with_accesses(
            substitute(block.block, {}, {operand.buffer: shifted, target.buffer: products})
        )
    )
    for loop in reversed(chain):
        body = loop.replace(body=body)
    edit = with_stage(
        tree,
        tree.scope(block),
        edits={chain[0]: body},
        place=chain[0],
        before=[_shift(operand.buffer, shifted), _sum(block, other, sums, kept)],
        after=[_correction(block, operand.dtype, target, products, sums, kept)],
        buffers=[shifted, sums, products],
        results=None,
    )
    return edit._replace(recorded=recorded_index("read_buffer_index", block, given))


def _operands(einsum: Einsum, chosen: Buffer) -> tuple[BufferLoad, BufferLoad]:
    """The element of `chosen`, and the one that it is multiplied by."""
    dtype = einsum.target.dtype
    factors = einsum.terms[0] if len(einsum.terms) == 1 else ()
    loads = [load for load in map(element_of, factors) if load is not None]
    are_converted = all(isinstance(f, Cast) and isinstance(f.value, BufferLoad) for f in factors)
    if not (len(loads) == len(factors) == 2 and are_converted and dtype.is_int):
        raise ScheduleError(
            "{0} does not sum products of two integers that are converted to the dtype of the sum",
            at=[einsum.realize],
        )
    narrow = all(
        (load.dtype.is_int or load.dtype.is_uint) and load.dtype.bits < dtype.bits for load in loads
    )
    if not narrow or any(factor.dtype is not dtype for factor in factors):
        raise ScheduleError(
            f"an operand of {{0}} is not an integer of less than {dtype.bits} bits",
            at=[einsum.realize],
        )
    if loads[0].buffer is loads[1].buffer:
        raise ScheduleError(
            f"{{0}} multiplies elements of `{chosen.name}` by each other", at=[einsum.realize]
        )
    first, second = loads
    return (first, second) if first.buffer is chosen else (second, first)


def _with_other_sign(dtype: DType) -> DType:
    return DType(f"{'u' if dtype.is_int else ''}int{dtype.bits}")


def _copy_of(buffer: Buffer, dtype: DType, suffix: str) -> Buffer:
    return decl_buffer(buffer.shape, dtype, f"{buffer.name}_{suffix}", scope=buffer.scope())


def _spatial(block: Block) -> list[IterVar]:
    return [item for item in block.iter_vars if item.iter_type is IterType.DATA_PAR]


def _shift(source: Buffer, shifted: Buffer) -> Stmt:
    """Loops that copy an operand with its zero point moved: the sign bit is flipped."""
    half = 1 << (source.dtype.bits - 1)
    bit = const(-half if source.dtype.is_int else half, source.dtype)

    def element(indices: tuple[Var, ...]) -> Expr:
        return reinterpret(str(shifted.dtype), as_expr(BufferLoad(source, indices) ^ bit))

    return elements_nest(shifted.name, shifted, element)


def _sum(realize: BlockRealize, other: BufferLoad, sums: Buffer, kept: Sequence[IterVar]) -> Stmt:
    """Loops that add the elements of the other operand over the reduction."""
    steps = [item for item in realize.block.iter_vars if item.iter_type is IterType.COMM_REDUCE]
    place = _place(kept)
    total = as_expr(BufferLoad(sums, place) + cast(str(sums.dtype), other))
    init = BufferStore(sums, const(0, sums.dtype), place)
    store = BufferStore(sums, total, place)
    iterators = [*kept, *steps]
    return _nest(_loop_names(realize, iterators), iterators, sums.name, store, init)


def _correction(
    realize: BlockRealize,
    dtype: DType,
    target: BufferLoad,
    products: Buffer,
    sums: Buffer,
    kept: Sequence[IterVar],
) -> Stmt:
    """Loops that take off what the other zero point has added.

    Args:
        dtype: that of the operand before.
    """
    half = 1 << (dtype.bits - 1)
    offset = BufferLoad(sums, _place(kept)) * const(half, sums.dtype)
    found = BufferLoad(products, target.indices)
    value = as_expr(found - offset if dtype.is_int else found + offset)
    iterators = _spatial(realize.block)
    store = BufferStore(target.buffer, value, target.indices)
    return _nest(_loop_names(realize, iterators), iterators, products.name, store)


def _place(kept: Sequence[IterVar]) -> tuple[Expr, ...]:
    """Where the sum of the other operand is that an instance needs."""
    return tuple(item.var for item in kept) or (const(0),)


def _loop_names(realize: BlockRealize, iterators: Sequence[IterVar]) -> list[str]:
    """The names of the loops that iterators are bound to."""
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    names = {item.var: value.name for item, value in pairs if isinstance(value, Var)}
    return [names[item.var] for item in iterators]


def _nest(
    names: Sequence[str],
    iterators: Sequence[IterVar],
    name: str,
    store: BufferStore,
    init: BufferStore | None = None,
) -> Stmt:
    """Loops of their own around a block with copies of `iterators`."""
    copies = {item.var: Var(item.var.name, item.var.dtype) for item in iterators}
    loops = {
        Var(loop, item.var.dtype): item.dom.extent  # type: ignore[union-attr]
        for loop, item in zip(names, iterators, strict=True)
    }
    own = tuple(item.replace(var=copies[item.var]) for item in iterators)
    body = substitute(store, copies)
    start = None if init is None else substitute(init, copies)
    made = Block(own, (), (), name, body, init=start, key=BlockKey())
    return nest(loops, BlockRealize(tuple(loops), TRUE, with_accesses(made)))[1]
