"""The function that checks an array argument, which all modules share.

The checks of an array are some thirty basic blocks, and most of what they compare are constants. As
code of every function that takes arrays, they would take as long to compile as a kernel. So there
is one function, which finds the constants in a *description* of the array, and which a backend may
compile once and leave out of the modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tilewright.ir.arithmetic import logical_and, logical_not, logical_or, not_equal
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import HANDLE, INT32, INT64, PrimType
from tilewright.ir.expr import Call, Expr, IntImm, Select, StringImm, Var
from tilewright.ir.module import GlobalVar
from tilewright.tir.buffer import Buffer
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.argument_errors import DEVICE_ERROR, DTYPE_ERROR, KIND_ERROR
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, ForKind, IfThenElse, LetStmt, Stmt, seq

if TYPE_CHECKING:
    import numpy as np

ARRAY_CHECK: Final = GlobalVar("tilewright_check_array")

# The words of a description, each an int64.
_DTYPE: Final = abi.Field(INT64, 0)
"""The `DTYPE_WORD`."""
_NDIM: Final = abi.Field(INT64, 1)
_DEVICE_TYPE: Final = abi.Field(INT64, 2)
_ALIGNMENT: Final = abi.Field(INT64, 3)
"""Bytes of which the address of the elements is a multiple."""
_IS_COMPACT: Final = abi.Field(INT64, 4)
"""1 where the elements are compact and row-major, 0 where the caller checks the strides."""
_USES_OFFSET: Final = abi.Field(INT64, 5)
"""1 where the elements begin at the byte offset, 0 where the caller looks at that."""
_EXTENTS: Final = 6
"""The word of the first extent; -1 is an extent that the caller checks."""


def description(buffer: Buffer, device_type: int, alignment: int) -> np.ndarray:
    """The description of the arrays that are passed for `buffer`."""
    import numpy as np

    extents = [size.value if isinstance(size, IntImm) else -1 for size in buffer.shape]
    words = [
        abi.dtype_word(buffer.dtype),
        buffer.ndim,
        device_type,
        alignment,
        not buffer.strides,
        begins_at_offset(buffer),
        *extents,
    ]
    return np.array(words, "int64")


def begins_at_offset(buffer: Buffer) -> bool:
    """Whether the first element of an array for `buffer` is where its byte offset says."""
    return isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0


def tensor_of(kind: Expr, value: Expr) -> Expr:
    """The pointer to the ``DLTensor`` of an array that came as a `value` of a `kind`."""
    header = Select(
        kind.equal(abi.TYPE_TENSOR), const(abi.OBJECT_HEADER_SIZE, "int64"), const(0, "int64")
    )
    return abi.as_pointer(value + header)


def array_check_function() -> PrimFunc:
    """The function that returns 0 for an array as described, and otherwise raises an error.

    Its parameters are the argument, the place and the dtype for messages (both strings), and the
    description.
    """
    return _ArrayCheck().function()


class _ArrayCheck:
    """Writes the function."""

    def __init__(self) -> None:
        self._argument = abi.View(abi.pointer_var("argument"))
        self._where, self._dtype_name = Var("where", HANDLE), Var("dtype_name", HANDLE)
        self._wanted = abi.View(abi.pointer_var("description"))
        self._steps = abi.Steps()

    def function(self) -> PrimFunc:
        kind = self._steps.variable("kind", self._argument.load(abi.Field(INT32, 0)))
        self._kind(kind)
        struct = abi.pointer_var("tensor")
        self._steps.bind(struct, tensor_of(kind, self._argument.load(abi.Field(INT64, 1))))
        tensor = abi.View(struct)
        self._dtype(tensor)
        ndim = self._ndim(tensor)
        self._device(tensor)
        shape = abi.pointer_var("shape")
        self._steps.bind(shape, abi.as_pointer(tensor.load(abi.SHAPE)))
        self._extents(abi.View(shape), ndim)
        self._elements(tensor, abi.View(shape), ndim)
        params = (self._argument.pointer, self._where, self._dtype_name, self._wanted.pointer)
        body = self._steps.before(abi.return_value(const(0, "int32")))
        return PrimFunc(params, body, PrimType(INT32), attrs={"tir.is_shared": const(True)})

    def _kind(self, kind: Expr) -> None:
        is_array = logical_or(kind.equal(abi.TYPE_DLTENSOR), kind.equal(abi.TYPE_TENSOR))
        self._unless(is_array, KIND_ERROR, StringImm("an array"), kind)

    def _dtype(self, tensor: abi.View) -> None:
        word = self._steps.variable("dtype", tensor.load(abi.DTYPE_WORD))
        is_right = word.equal(cast(INT32, self._wanted.load(_DTYPE)))
        self._unless(is_right, DTYPE_ERROR, self._dtype_name, word)

    def _ndim(self, tensor: abi.View) -> Expr:
        ndim = self._steps.variable("ndim", tensor.load(abi.NDIM))
        wanted = self._steps.variable("wanted_ndim", self._wanted.load(_NDIM))
        noun = Select(wanted.equal(1), StringImm("dimension"), StringImm("dimensions"))
        found = cast(INT64, ndim)
        self._refuse(not_equal(found, wanted), "expected %lld %s, got %lld", wanted, noun, found)
        return ndim

    def _device(self, tensor: abi.View) -> None:
        kind = self._steps.variable("device_type", tensor.load(abi.DEVICE_TYPE))
        wanted = self._steps.variable("wanted_type", cast(INT32, self._wanted.load(_DEVICE_TYPE)))
        name: Expr = StringImm("another device")
        for device_type, text in abi.DEVICE_NAMES.items():
            name = Select(wanted.equal(device_type), StringImm(text), name)
        any_number, number = const(-1, "int32"), tensor.load(abi.DEVICE_ID)
        self._unless(kind.equal(wanted), DEVICE_ERROR, name, any_number, kind, number)

    def _extents(self, shape: abi.View, ndim: Expr) -> None:
        axis = Var("axis", INT32)
        extent, wanted = Var("extent", INT64), Var("wanted", INT64)
        is_wrong = logical_and(wanted >= const(0, "int64"), not_equal(extent, wanted))
        text = "shape[%lld] is %lld, expected %lld"
        body: Stmt = IfThenElse(is_wrong, self._error(text, cast(INT64, axis), extent, wanted))
        body = LetStmt(wanted, self._wanted.element(INT64, axis + _EXTENTS), body)
        body = LetStmt(extent, shape.element(INT64, axis), body)
        self._steps.do(For(axis, const(0, "int32"), ndim, ForKind.SERIAL, body))

    def _elements(self, tensor: abi.View, shape: abi.View, ndim: Expr) -> None:
        """Check where the elements are; an array without elements may say anything of that."""
        is_scattered = self._is_scattered(tensor, shape, ndim)
        offset = tensor.load(abi.BYTE_OFFSET) * self._wanted.load(_USES_OFFSET)
        address = self._steps.variable("address", tensor.load(abi.DATA) + offset)
        alignment = self._steps.variable("alignment", self._wanted.load(_ALIGNMENT))
        zero = const(0, "int64")
        is_misaligned = not_equal(address & (alignment - const(1, "int64")), zero)
        axis = Var("axis", INT32)
        without_elements = IfThenElse(
            shape.element(INT64, axis).equal(zero), abi.return_value(const(0, "int32"))
        )
        failure = seq(
            For(axis, const(0, "int32"), ndim, ForKind.SERIAL, without_elements),
            IfThenElse(
                is_scattered,
                self._error(
                    "the array is not contiguous (compact and row-major); pass a contiguous copy "
                    "such as numpy.ascontiguousarray(x), or declare the strides of the buffer"
                ),
            ),
            IfThenElse(
                address.equal(zero),
                self._error("the array has elements, but its data pointer is null"),
            ),
            self._error(
                "the array is at address 0x%llx, not a multiple of %lld bytes; pass an aligned "
                "copy",
                address,
                alignment,
            ),
        )
        is_wrong = logical_or(logical_or(is_scattered, address.equal(zero)), is_misaligned)
        self._steps.do(IfThenElse(is_wrong, failure))

    def _is_scattered(self, tensor: abi.View, shape: abi.View, ndim: Expr) -> Expr:
        """Whether strides, in elements, say that an array is not compact; null strides do not."""
        address = self._steps.variable("strides_address", tensor.load(abi.STRIDES))
        pointer = abi.pointer_var("strides")
        self._steps.bind(pointer, abi.as_pointer(address))
        state = self._steps.memory("state", 2)
        step_word, found_word = abi.Field(INT64, 0), abi.Field(INT64, 1)
        back, axis = Var("back", INT32), Var("axis", INT32)
        extent, stride, step = (Var(name, INT64) for name in ("extent", "stride", "step"))
        differs = logical_and(not_equal(extent, const(1, "int64")), not_equal(stride, step))
        body: Stmt = seq(
            IfThenElse(differs, state.store(found_word, const(1, "int64"))),
            state.store(step_word, step * extent),
        )
        body = LetStmt(step, state.load(step_word), body)
        body = LetStmt(stride, abi.View(pointer).element(INT64, axis), body)
        body = LetStmt(extent, shape.element(INT64, axis), body)
        body = LetStmt(axis, ndim - back - const(1, "int32"), body)
        look = seq(
            state.store(step_word, const(1, "int64")),
            For(back, const(0, "int32"), ndim, ForKind.SERIAL, body),
        )
        is_compact = not_equal(self._wanted.load(_IS_COMPACT), const(0, "int64"))
        is_given = not_equal(address, const(0, "int64"))
        self._steps.do(state.store(found_word, const(0, "int64")))
        self._steps.do(IfThenElse(logical_and(is_compact, is_given), look))
        found = self._steps.variable("scattered", state.load(found_word))
        return not_equal(found, const(0, "int64"))

    def _unless(self, condition: Expr, error: GlobalVar, *values: Expr) -> None:
        """Leave by a function that raises an error, unless a condition holds."""
        failure = abi.return_value(Call(INT32, error, (self._where, *values)))
        self._steps.do(IfThenElse(logical_not(condition), failure))

    def _refuse(self, condition: Expr, message: str, *values: Expr) -> None:
        self._steps.do(IfThenElse(condition, self._error(message, *values)))

    def _error(self, message: str, *values: Expr) -> Stmt:
        return abi.raise_error("ValueError", f"%s {message}", self._where, *values)
