"""Reading and checking the arguments of a packed call: the part of `make_packed_api` that says no.

Each parameter becomes a few steps: bind a variable, or check a condition and raise an error that
names the function, the argument, what was expected and what came.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.error import LoweringError
from tilewright.ir.arithmetic import logical_and, logical_not, logical_or, maximum
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT64, HANDLE, INT32, INT64, DType
from tilewright.ir.expr import Call, Cast, Expr, IntImm, Select, StringImm, Var
from tilewright.tir.buffer import Buffer
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.argument_errors import DEVICE_ERROR, KIND_ERROR
from tilewright.tir.call_boundary.array_check import (
    ARRAY_CHECK,
    begins_at_offset,
    description,
    tensor_of,
)
from tilewright.tir.call_boundary.structures import Steps
from tilewright.tir.index_limits import largest_size
from tilewright.tir.stmt import IfThenElse, Stmt
from tilewright.tir.substitute import substitute, variables_of


class ArgumentChecks:
    """The steps that read the arguments of one function, in order.

    Attributes:
        values: what each variable of the function is in the packed function: its parameters, the
            pointers of its buffers and its symbolic sizes.
    """

    def __init__(self, function: str, args: Var, device_type: int) -> None:
        self.values: dict[Var, Expr] = {}
        self._function = function.replace("%", "%%")
        self._args = abi.View(args)
        self._device_type = device_type
        self._steps = Steps()
        self._origin: dict[Var, str] = {}
        self._postponed: list[Callable[[], bool]] = []
        self._first: Var | None = None  # the number of the device of the first array on one

    def build(self, rest: Stmt) -> Stmt:
        """The steps around `rest`."""
        return self._steps.before(rest)

    def count(self, num_args: Var, names: list[str]) -> None:
        """Check the number of arguments."""
        plural = "" if len(names) == 1 else "s"
        listed = f" ({', '.join(names)})" if names else ""
        self._check(
            num_args.equal(len(names)),
            "TypeError",
            f"{self._function}: expected {len(names)} argument{plural}{listed}, got %lld",
            _int64(num_args),
        )

    def scalar(self, position: int, param: Var, largest: int | None = None) -> None:
        """Read a number or a pointer; `largest` is the largest number that loops can count."""
        where = self._where(position, param.name)
        if param.dtype.is_handle:
            self._pointer(position, param, where)
        elif param.dtype.is_vector:
            raise LoweringError(f"{where} parameters cannot be vectors, it is {param.dtype!s}")
        elif param.dtype.is_float:
            self._float(position, param, where)
        else:
            self._integer(position, param, where, largest)
        self._origin[param] = f"argument {position + 1}"

    def anything(self, position: int, param: Var) -> None:
        """A value of any kind is given by its address."""
        self._define(param, self._address(position))

    def array(self, position: int, param: Var, buffer: Buffer, on_host: bool = False) -> None:
        """Read an array, and bind the symbolic sizes that it is the first to mention."""
        where = self._where(position, buffer.name)
        device_type = 1 if on_host else self._device_type
        described = description(buffer, device_type, _alignment(buffer))
        constants = self._steps.constant(f"{buffer.name}_description", described)
        place, dtype = self._place(where), StringImm(str(buffer.dtype))
        call = Call(INT32, ARRAY_CHECK, (self._address(position), place, dtype, constants))
        self._steps.do(abi.leave_unless_0(call))
        struct = abi.pointer_var(f"{buffer.name}_array")
        kind = self._args.load(abi.Field(INT32, 4 * position))
        self._steps.bind(struct, tensor_of(kind, self._value(position)))
        tensor = abi.View(struct)
        if device_type != 1:
            self._beside_first(where, tensor, device_type)
        extents = self._extents(position, where, buffer, tensor)
        if buffer.strides:
            self._layout(position, where, buffer, tensor, extents)
        self._data(position, where, buffer, tensor)
        self._index_range(where, buffer, extents)
        self.values[param] = struct

    def finish(self) -> None:
        """Check the sizes that could not be checked when they were met.

        Raises:
            LoweringError: for a size of which no argument gives the value.
        """
        pending = self._postponed
        while pending:
            left = [attempt for attempt in pending if not attempt()]
            if len(left) == len(pending):
                return self._undefined()
            pending = left
        self._postponed = []
        return None

    # --- numbers and pointers -----------------------------------------------------------------

    def _integer(self, position: int, param: Var, where: str, largest: int | None) -> None:
        dtype = param.dtype
        index, value = self._type_index(position, param.name), self._value(position)
        expected = "a bool" if dtype.is_bool else "an int"
        self._expect_kind(where, index, expected, (abi.TYPE_INT, abi.TYPE_BOOL))
        low, high = (0, 1) if dtype.is_bool else (dtype.min_int, dtype.max_int)
        if low > INT64.min_int:
            inside = value >= const(low, "int64")
            if high < INT64.max_int:
                inside = logical_and(inside, value <= const(high, "int64"))
            message = f"{where} %lld is not a value of dtype {dtype!s}"
            self._check(inside, "ValueError", message, value)
        if largest is not None:
            message = f"{where} loops can count to {largest} in tiles, got %lld; use a wider dtype"
            self._check(value <= const(largest, "int64"), "ValueError", message, value)
        number = value.astype(dtype) if not dtype.is_bool else value != const(0, "int64")
        self._define(param, number)

    def _float(self, position: int, param: Var, where: str) -> None:
        index = self._type_index(position, param.name)
        kinds = (abi.TYPE_FLOAT, abi.TYPE_INT, abi.TYPE_BOOL)
        self._expect_kind(where, index, "a float", kinds)
        real = self._args.load(abi.Field(FLOAT64, 2 * position + 1))
        whole = Cast(FLOAT64, self._value(position))
        number = Select(index.equal(abi.TYPE_FLOAT), real, whole)
        self._define(param, cast(param.dtype, number))

    def _pointer(self, position: int, param: Var, where: str) -> None:
        index, value = self._type_index(position, param.name), self._value(position)
        kinds = (
            abi.TYPE_POINTER, abi.TYPE_NONE, abi.TYPE_DLTENSOR, abi.TYPE_TENSOR,
            abi.TYPE_RAW_STRING,
        )  # fmt: skip
        self._expect_kind(where, index, "a pointer", kinds)
        header = const(abi.OBJECT_HEADER_SIZE, "int64")
        address = Select(index.equal(abi.TYPE_TENSOR), value + header, value)
        is_none = index.equal(abi.TYPE_NONE)
        self._define(param, abi.as_pointer(Select(is_none, const(0, "int64"), address)))

    # --- arrays -------------------------------------------------------------------------------

    def _beside_first(self, where: str, tensor: abi.View, device_type: int) -> None:
        """Check that an array is on the device of the first one that is on such a device."""
        number = tensor.load(abi.DEVICE_ID)
        if self._first is None:
            self._first = self._steps.variable("device_id", number)
            return
        name = StringImm(abi.DEVICE_NAMES.get(device_type, "another device"))
        kind = const(device_type, "int32")
        arguments = (self._place(where), name, self._first, kind, number)
        self._unless(
            number.equal(self._first), abi.return_value(Call(INT32, DEVICE_ERROR, arguments))
        )

    def _extents(self, position: int, where: str, buffer: Buffer, tensor: abi.View) -> list[Expr]:
        """Check the extents that are not constant; all of them as int64."""
        if all(isinstance(expected, IntImm) for expected in buffer.shape):
            return list(map(_int64, buffer.shape))
        pointer = abi.pointer_var(f"{buffer.name}_shape")
        self._steps.bind(pointer, abi.as_pointer(tensor.load(abi.SHAPE)))
        shape, extents = abi.View(pointer), list[Expr]()
        for axis, expected in enumerate(buffer.shape):
            if isinstance(expected, IntImm):
                extents.append(_int64(expected))
                continue
            extents.append(self._steps.variable("extent", shape.load(abi.Field(INT64, axis))))
            self._size(
                position, where, f"shape[{axis}]", extents[-1], expected, 0, most=largest_size
            )
        return extents

    def _size(
        self,
        position: int,
        where: str,
        what: str,
        actual: Expr,
        expected: Expr,
        minimum: int,
        unused: Expr | None = None,
        most: Callable[[DType], int] = lambda dtype: dtype.max_int,
    ) -> None:
        """Check that a size of an array is as declared, or let it define a variable.

        A size that is `unused` may have another value than the declared one.
        """
        if isinstance(expected, Var) and expected not in self._origin:
            dtype = expected.dtype
            low = max(minimum, dtype.min_int)
            inside = actual >= const(low, "int64")
            if dtype.bits < 64:
                inside = logical_and(inside, actual <= const(most(dtype), "int64"))
            if low > INT64.min_int or dtype.bits < 64:
                message = f"{where} {what} is %lld, no value of {expected.name}, an {dtype!s}"
                self._check(inside, "ValueError", message, actual)
            self._define(expected, cast(dtype, actual))
            self._origin[expected] = f"argument {position + 1}"
        elif not self._compare(where, what, actual, expected, unused):
            self._postponed.append(lambda: self._compare(where, what, actual, expected, unused))

    def _compare(
        self, where: str, what: str, actual: Expr, expected: Expr, unused: Expr | None = None
    ) -> bool:
        """Check that a size has the declared value, if all variables in that are known."""
        variables = variables_of(expected)
        if not all(variable in self._origin for variable in variables):
            self._missing = (where, what, expected)
            return False
        if isinstance(expected, IntImm):
            message = f"{where} {what} is %lld, expected {expected.value}"
            fits = _equal_or(actual, _int64(expected), unused)
            self._check(fits, "ValueError", message, actual)
            return True
        message = f"{where} {what} is %lld, expected %lld"
        if variables:
            origins = dict.fromkeys(self._origin[variable] for variable in variables)
            source = str(expected).replace("%", "%%")
            message += f" ({source}, from {' and '.join(origins)})"
        value = _int64(substitute(expected, self.values))
        fits = _equal_or(actual, value, unused)
        self._check(fits, "ValueError", message, actual, value)
        return True

    def _undefined(self) -> None:
        where, what, expected = self._missing
        known = self._origin
        names = ", ".join(v.name for v in variables_of(expected) if v not in known)
        raise LoweringError(
            f"{where} {what} is {expected}, but no argument gives the value of {names}: make it "
            "an extent by itself, or a parameter"
        )

    def _layout(
        self, position: int, where: str, buffer: Buffer, tensor: abi.View, extents: list[Expr]
    ) -> None:
        """Check declared strides, which are in elements; null strides mean compact."""
        steps = _compact_strides(extents)
        address = self._steps.variable(f"{buffer.name}_strides_address", tensor.load(abi.STRIDES))
        pointer = abi.pointer_var(f"{buffer.name}_strides")
        self._steps.bind(pointer, abi.as_pointer(address))
        given = address != const(0, "int64")
        view = abi.View(pointer)
        is_empty = _product(extents).equal(const(0, "int64"))
        distance: Expr = const(0, "int64")
        for axis, expected in enumerate(buffer.strides):
            stride, what = view.load(abi.Field(INT64, axis)), f"strides[{axis}]"
            actual = abi.choose(given, stride, steps[axis])
            last = maximum(extents[axis] - const(1, "int64"), const(0, "int64"))
            distance = distance + last * maximum(actual, -actual)
            # Whoever makes an array may give any stride to a dimension of one element.
            unused = logical_or(is_empty, extents[axis].equal(const(1, "int64")))
            self._size(position, where, what, actual, expected, INT64.min_int, unused)
        self._position_range(where, buffer, Select(is_empty, const(0, "int64"), distance))

    def _data(self, position: int, where: str, buffer: Buffer, tensor: abi.View) -> None:
        """Check the offset of the elements and bind the pointer."""
        address, offset = tensor.load(abi.DATA), tensor.load(abi.BYTE_OFFSET)
        size = const(buffer.dtype.itemsize, "int64")
        if begins_at_offset(buffer):
            address = address + offset
        else:
            self._size(
                position, where, "byte_offset / itemsize", offset // size, buffer.elem_offset, 0
            )
            factor = buffer.offset_factor * buffer.dtype.itemsize
            self._check(
                (offset % const(factor, "int64")).equal(const(0, "int64")),
                "ValueError",
                f"{where} byte_offset is %lld, expected a multiple of {factor}",
                offset,
            )
        annotation = buffer.data.type_annotation
        pointer = Var(buffer.data.name, HANDLE, annotation)
        self._steps.bind(pointer, abi.as_pointer(address))
        self.values[buffer.data] = pointer

    def _index_range(self, where: str, buffer: Buffer, extents: list[Expr]) -> None:
        """Where positions are computed as int32, check that they and all extents fit.

        An extent of 0 counts as 1, so that no other one is too large, either.
        """
        symbolic = [extent for extent in buffer.shape if not isinstance(extent, IntImm)]
        if not symbolic or any(extent.dtype is INT64 for extent in buffer.shape):
            return
        one = const(1, "int64")
        count = _product([maximum(extent, one) for extent in extents])
        self._check(
            count <= const(largest_size(INT32), "int64"),
            "ValueError",
            f"{where} the array has %lld elements, more than int32 sizes can count; declare the "
            "sizes of the function as int64",
            count,
        )

    def _position_range(self, where: str, buffer: Buffer, distance: Expr) -> None:
        """Where positions are computed as int32, check that the last element has one."""
        sizes = (*buffer.shape, *buffer.strides)
        is_constant = all(isinstance(size, IntImm) for size in sizes)
        if is_constant or any(size.dtype is INT64 for size in sizes):
            return
        self._check(
            distance <= const(INT32.max_int, "int64"),
            "ValueError",
            f"{where} the last element of the array is %lld elements after the first, more than "
            "int32 strides can count; declare the sizes and strides of the function as int64",
            distance,
        )

    # --- steps --------------------------------------------------------------------------------

    def distinct(self, arrays: list[tuple[int, str]], overlapping: Expr) -> Stmt:
        """The check that two arrays do not overlap.

        `arrays` are their positions and names, `overlapping` is the condition that they do.
        """
        (first, name), (second, other) = arrays
        return IfThenElse(
            overlapping,
            abi.raise_error(
                "ValueError",
                f"{self._where(second, other)} the array shares memory with argument {first + 1} "
                f"({name}), one of them is written, and the function takes them to be distinct "
                "(tir.noalias): pass a copy, or build it with tir.noalias=False",
            ),
        )

    def _where(self, position: int, name: str) -> str:
        """What an argument is called in messages, which are printf formats."""
        return f"{self._function}: argument {position + 1} ({name}):"

    def _place(self, where: str) -> Expr:
        """The address of the text `where`."""
        return StringImm(where)

    def _type_index(self, position: int, name: str) -> Expr:
        return self._steps.variable(f"{name}_kind", self._args.load(abi.Field(INT32, 4 * position)))

    def _address(self, position: int) -> Expr:
        """The pointer to an argument."""
        start = abi.as_address(self._args.pointer)
        return abi.as_pointer(start + const(abi.ANY_SIZE * position, "int64"))

    def _value(self, position: int) -> Expr:
        return self._args.load(abi.Field(INT64, 2 * position + 1))

    def _expect_kind(
        self, where: str, index: Expr, expected: str, accepted: tuple[int, ...]
    ) -> None:
        condition: Expr = const(False)
        for kind in accepted:
            condition = logical_or(condition, index.equal(kind))
        arguments = (self._place(where), StringImm(expected), index)
        self._unless(condition, abi.return_value(Call(INT32, KIND_ERROR, arguments)))

    def _check(self, condition: Expr, kind: str, message: str, *values: Expr) -> None:
        if not (isinstance(condition, IntImm) and condition.value):
            self._unless(condition, abi.raise_error(kind, message, *values))

    def _unless(self, condition: Expr, failure: Stmt) -> None:
        self._steps.do(IfThenElse(logical_not(condition), failure))

    def _define(self, var: Var, value: Expr) -> None:
        """Bind a fresh variable that stands for `var` of the function."""
        fresh = Var(var.name, var.dtype, var.type_annotation)
        self._steps.bind(fresh, value)
        self.values[var] = fresh


def _int64(value: Expr) -> Expr:
    return cast(INT64, value)


def _product(extents: list[Expr]) -> Expr:
    product: Expr = const(1, "int64")
    for extent in extents:
        product = product * extent
    return product


def _equal_or(actual: Expr, expected: Expr, unused: Expr | None) -> Expr:
    """Whether two sizes are the same, where that matters."""
    same = actual.equal(expected)
    return same if unused is None else logical_or(same, unused)


def _compact_strides(extents: list[Expr]) -> list[Expr]:
    """The strides, in elements, of a compact row-major array."""
    return [_product(extents[axis + 1 :]) for axis in range(len(extents))]


def _alignment(buffer: Buffer) -> int:
    """Bytes to which compiled code takes the elements of an array to be aligned."""
    natural = 1 if buffer.dtype.is_bool else buffer.dtype.element.itemsize
    return max(natural, buffer.data_alignment, 1)
