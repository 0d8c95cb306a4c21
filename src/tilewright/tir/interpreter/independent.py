"""Independent iterations, all at once: copies and elementwise functions as numpy computes them.

The interpreter runs one iteration after the other. Where a function is one block of which each
instance stores one element, and reads no array that is written, loop variables can be arrays::

    for i, j in T.grid(4, 6):           i = [[0], [1], [2], [3]]
        B[j // 2, i] = A[i, j] * 2.0    j = [[0, 1, 2, 3, 4, 5]]
                                        B[j // 2, i] = A * 2.0

The results are those of the interpreter: there are only operators that numpy rounds correctly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.error import InterpreterError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    Add,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Sub,
    Var,
    const_int_value,
)
from tilewright.ir.op import Op
from tilewright.ir.rewrite import NodeMethods, walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import IterType
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BlockRealize, BufferStore, For, ForKind
from tilewright.tir.substitute import substitute, variables_of

_INDEX_NODES: Final = (Add, Sub, Mul, FloorDiv, FloorMod, IntImm, Var)
_VALUE_NODES: Final = (Add, Sub, Mul, Div, Cast, FloatImm)
_VALUE_DTYPES: Final = (DType("float32"), DType("float64"))
_ROOTS: Final = ("tir.sqrt", "tir.rsqrt")


class IndependentIterations(NamedTuple):
    """A function of arrays that is one store in loops; see `independent_iterations`.

    Attributes:
        buffers: the parameters.
        loops: from the outermost one, with constant ranges.
        store: in terms of the variables of the loops.
    """

    buffers: tuple[Buffer, ...]
    loops: tuple[For, ...]
    store: BufferStore

    def run(self, *arrays: np.ndarray) -> None:
        """Call the function.

        Args:
            arrays: the arguments, of which the function writes one.

        Raises:
            InterpreterError: for an access out of bounds.
        """
        evaluation = _Evaluation(self.loops, dict(zip(self.buffers, arrays, strict=True)))
        # Special values are part of the meaning of a program, not worth a warning.
        with np.errstate(all="ignore"):
            evaluation.write(self.store)


def independent_iterations(function: PrimFunc) -> IndependentIterations | None:
    """The form of a copy or elementwise function in which `run` is quick; None for others."""
    buffers = tuple(function.buffer_map.get(param) for param in function.params)
    root = function.body
    if not isinstance(root, BlockRealize) or not _is_plain(root) or root.iter_values:
        return None
    stmt, loops = root.block.body, []
    while isinstance(stmt, For) and _is_counted(stmt):
        loops.append(stmt)
        stmt = stmt.body
    if not isinstance(stmt, BlockRealize) or not _is_plain(stmt):
        return None
    store = stmt.block.body
    if not isinstance(store, BufferStore) or store.predicate is not None:
        return None
    iterators = {iterator.var: value for iterator, value in zip(
        stmt.block.iter_vars, stmt.iter_values, strict=True
    )}  # fmt: skip
    store = substitute(store, iterators)
    found = IndependentIterations(buffers, tuple(loops), store)  # type: ignore[arg-type]
    return found if all(map(_is_compact, buffers)) and _is_supported(found) else None


def _is_plain(realize: BlockRealize) -> bool:
    block = realize.block
    return (
        const_int_value(realize.predicate) == 1
        and block.init is None
        and not block.alloc_buffers
        and not block.match_buffers
        and all(iterator.iter_type == IterType.DATA_PAR for iterator in block.iter_vars)
    )


def _is_counted(loop: For) -> bool:
    is_constant = isinstance(loop.min, IntImm) and isinstance(loop.extent, IntImm)
    return is_constant and loop.kind is not ForKind.THREAD_BINDING


def _is_compact(buffer: Buffer | None) -> bool:
    """Whether all elements of an array belong to a buffer, in the same order."""
    return (
        buffer is not None
        and buffer.dtype.lanes == 1
        and not buffer.strides
        and const_int_value(buffer.elem_offset) == 0
        and all(isinstance(extent, IntImm) for extent in buffer.shape)
    )


def _is_supported(function: IndependentIterations) -> bool:
    """Whether each iteration writes its own element, from others, by operators that are known."""
    store = function.store
    written_by = {var for index in store.indices for var in variables_of(index)}
    return (
        all(loop.loop_var in written_by or loop.extent.value == 1 for loop in function.loops)  # type: ignore[attr-defined]
        and all(map(_is_index, store.indices))
        and _is_value(store.value)
        and not any(getattr(node, "buffer", None) is store.buffer for node in walk(store.value))
    )


def _is_index(expr: Expr) -> bool:
    return all(isinstance(node, _INDEX_NODES) for node in walk(expr))


def _is_value(expr: Any) -> bool:
    if isinstance(expr, BufferLoad):
        return expr.predicate is None and all(map(_is_index, expr.indices))
    if expr.dtype not in _VALUE_DTYPES:
        return False
    if isinstance(expr, Call):
        is_root = isinstance(expr.op, Op) and expr.op.name in _ROOTS
        return is_root and all(map(_is_value, expr.args))
    if isinstance(expr, Cast) and not expr.value.dtype.is_float:
        return False
    return isinstance(expr, _VALUE_NODES) and all(map(_is_value, expr.children()))


class _Evaluation(NodeMethods):
    """Computes expressions as arrays with a dimension for each loop."""

    def __init__(self, loops: Sequence[For], arrays: Mapping[Buffer, np.ndarray]) -> None:
        self._arrays = arrays
        self._axes = {loop.loop_var: axis for axis, loop in enumerate(loops)}
        self._values = [np.arange(begin, end) for begin, end in map(_range_of, loops)]

    def write(self, store: BufferStore) -> None:
        """Run all iterations of a store."""
        value, target = self(store.value), self._arrays[store.buffer]
        view = self._view(target, store.indices)
        if view is None:
            target[self._positions(target, store.indices)] = value
        else:
            view[...] = value

    def __call__(self, expr: Expr) -> Any:
        return self._hooks[expr.__class__](self, expr)

    def BufferLoad(self, load: BufferLoad) -> np.ndarray:
        array = self._arrays[load.buffer]
        view = self._view(array, load.indices)
        return array[self._positions(array, load.indices)] if view is None else view

    def _view(self, array: np.ndarray, indices: Sequence[Expr]) -> np.ndarray | None:
        """The elements at `indices` without copying them; None where numpy cannot do that."""
        key: list[Any] = []
        axes: list[int] = []
        for index, extent in zip(indices, array.shape, strict=True):
            axis = self._axes.get(index) if isinstance(index, Var) else None
            if axis is not None and axis not in axes and self._is_whole(axis, extent):
                axes.append(axis)
                key.append(slice(None))
            elif isinstance(index, IntImm) and 0 <= index.value < extent:
                key.append(index.value)
            else:
                return None
        in_order = sorted(range(len(axes)), key=axes.__getitem__)
        view = array[(*key, ...)].transpose(in_order)
        return view[(*(slice(None) if n in axes else None for n in self._axes.values()), ...)]

    def _is_whole(self, axis: int, extent: int) -> bool:
        """Whether the variable of a loop takes all values of an index, in order."""
        values = self._values[axis]
        return len(values) == extent and (extent == 0 or values[0] == 0)

    def _positions(self, array: np.ndarray, indices: Sequence[Expr]) -> tuple[Any, ...]:
        positions = tuple(map(self, indices))
        for position, extent in zip(positions, array.shape, strict=True):
            if np.size(position) and not 0 <= np.min(position) <= np.max(position) < extent:
                raise InterpreterError(f"an index is not between 0 and {extent}")
        return positions

    def Var(self, var: Var) -> np.ndarray:
        shape = [1] * len(self._axes)
        shape[self._axes[var]] = -1
        return self._values[self._axes[var]].reshape(shape)

    def IntImm(self, expr: IntImm) -> int:
        return expr.value

    def FloatImm(self, expr: FloatImm) -> Any:
        return expr.dtype.numpy.type(expr.value)

    def Add(self, expr: Add) -> Any:
        return self(expr.a) + self(expr.b)

    def Sub(self, expr: Sub) -> Any:
        return self(expr.a) - self(expr.b)

    def Mul(self, expr: Mul) -> Any:
        return self(expr.a) * self(expr.b)

    def Div(self, expr: Div) -> Any:
        return self(expr.a) / self(expr.b)

    def FloorDiv(self, expr: FloorDiv) -> Any:
        return self(expr.a) // self(expr.b)

    def FloorMod(self, expr: FloorMod) -> Any:
        return self(expr.a) % self(expr.b)

    def Cast(self, expr: Cast) -> Any:
        return np.asarray(self(expr.value)).astype(expr.dtype.numpy)

    def Call(self, call: Call) -> Any:
        """The square root, or one divided by it: rounded once, as the interpreter does."""
        root = np.sqrt(np.asarray(self(call.args[0])).astype(np.float64))
        is_reciprocal = call.op.name == "tir.rsqrt"  # type: ignore[union-attr]
        return (1.0 / root if is_reciprocal else root).astype(call.dtype.numpy)


def _range_of(loop: For) -> tuple[int, int]:
    begin, extent = const_int_value(loop.min), const_int_value(loop.extent)
    assert begin is not None
    assert extent is not None
    return begin, begin + max(extent, 0)
