"""The C structures of the call boundary, as programs over one-dimensional memory see them.

They are those of tvm-ffi's stable C interface (``tvm/ffi/c_api.h``) and of DLPack. A field is a
load from a view of the structure as an array of int32, int64 or float64; the layout is that of
64-bit little-endian machines, the only ones that are compiled for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from tilewright.ir.arithmetic import logical_not, not_equal
from tilewright.ir.convert import const
from tilewright.ir.dtype import HANDLE, INT32, INT64, DType, PointerType, PrimType
from tilewright.ir.expr import Call, Expr, IntImm, StringImm, Var
from tilewright.ir.op import Op
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    BufferStore,
    Evaluate,
    IfThenElse,
    LetStmt,
    Stmt,
    seq,
)

if TYPE_CHECKING:
    import numpy as np

# ``TVMFFIAny``: int32 type index, int32 padding, 8 bytes of value.
ANY_SIZE: Final = 16
TYPE_NONE: Final = 0
TYPE_INT: Final = 1
TYPE_BOOL: Final = 2
TYPE_FLOAT: Final = 3
TYPE_POINTER: Final = 4
TYPE_DTYPE: Final = 5
TYPE_DLTENSOR: Final = 7
TYPE_RAW_STRING: Final = 8
TYPE_SHAPE: Final = 69
TYPE_TENSOR: Final = 70
TYPES_OF_SEQUENCES: Final = (71, 75)
"""Arrays and lists of values of any kind: what Python's tuples and lists become."""
OBJECT_HEADER_SIZE: Final = 24
"""Bytes before the ``DLTensor`` in a tensor object."""

TYPE_NAMES: Final = {
    0: "None", 1: "an int", 2: "a bool", 3: "a float", 4: "a pointer", 5: "a dtype",
    6: "a device", 7: "an array", 8: "a string", 9: "bytes", 11: "a string", 12: "bytes",
    65: "a string", 66: "bytes", 67: "an error", 68: "a function", 69: "a shape",
    70: "an array", 71: "a list", 72: "a dict", 73: "a module", 74: "a Python object",
    75: "a list", 76: "a dict", 78: "an int of more than 64 bits",
}  # fmt: skip
"""What a value of each type index is called in messages."""

DEVICE_NAMES: Final = {1: "cpu", 2: "cuda", 4: "opencl"}
"""Functions that make a device, by DLPack's number of its type."""

DTYPE_CODES: Final = {
    "int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "complex": 5, "bool": 6,
}  # fmt: skip
FLOAT8_CODES: Final = {"e4m3_float8": 10, "e5m2_float8": 12}


class Field(NamedTuple):
    """A field of a structure: element `position` of the structure seen as array of `dtype`."""

    dtype: DType
    position: int


# ``DLTensor``, 48 bytes.
DATA: Final = Field(INT64, 0)
DEVICE_TYPE: Final = Field(INT32, 2)
DEVICE_ID: Final = Field(INT32, 3)
NDIM: Final = Field(INT32, 4)
DTYPE_WORD: Final = Field(INT32, 5)
"""code, bits (8 bits each) and lanes (16 bits) in one word, lowest first."""
SHAPE: Final = Field(INT64, 3)
STRIDES: Final = Field(INT64, 4)
BYTE_OFFSET: Final = Field(INT64, 5)
DLTENSOR_SIZE: Final = 48


def dtype_word(dtype: DType) -> int:
    """What `DTYPE_WORD` of an array of `dtype` holds; a bool takes 8 bits."""
    code = FLOAT8_CODES.get(str(dtype.element))
    if code is None:
        code = DTYPE_CODES[dtype.code]
    bits = 8 if dtype.is_bool else dtype.bits
    return code | bits << 8 | dtype.lanes << 16


class View:
    """A pointer, seen as arrays of several types."""

    def __init__(self, pointer: Var) -> None:
        self.pointer = pointer
        self._buffers: dict[DType, Buffer] = {}

    def load(self, field: Field) -> Expr:
        """The value of a field."""
        return self.element(field.dtype, IntImm(INT32, field.position))

    def element(self, dtype: DType, position: Expr) -> Expr:
        """An element of the structure seen as array of `dtype`."""
        return BufferLoad(self._buffer(dtype), (position,))

    def store(self, field: Field, value: Expr) -> Stmt:
        """The statement that sets a field."""
        return BufferStore(self._buffer(field.dtype), value, (IntImm(INT32, field.position),))

    def _buffer(self, dtype: DType) -> Buffer:
        buffer = self._buffers.get(dtype)
        if buffer is None:
            shape = (IntImm(INT32, 2**31 - 1),)
            buffer = self._buffers[dtype] = Buffer(self.pointer, dtype, shape, self.pointer.name)
        return buffer


def pointer_var(name: str, element: DType = INT64, scope: str = "global") -> Var:
    """A new pointer to elements of the given type."""
    return Var(name, HANDLE, PointerType(PrimType(element), scope))


PackedParams = tuple[Var, Var, Var, Var]
"""The parameters of a packed function: ``self``, ``args``, ``num_args``, and ``result``."""


def packed_params() -> PackedParams:
    """Those of a new packed function."""
    args, result = pointer_var("args"), pointer_var("result")
    return Var("self_handle", HANDLE), args, Var("num_args", INT32), result


def as_pointer(address: Expr) -> Expr:
    """An int64 address as a handle."""
    return Call(HANDLE, Op.get("tir.reinterpret"), (address,))


def as_address(pointer: Expr) -> Expr:
    """A handle as an int64 address."""
    return Call(INT64, Op.get("tir.reinterpret"), (pointer,))


def choose(condition: Expr, true_value: Expr, false_value: Expr) -> Expr:
    """One of two scalars, of which only the chosen one is evaluated."""
    arguments = (condition, true_value, false_value)
    return Call(true_value.dtype, Op.get("tir.if_then_else"), arguments)


def raise_error(kind: str, message: str, *values: Expr) -> Stmt:
    """Leave the function with an error; `message` is a printf format of `values`."""
    arguments = (StringImm(kind), StringImm(message), *values)
    return Evaluate(Call(DType("void"), Op.get("tir.raise_error"), arguments))


def require(condition: Expr, kind: str, message: str, *values: Expr) -> Stmt:
    """Leave the function with an error unless a condition holds."""
    return IfThenElse(logical_not(condition), raise_error(kind, message, *values))


def leave_unless_0(status: Expr) -> Stmt:
    """Leave the function if a call failed, which has registered its error."""
    return leave_if(not_equal(status, const(0, "int32")))


def leave_if(failed: Expr) -> Stmt:
    """Leave the function where a call failed, which has registered its error."""
    return IfThenElse(failed, return_value(const(-1, "int32")))


def return_value(value: Expr) -> Stmt:
    """Leave the function with a result."""
    return Evaluate(Call(value.dtype, Op.get("tir.ret"), (value,)))


class Steps:
    """Statements, and bindings of variables for all that comes later, in order."""

    def __init__(self) -> None:
        self._steps: list[Stmt | Callable[[Stmt], Stmt]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def do(self, stmt: Stmt) -> None:
        """Add a statement."""
        self._steps.append(stmt)

    def bind(self, var: Var, value: Expr) -> None:
        """Give a variable its value."""
        self._steps.append(lambda rest: LetStmt(var, value, rest))

    def variable(self, name: str, value: Expr) -> Var:
        """A new variable for a value that is used several times, and loaded once."""
        var = Var(name, value.dtype)
        self.bind(var, value)
        return var

    def constant(self, name: str, words: np.ndarray) -> Var:
        """A pointer to constant memory that holds int64 `words`."""
        pointer, extents = pointer_var(name), (IntImm(INT32, len(words)),)
        self._steps.append(lambda rest: AllocateConst(pointer, INT64, extents, words, rest))
        return pointer

    def memory(self, name: str, words: int) -> View:
        """Memory of `words` int64 on the stack."""
        pointer = pointer_var(name)
        extents = (IntImm(INT32, words),)
        self._steps.append(lambda rest: Allocate(pointer, INT64, extents, const(True), rest))
        return View(pointer)

    def before(self, rest: Stmt) -> Stmt:
        """The steps, and `rest` after them; time is linear in the number of steps."""
        backwards = [rest]
        for step in reversed(self._steps):
            if isinstance(step, Stmt):
                backwards.append(step)
            else:
                backwards = [step(seq(reversed(backwards)))]
        return seq(reversed(backwards))
