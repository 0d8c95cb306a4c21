"""Vectors in kernels: loaded and stored at once, and computed lane by lane.

    B[4 * i + (0, 1, 2, 3)] =            let A_vector: float32x4 = A[4 * i + (0, 1, 2, 3)]
        A[4 * i + (0, 1, 2, 3)] * 2  ->  B[4 * i + (0, 1, 2, 3)] = (A_vector.0 * 2, A_vector.1 * 2,
                                                                    A_vector.2 * 2, A_vector.3 * 2)

A thread computes with scalars: what vectors save are accesses of memory. Those of neighbouring
elements become one where their address is known to be a multiple of their size. So arrays whose
elements are accessed like that have an alignment, which callers have to keep. The lanes of other
vectors are accessed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.arith.linear import LinearForm
from tilewright.ir.arithmetic import logical_and, logical_not
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Call, Expr, Ramp, Shuffle, Var, const_int_value, is_const_int
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.op.control import if_then_else, is_if_then_else
from tilewright.tir.stmt import BufferStore, LetStmt, Stmt, seq
from tilewright.tir.transform.analysis.affine import affine
from tilewright.tir.transform.scalarize_vectors import Lanes, Scalarizer, reads_elsewhere

LARGEST: Final = 16
"""Bytes that one instruction loads or stores."""

CP_ASYNC: Final = Op.get("tir.ptx_cp_async")


def lower_vectors(func: PrimFunc) -> PrimFunc:
    """`func`, whose accesses are flat, with vectors only where memory is accessed.

    What is left of them are loads of vectors as values of `LetStmt` and of stores, their lanes
    (a `Shuffle` of one index), and stores of vectors that are made of lanes. Buffers of parameters
    get the alignment that these need.
    """
    body = _Vectors()(func.body)
    sizes = vector_sizes(body)
    aligned = {
        param: _aligned(buffer, sizes.get(buffer.data, 0))
        for param, buffer in func.buffer_map.items()
    }
    return func.with_body(body).replace(buffer_map=aligned)


def _aligned(buffer: Buffer, size: int) -> Buffer:
    return buffer.replace(data_alignment=size) if size > buffer.data_alignment else buffer


def vector_sizes(stmt: Stmt) -> dict[Var, int]:
    """The sizes of the largest vectors that are accessed or copied, in bytes, by memory."""
    sizes: dict[Var, int] = {}
    for node in walk(stmt):
        if isinstance(node, (BufferLoad, BufferStore)) and is_vector_access(node):
            data = node.buffer.data
            sizes[data] = max(sizes.get(data, 0), access_bytes(node))
        elif isinstance(node, Call) and node.op is CP_ASYNC:
            size = const_int_value(node.args[4]) or 0
            for pointer in (node.args[0], node.args[2]):
                if isinstance(pointer, Var):
                    sizes[pointer] = max(sizes.get(pointer, 0), size)
    return sizes


def accesses_vectors(stmt: Stmt) -> bool:
    """Whether some access in `stmt` is one of a vector that `lower_vectors` keeps."""
    return bool(vector_sizes(stmt))


def is_vector_access(access: BufferLoad | BufferStore) -> bool:
    """Whether an access is one of neighbouring elements, at an address that suits their number."""
    if access.predicate is not None or len(access.indices) != 1:
        return False
    if owner_of(access.buffer.scope()) not in (MemoryOwner.BLOCK, MemoryOwner.DEVICE):
        return False  # registers have no address
    index, element = access.indices[0], access.buffer.dtype
    if not isinstance(index, Ramp) or not is_const_int(index.stride, 1) or element.lanes > 1:
        return False
    lanes = index.lanes
    if lanes & (lanes - 1) or access_bytes(access) > LARGEST or element.bits % 8:
        return False
    return is_multiple(affine(index.base), lanes)


def access_bytes(access: BufferLoad | BufferStore) -> int:
    """The size of what is loaded or stored."""
    return access.buffer.dtype.itemsize * access.indices[0].dtype.lanes


def is_multiple(form: LinearForm, number: int) -> bool:
    """Whether all values of a sum are certainly multiples of a number."""
    return all(part % number == 0 for part in (form.constant, *form.terms.values()))


class _Vectors(Scalarizer):
    def BufferStore(self, store: BufferStore) -> Stmt:
        lanes = store.value.dtype.lanes
        if lanes == 1:
            return store.map_children(self)
        if _is_copy(store):
            return store
        loads = _Loads()
        value = loads(store.value)
        if store.predicate is not None or not (loads.found or is_vector_access(store)):
            return super().BufferStore(store)
        at = [self._at(number, loads) for number in range(lanes)]
        values = [lane(value) for lane in at]
        if is_vector_access(store):
            result: Stmt = store.replace(value=vector_of(values))
        else:
            result = _one_by_one(store, values, at, reads_elsewhere(store.replace(value=value)))
        return _definitions(loads.found, result)

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        lanes = stmt.var.dtype.lanes
        if lanes == 1:
            return stmt.map_children(self)
        loads = _Loads()
        value = loads(stmt.value)
        values = [self._at(number, loads)(value) for number in range(lanes)]
        variables = [Var(stmt.var.name, value.dtype) for value in values]
        self.vectors[stmt.var] = vector_of(variables)
        return _definitions([*loads.found, *zip(variables, values, strict=True)], self(stmt.body))

    def _at(self, number: int, loads: _Loads) -> Lanes:
        lane = const(number, INT32)
        return Lanes(self, lane, {var: Shuffle((var,), (lane,)) for var, _ in loads.found})


def _is_copy(store: BufferStore) -> bool:
    return (
        isinstance(store.value, BufferLoad)
        and is_vector_access(store)
        and is_vector_access(store.value)
    )


def vector_of(lanes: Sequence[Expr]) -> Expr:
    """A vector with the given lanes."""
    return Shuffle(tuple(lanes), tuple(const(number, INT32) for number in range(len(lanes))))


def _one_by_one(
    store: BufferStore, values: Sequence[Expr], at: Sequence[Lanes], all_first: bool
) -> Stmt:
    """A store of each lane; with `all_first`, after all of them are computed."""
    variables = [Var(f"{store.buffer.name}_lane", value.dtype) for value in values]
    stored = variables if all_first else values
    result = seq(
        *(
            store.replace(value=value, indices=tuple(map(lane, store.indices)))
            for lane, value in zip(at, stored, strict=True)
        )
    )
    return _definitions(list(zip(variables, values, strict=True)), result) if all_first else result


def _definitions(values: Sequence[tuple[Var, Expr]], body: Stmt) -> Stmt:
    for var, value in reversed(values):
        body = LetStmt(var, value, body)
    return body


class _Loads(Rewriter):
    """Replaces loads of vectors by variables.

    Attributes:
        found: the variables and their values: what they load, or zeros where a condition around
            the load does not hold, as its address may be outside of the memory then.
    """

    def __init__(self) -> None:
        self.found: list[tuple[Var, Expr]] = []
        self._condition: Expr | None = None

    def Call(self, call: Call) -> Expr:
        if not is_if_then_else(call) or call.dtype.lanes == 1:
            return call.map_children(self)
        condition, yes, no = call.args
        changed = self(condition)
        yes, no = self._under(condition, yes), self._under(logical_not(condition), no)
        return call.replace(args=(changed, yes, no))

    def _under(self, condition: Expr, value: Expr) -> Expr:
        around = self._condition
        self._condition = condition if around is None else logical_and(around, condition)
        result = self(value)
        self._condition = around
        return result

    def BufferLoad(self, load: BufferLoad) -> Expr:
        if load.dtype.lanes == 1 or not is_vector_access(load):
            return load.map_children(self)
        value: Expr = load
        if self._condition is not None:
            zeros = vector_of([const(0, load.dtype.element)] * load.dtype.lanes)
            value = if_then_else(self._condition, load, zeros)
        for var, other in self.found:
            if structural_equal(other, value):
                return var
        var = Var(f"{load.buffer.name}_vector", load.dtype)
        self.found.append((var, value))
        return var
