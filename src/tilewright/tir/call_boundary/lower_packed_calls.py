"""Calls of functions by name, as programs over one-dimensional memory.

``tir.tvm_call_packed("name", ...)`` becomes: arguments in an array of ``TVMFFIAny`` on the stack,
arrays as ``DLTensor`` structures beside it, ``tir.tvm_call_packed_lowered``, which looks the
function up and calls it, and a return if that failed. An array that is a whole parameter of the
function is passed on as it came, so that the callee may keep it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tilewright.error import LoweringError
from tilewright.ir.arithmetic import logical_not
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT64, INT32, INT64
from tilewright.ir.expr import Call, Expr, IntImm, StringImm, Var, is_const_int
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.buffer import Buffer
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.return_results import passed_params
from tilewright.tir.call_boundary.structures import Steps
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.control import if_then_else
from tilewright.tir.stmt import (
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
)

_PACKED: Final = frozenset(
    {"tir.tvm_call_packed", "tir.tvm_call_cpacked", "tir.tvm_call_trace_packed"}
)
_LAUNCH: Final = "tir.launch_kernel"
_INTO: Final = frozenset(
    {"tir.call_packed_into", "tir.call_cpacked_into", "tir.own_value", "tir.view_object"}
)
_ALL: Final = _PACKED | _INTO | {_LAUNCH}


class PackedCalls(Rewriter):
    """Lowers the calls of one function.

    Attributes:
        args: a new parameter, the arguments of the packed call of the function; None unless it is
            needed.
        found: whether the function calls functions by name.
    """

    def __init__(
        self,
        function: PrimFunc,
        calls: Iterable[Call],
        symbol_prefix: str,
        forwards: bool = True,
    ) -> None:
        """See the class.

        Args:
            function: the function.
            calls: those in its body.
            symbol_prefix: what the symbols of packed functions begin with.
            forwards: whether arrays that are whole parameters may be passed on as they came: all
                calls of the function are packed ones.
        """
        self.args: Var | None = None
        self.found = False
        self._prefix = symbol_prefix
        self._body = function.body
        self._is_needed = any(_op_name(call) in _ALL for call in calls)
        self._caller = function.global_symbol or "a private function"
        self._prelude = Steps()
        self._params: dict[Var, tuple[int, Buffer]] = {}
        if forwards and function.global_symbol is not None:
            # Not all callers pass arrays for the results.
            for position, param in enumerate(passed_params(function, returns=True)):
                buffer = function.buffer_map.get(param)
                if buffer is not None:
                    self._params[buffer.data] = (position, buffer)

    def lowered(self) -> Stmt:
        """The body of the function; most have no such call, and stay as they are."""
        return self(self._body) if self._is_needed else self._body

    # --- where calls may stand ----------------------------------------------------------------

    def _statement(self, stmt: Any) -> Stmt:
        """A statement without statements inside, with what its calls need before it."""
        outer, self._prelude = self._prelude, Steps()
        result = stmt.map_children(self)
        steps, self._prelude = self._prelude, outer
        return steps.before(result)

    def Evaluate(self, stmt: Evaluate) -> Stmt:
        return self._statement(stmt)

    def BufferStore(self, stmt: BufferStore) -> Stmt:
        return self._statement(stmt)

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        return self._with_head(stmt, "value")

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        return self._with_head(stmt, "condition")

    def _with_head(self, stmt: Any, field: str) -> Stmt:
        """A statement with others inside: the calls of its `field` come before all of it."""
        outer, self._prelude = self._prelude, Steps()
        head = self(getattr(stmt, field))
        steps, self._prelude = self._prelude, outer
        result = stmt.map_children(
            lambda child: head if child is getattr(stmt, field) else self(child)
        )
        return steps.before(result)

    def While(self, stmt: While) -> Stmt:
        self._refuse(stmt.condition, "the condition of a while loop")
        return stmt.map_children(self)

    def For(self, stmt: For) -> Stmt:
        self._refuse(stmt.min, "the bounds of a loop")
        self._refuse(stmt.extent, "the bounds of a loop")
        return stmt.map_children(self)

    def _refuse(self, expr: Expr, place: str) -> None:
        before = len(self._prelude)
        self(expr)
        if len(self._prelude) != before:
            raise LoweringError(f"call_packed cannot stand in {place}: bind its result before")

    def Select(self, expr: Any) -> Expr:
        return self._conditional(expr)

    def And(self, expr: Any) -> Expr:
        return self._conditional(expr)

    def Or(self, expr: Any) -> Expr:
        return self._conditional(expr)

    def _conditional(self, expr: Any) -> Expr:
        before = len(self._prelude)
        result = expr.map_children(self)
        if len(self._prelude) != before:
            raise LoweringError(
                "call_packed cannot stand in a conditional expression: bind its result before"
            )
        return result

    # --- calls --------------------------------------------------------------------------------

    def Call(self, call: Call) -> Expr:
        name = call.op.name if isinstance(call.op, Op) else ""
        if name == "tir.if_then_else":
            return self._conditional(call)
        if name not in _ALL:
            return call.map_children(self)
        self.found = True
        if name in _INTO:
            return self._into(name, call)
        if name == _LAUNCH:
            stack = self._stack(tuple(map(self, call.args)), 0)
            self._check(Call(INT32, Op.get("tir.launch_kernel_lowered"), (stack.pointer,)))
            return const(0, "int32")
        args = tuple(map(self._argument_expr, call.args[1:]))
        is_trace = name == "tir.tvm_call_trace_packed"
        if is_trace:
            value = Var("value", call.dtype)
            self._prelude.bind(value, args[-1])
            args = (*args[:-1], value)
        stack = self._stack(args, 1)
        result = abi.pointer_var("result")
        last = IntImm(INT64, abi.ANY_SIZE * len(args))
        self._prelude.bind(result, abi.as_pointer(abi.as_address(stack.pointer) + last))
        returned = abi.View(result)
        self._empty(returned)
        self._call(name, str(call.args[0]), stack.pointer, len(args), result)
        if is_trace:
            return self._traced(call, args[-1], returned)
        return self._result(call, returned)

    def _into(self, name: str, call: Call) -> Expr:
        """A call whose result goes into a slot of the caller."""
        if name == "tir.view_object":
            source, array, slot = call.args
            assert isinstance(array, Call)
            arguments = (self(source), self._tensor(array).pointer, self(slot))
            self._check(Call(INT32, Op.get("tir.new_view"), arguments))
            return const(0, "int32")
        slot = self(call.args[0])
        first = 1 if name == "tir.own_value" else 2
        args = tuple(map(self._argument_expr, call.args[first:]))
        stack = self._stack(args, 0)
        if name == "tir.own_value":
            self._check(Call(INT32, Op.get("tir.own_any"), (stack.pointer, slot)))
            return const(0, "int32")
        result = abi.pointer_var("result")
        self._prelude.bind(result, slot)
        self._empty(abi.View(result))
        self._call(name, str(call.args[1]), stack.pointer, len(args), result)
        return const(0, "int32")

    def _stack(self, args: tuple[Expr, ...], more: int) -> abi.View:
        """Arguments in places of a new array, which has room for `more`."""
        stack = self._prelude.memory("stack", 2 * (len(args) + more) or 1)
        for position, arg in enumerate(args):
            self._argument(stack, position, arg)
        return stack

    def _empty(self, slot: abi.View) -> None:
        self._prelude.do(slot.store(abi.Field(INT64, 0), const(0, "int64")))
        self._prelude.do(slot.store(abi.Field(INT64, 1), const(0, "int64")))

    def _argument_expr(self, arg: Expr) -> Expr:
        """An argument, with the calls inside it lowered; arrays are left for `_argument`."""
        is_array = isinstance(arg, Call) and _op_name(arg) == "tir.tvm_stack_make_array"
        return arg if is_array else self(arg)

    def _call(self, kind: str, name: str, stack: Var, count: int, result: Var) -> None:
        number = IntImm(INT32, count)
        if kind.startswith(("tir.tvm_call_cpacked", "tir.call_cpacked")):
            callee = GlobalVar(self._prefix + name)
            null = abi.as_pointer(IntImm(INT64, 0))
            call = Call(INT32, callee, (null, stack, number, result))
        else:  # a function of the host, by its registered name
            names = (StringImm(name), StringImm(self._caller))
            keeps = const(kind in _INTO, "int32")
            lowered = Op.get("tir.tvm_call_packed_lowered")
            call = Call(INT32, lowered, (*names, stack, number, result, keeps))
        self._check(call)

    def _check(self, call: Expr) -> None:
        """Leave the function if a status is not 0."""
        status = Var("status", INT32)
        self._prelude.bind(status, call)
        good = status.equal(const(0, "int32"))
        self._prelude.do(IfThenElse(logical_not(good), abi.return_value(const(-1, "int32"))))

    def _result(self, call: Call, returned: abi.View) -> Expr:
        dtype = call.dtype
        if dtype.is_float:
            loaded: Expr = returned.load(abi.Field(FLOAT64, 1))
        else:
            loaded = returned.load(abi.Field(INT64, 1))
        value = Var("returned", dtype)
        if dtype.is_handle:
            self._prelude.bind(value, abi.as_pointer(loaded))
        elif dtype == "void":
            return const(0, "int32")
        else:
            self._prelude.bind(value, cast(dtype, loaded))
        return value

    def _traced(self, call: Call, value: Expr, returned: abi.View) -> Expr:
        """What a function returned, as a float or an integer, or `value` if it is None."""
        kind = Var("kind", INT32)
        self._prelude.bind(kind, returned.load(abi.Field(INT32, 0)))
        whole = cast(call.dtype, returned.load(abi.Field(INT64, 1)))
        real = cast(call.dtype, returned.load(abi.Field(FLOAT64, 1)))
        result = Var("traced", call.dtype)
        number = if_then_else(kind.equal(const(abi.TYPE_FLOAT, "int32")), real, whole)
        self._prelude.bind(
            result, if_then_else(kind.equal(const(abi.TYPE_NONE, "int32")), value, number)
        )
        return result

    def _argument(self, stack: abi.View, position: int, arg: Expr) -> None:
        """Store an argument of a call in its place."""
        value = abi.Field(INT64, 2 * position + 1)
        if isinstance(arg, Call) and _op_name(arg) == "tir.tvm_stack_make_array":
            return self._array(stack, position, arg)
        if isinstance(arg, Call) and _op_name(arg) in ("tir.any_value", "tir.any_at"):
            return self._any(stack, position, arg)
        dtype = arg.dtype
        if isinstance(arg, StringImm):
            kind, stored = abi.TYPE_RAW_STRING, abi.as_address(arg)
        elif dtype.is_handle:
            kind, stored = abi.TYPE_POINTER, abi.as_address(arg)
        elif dtype.is_vector:
            raise LoweringError(f"call_packed: {arg} is a vector, which cannot be passed")
        elif dtype.is_float:
            kind, stored = abi.TYPE_FLOAT, cast(FLOAT64, arg)
            value = abi.Field(FLOAT64, 2 * position + 1)
        else:
            kind = abi.TYPE_BOOL if dtype.is_bool else abi.TYPE_INT
            stored = cast(INT64, arg)
        self._prelude.do(stack.store(abi.Field(INT64, 2 * position), const(kind, "int64")))
        self._prelude.do(stack.store(value, stored))
        return None

    def _any(self, stack: abi.View, position: int, arg: Call) -> None:
        """Store an argument that is given by its type index and its bits, or by its address."""
        slots = (abi.Field(INT64, 2 * position), abi.Field(INT64, 2 * position + 1))
        if _op_name(arg) == "tir.any_value":
            kind, bits = arg.args
            self._prelude.do(stack.store(slots[0], cast(INT64, kind)))
            self._prelude.do(stack.store(slots[1], cast(INT64, bits)))
            return
        address = abi.pointer_var("given")
        self._prelude.bind(address, arg.args[0])
        for word, slot in enumerate(slots):
            self._prelude.do(stack.store(slot, abi.View(address).load(abi.Field(INT64, word))))

    def _array(self, stack: abi.View, position: int, make: Call) -> None:
        source = self._parameter(make)
        slots = (abi.Field(INT64, 2 * position), abi.Field(INT64, 2 * position + 1))
        if source is not None:
            if self.args is None:
                self.args = abi.pointer_var("args")
            given = abi.View(self.args)
            for offset, slot in enumerate(slots):
                self._prelude.do(
                    stack.store(slot, given.load(abi.Field(INT64, 2 * source + offset)))
                )
            return
        tensor = self._tensor(make)
        self._prelude.do(stack.store(slots[0], const(abi.TYPE_DLTENSOR, "int64")))
        self._prelude.do(stack.store(slots[1], abi.as_address(tensor.pointer)))

    def _tensor(self, make: Call) -> abi.View:
        """A new ``DLTensor`` on the stack."""
        data, shape, strides, ndim, element, offset, *device = make.args
        tensor = self._prelude.memory("array", abi.DLTENSOR_SIZE // 8)
        word = abi.dtype_word(element.dtype)
        rank = ndim.value if isinstance(ndim, IntImm) else 0
        itemsize = const(element.dtype.itemsize, "int64")
        fields = (
            (abi.DATA, abi.as_address(self(data))),
            (abi.Field(INT64, 1), self(device[0]) if device else const(1, "int64")),  # the CPU
            (abi.Field(INT64, 2), const(rank | word << 32, "int64")),
            (abi.SHAPE, abi.as_address(self._shape(shape))),
            (abi.STRIDES, self._strides(strides)),
            (abi.BYTE_OFFSET, cast(INT64, self(offset)) * itemsize),
        )
        for field, stored in fields:
            self._prelude.do(tensor.store(field, stored))
        return tensor

    def _parameter(self, make: Call) -> int | None:
        """The position of the parameter that an array is the whole of."""
        data, shape, strides, _, element, offset, *_ = make.args
        found = self._params.get(data) if isinstance(data, Var) else None
        if found is None or not is_const_int(offset, 0) or not is_const_int(strides, 0):
            return None
        position, buffer = found
        same = (
            element.dtype is buffer.dtype
            and not buffer.strides
            and is_const_int(buffer.elem_offset, 0)
            and isinstance(shape, Call)
            and len(shape.args) == len(buffer.shape)
            and all(map(_same_size, shape.args, buffer.shape))
        )
        return position if same else None

    def _strides(self, strides: Expr) -> Expr:
        return (
            const(0, "int64") if is_const_int(strides, 0) else abi.as_address(self._shape(strides))
        )

    def _shape(self, shape: Expr) -> Expr:
        if not isinstance(shape, Call) or _op_name(shape) != "tir.tvm_stack_make_shape":
            return self(shape)
        sizes = self._prelude.memory("shape", max(len(shape.args), 1))
        for axis, extent in enumerate(shape.args):
            self._prelude.do(sizes.store(abi.Field(INT64, axis), cast(INT64, self(extent))))
        return sizes.pointer


def _op_name(call: Call) -> str:
    return call.op.name if isinstance(call.op, Op) else ""


def _same_size(left: Expr, right: Expr) -> bool:
    if isinstance(left, IntImm) and isinstance(right, IntImm):
        return left.value == right.value
    return left is right
