"""Functions that check arguments, for functions that have many of them.

The checks of one argument are some basic blocks. Those of a thousand arguments in one function
would take compilers minutes, or be compiled without optimisation, and what the function is for with
them. So each argument is checked by a call, and arguments of the same type share a function:
``check(argument, where, value, status) -> int32`` puts what it reads, such as the address of the
elements, into a word of its caller. It does nothing but return `status`, that of the check before,
if that is not 0: so the calls follow each other without branches, and the first error counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT64, HANDLE, INT32, INT64, DType, PrimType
from tilewright.ir.expr import Call, Expr, IntImm, StringImm, Var
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.tir.buffer import Buffer
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.argument_checks import ArgumentChecks
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Evaluate, LetStmt, Stmt, seq
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.building.statements import StatementRewriter

MANY_ARGUMENTS: Final = 32
"""Arguments of a function above which each is checked by a call."""

_PREFIX: Final = "tilewright_check_argument_"
_STATUS: Final = abi.Field(INT32, 0)


class CheckFunctions:
    """The functions that check arguments of the functions of one module.

    Attributes:
        functions: those that were asked for.
    """

    def __init__(self, device_type: int) -> None:
        self.device_type = device_type
        self.functions: dict[GlobalVar, PrimFunc] = {}
        self._names: dict[Hashable, GlobalVar] = {}

    def get(self, key: Hashable, make: Callable[[], PrimFunc]) -> GlobalVar:
        """The name of the function for arguments of the type `key`, which is made if need be."""
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = GlobalVar(f"{_PREFIX}{len(self._names)}")
            self.functions[name] = make()
        return name


class ManyArgumentChecks(ArgumentChecks):
    """Checks of many arguments, each by a call."""

    def __init__(self, function: str, args: Var, count: int, functions: CheckFunctions) -> None:
        super().__init__(function, args, functions.device_type)
        self._functions = functions
        self._results = self._steps.memory("values", count)
        self._status = self._steps.memory("status", 1)
        self._steps.do(self._status.store(_STATUS, const(0, INT32)))

    def scalar(self, position: int, param: Var, largest: int | None = None) -> None:
        if param.dtype.is_vector:  # which is refused
            return super().scalar(position, param, largest)

        def read(checks: ArgumentChecks) -> Expr:
            checks.scalar(0, param, largest)
            return checks.values[param]

        self._origin[param] = f"argument {position + 1}"
        self.values[param] = self._call(
            position, param.name, param.dtype, (param.dtype, largest), (), read
        )
        return None

    def array(self, position: int, param: Var, buffer: Buffer, on_host: bool = False) -> None:
        sizes = (*buffer.shape, *buffer.strides, buffer.elem_offset)
        variables = tuple(dict.fromkeys(var for size in sizes for var in variables_of(size)))
        if not all(variable in self._origin for variable in variables):
            self._leave_if_failed()
            return super().array(position, param, buffer, on_host)  # it gives their values

        def read(checks: ArgumentChecks) -> Expr:
            checks.array(0, param, buffer, on_host)
            return checks.values[buffer.data]

        key = (
            on_host,
            buffer.dtype,
            *(tuple(map(_key, group)) for group in (buffer.shape, buffer.strides)),
            _key(buffer.elem_offset),
            buffer.offset_factor,
            buffer.data_alignment,
        )
        self.values[buffer.data] = self._call(position, buffer.name, HANDLE, key, variables, read)
        return None

    def finish(self) -> None:
        self._leave_if_failed()
        super().finish()

    def _leave_if_failed(self) -> None:
        self._steps.do(abi.leave_unless_0(self._status.load(_STATUS)))

    def _call(
        self,
        position: int,
        name: str,
        dtype: DType,
        key: tuple[Hashable, ...],
        variables: tuple[Var, ...],
        read: Callable[[ArgumentChecks], Expr],
    ) -> Expr:
        """Check an argument by a call; its value.

        `key` is its type, which mentions `variables`: symbolic sizes that have values by now.
        `read` checks an argument of the type, and gives its value.
        """
        origins = {variable: self._origin[variable] for variable in variables}

        def make() -> PrimFunc:
            return _check_function(dtype, origins, self._functions.device_type, read)

        callee = self._functions.get((*key, *origins.items()), make)
        start = abi.as_address(self._args.pointer) + const(abi.ANY_SIZE * position, INT64)
        word = abi.as_pointer(abi.as_address(self._results.pointer) + const(8 * position, INT64))
        known = (self.values[variable] for variable in variables)
        where = StringImm(self._where(position, name))
        before = self._status.load(_STATUS)
        status = Call(INT32, callee, (abi.as_pointer(start), where, word, before, *known))
        self._steps.do(self._status.store(_STATUS, status))
        return _value_of_word(self._results, position, dtype)


class _OneArgumentChecks(ArgumentChecks):
    """Checks of one argument, the place of which is a parameter of the function."""

    def __init__(
        self, argument: Var, where: Var, known: dict[Var, Var], origins: dict[Var, str], device: int
    ) -> None:
        super().__init__("", argument, device)
        self.values |= known
        self._origin |= origins
        self._place_param = where

    def _where(self, position: int, name: str) -> str:
        return "%s"

    def _place(self, where: str) -> Expr:
        return self._place_param

    def _check(self, condition: Expr, kind: str, message: str, *values: Expr) -> None:
        super()._check(condition, kind, message, self._place_param, *values)


def _check_function(
    dtype: DType,
    origins: dict[Var, str],
    device_type: int,
    read: Callable[[ArgumentChecks], Expr],
) -> PrimFunc:
    argument, value = abi.pointer_var("argument"), abi.pointer_var("value")
    where, status = Var("where", HANDLE), Var("status", INT32)
    known = {variable: Var(variable.name, variable.dtype) for variable in origins}
    checks = _OneArgumentChecks(argument, where, known, origins, device_type)
    found = read(checks)
    store = _store_word(abi.View(value), found, dtype)
    body = checks.build(seq(store, abi.return_value(const(0, INT32))))
    params = (argument, where, value, status, *known.values())
    return PrimFunc(params, seq(abi.leave_unless_0(status), body), PrimType(INT32))


def _store_word(word: abi.View, value: Expr, dtype: DType) -> Stmt:
    if dtype.is_float:
        return word.store(abi.Field(FLOAT64, 0), cast(FLOAT64, value))
    return word.store(
        abi.Field(INT64, 0), abi.as_address(value) if dtype.is_handle else cast(INT64, value)
    )


def _value_of_word(words: abi.View, number: int, dtype: DType) -> Expr:
    if dtype.is_float:
        return cast(dtype, words.load(abi.Field(FLOAT64, number)))
    word = words.load(abi.Field(INT64, number))
    return abi.as_pointer(word) if dtype.is_handle else cast(dtype, word)


def _key(size: Expr) -> Hashable:
    """What tells sizes apart; expressions that are not the same object count as different."""
    return size.value if isinstance(size, IntImm) else size


class CheckStatuses(StatementRewriter):
    """Where a function without a result is called, its status is looked at.

    Before: ``helper(A, n)``. After: ``status = helper(A, n)``, and ``return -1`` if it is not 0;
    the error is registered already.

    Attributes:
        found: whether there is such a call.
    """

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self.found = False

    def Evaluate(self, stmt: Evaluate) -> Stmt:
        call: Any = stmt.value
        if not isinstance(call, Call) or not isinstance(call.op, GlobalVar):
            return stmt
        callee = self._module.functions.get(call.op)
        if getattr(callee, "ret_type", None) is not None:
            return stmt
        self.found = True
        status = Var("status", INT32)
        return LetStmt(status, Call(INT32, call.op, call.args), abi.leave_unless_0(status))
