"""Whether operations are given what they take, and say of their results what is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.error import StructInfoError
from tilewright.ir.dtype import DType
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.op import Op
from tilewright.relax.analysis.functions import is_impure_call, signatures_of
from tilewright.relax.analysis.visibility import Visibility
from tilewright.relax.call_inference import infer_call, operator_problem
from tilewright.relax.expr import Call, Constant, If, PrimValue, ShapeExpr, Tuple, TupleGetItem, Var
from tilewright.relax.normalize import condition_problem, is_leaf
from tilewright.relax.op.base import CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.tir.function import PrimFunc


def check_kernel_call(call: Call, module: IRModule) -> str | None:
    """What is wrong with the arguments of a call of a tensor program; None if nothing is."""
    if call.op not in (CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD):
        return None
    if len(call.sinfo_args) != 1:
        return "a call of a tensor program must say by one out_sinfo what it returns"
    if not isinstance(call.args[1].struct_info, TupleStructInfo | ObjectStructInfo | None):
        return "the arrays that a tensor program takes are given as a tuple"
    name = call.args[0]
    function = module.functions.get(name) if isinstance(name, GlobalVar) else None
    if not isinstance(function, PrimFunc):
        return f"{_name(name)} is not a tensor program of the module"
    passed = _arguments_of(call)
    if passed is None:
        return None
    if len(passed) != len(function.params):
        return (
            f"{_name(name)} takes {len(function.params)} arguments, arrays for its results among "
            f"them; the call gives {len(passed)}"
        )
    for param, info in zip(function.params, passed, strict=True):
        buffer = function.buffer_map.get(param)
        problem = _scalar(param.dtype, info) if buffer is None else _array(buffer, info)
        if problem is not None:
            shown = param.name if buffer is None else buffer.name
            return f"parameter {shown} of {_name(name)} {problem}"
    return None


def _name(name: Any) -> str:
    return getattr(name, "name_hint", repr(name))


def _arguments_of(call: Call) -> list[StructInfo] | None:
    """What is passed to the tensor program; None where that is not known."""
    operands = call.args[1].struct_info
    output = call.sinfo_args[0]
    outputs = list(output.fields if isinstance(output, TupleStructInfo) else (output,))
    if call.op is CALL_TIR_INPLACE:
        places = call.attrs["inplace_indices"]
        outputs = [info for info, at in zip(outputs, places, strict=True) if int(at) < 0]
    sizes = call.args[2].struct_info if len(call.args) > 2 else ShapeStructInfo(())
    if not isinstance(operands, TupleStructInfo) or not isinstance(sizes, ShapeStructInfo):
        return None
    if sizes.ndim == UNKNOWN_NDIM:
        return None
    return [*operands.fields, *outputs, *[PrimStructInfo("int64")] * sizes.ndim]


def _scalar(dtype: DType, info: StructInfo) -> str | None:
    if dtype.is_handle:
        return None
    fits = isinstance(info, PrimStructInfo) and info.dtype.code == dtype.code
    known = isinstance(info, (PrimStructInfo, TensorStructInfo))
    return f"is a scalar of {dtype!s}, the call gives {info!r}" if known and not fits else None


def _array(buffer: Any, info: StructInfo) -> str | None:
    if not isinstance(info, TensorStructInfo):
        return None if not isinstance(info, PrimStructInfo) else "is an array, not a scalar"
    if info.dtype is not None and info.dtype is not buffer.dtype:
        return f"has dtype {buffer.dtype!s}, the call gives {info.dtype!s}"
    if info.ndim not in (UNKNOWN_NDIM, len(buffer.shape)):
        return f"has {len(buffer.shape)} dimensions, the call gives {info.ndim}"
    for index, (extent, given) in enumerate(zip(buffer.shape, info.extents or (), strict=False)):
        asked, found = getattr(extent, "value", None), getattr(given, "value", None)
        if asked is not None and found is not None and asked != found:
            return f"has extent {asked} in dimension {index}, the call gives {found}"
    return None


class Operations(Visibility):
    """Checks values of bindings and their operands.

    Attributes:
        check_struct_info: whether the struct info of calls is inferred again and compared.
        signature_of: what is known of the functions of the module.
        in_dataflow: whether the check has come to a dataflow block.
    """

    def __init__(self, module: IRModule | None, check_struct_info: bool) -> None:
        super().__init__(module)
        self.check_struct_info = check_struct_info
        self.signature_of: Callable[[GlobalVar], StructInfo | None] = signatures_of(
            module or IRModule()
        )
        self.is_pure = False
        self.in_dataflow = False

    def body(self, body: Any) -> None:
        """Check the body of a function or a branch."""
        raise NotImplementedError

    def value(self, value: Any) -> None:
        """Check the value of a binding."""
        if is_leaf(value):
            self.operand(value)
            return
        check = _VALUES.get(type(value))
        if check is None:
            self.fail(f"{type(value).__name__} cannot be the value of a variable: normalize it")
        check(self, value)
        if value.struct_info is None:
            self.fail("the value has no struct info: normalize it")

    def operand(self, expr: Any) -> None:
        """Check an operand."""
        if not is_leaf(expr):
            self.fail(
                f"{type(expr).__name__} stands where a variable or a constant must: normalize it",
                getattr(expr, "span", None),
            )
        if isinstance(expr, Tuple):
            for field in expr.fields:
                self.operand(field)
        elif isinstance(expr, Var):
            self.use(expr)
        elif isinstance(expr, GlobalVar):
            self.function_name(expr)
        elif isinstance(expr, (ShapeExpr, PrimValue)):
            self.struct_info(expr.struct_info)
        elif isinstance(expr, Constant):
            self.constant(expr)

    def constant(self, constant: Constant) -> None:
        """Check a constant."""
        if constant.struct_info is None:
            self.fail("a constant has no struct info")
        elements = TensorStructInfo(constant.data.shape, constant.data.dtype)
        if self.contradicts(constant.struct_info, elements):
            self.fail(
                f"a constant is said to be {constant.struct_info!r}, but it is {elements!r}",
                constant.span,
            )

    def call(self, call: Call) -> None:
        """Check a call."""
        problem = (
            operator_problem(call) if isinstance(call.op, Op) else self.callee_problem(call.op)
        )
        if problem is not None:
            self.fail(problem, call.span)
        for argument in call.args:
            self.operand(argument)
        for info in call.sinfo_args:
            self.struct_info(info)
        # Without the module, nothing is known of its functions.
        unknown = self.module is None and isinstance(call.op, GlobalVar)
        if not unknown and is_impure_call(call, self.signature_of):
            if self.in_dataflow:
                self.fail("a call in a dataflow block may have an effect", call.span)
            if self.is_pure:
                self.fail(
                    "a call may have an effect, but the function promises to have none: use "
                    "R.call_pure_packed, or pure=False",
                    call.span,
                )
        if self.module is not None:
            problem = check_kernel_call(call, self.module)
            if problem is not None:
                self.fail(problem, call.span)
        if self.check_struct_info and call.struct_info is not None and not unknown:
            self._infer_again(call)

    def callee_problem(self, callee: Any) -> str | None:
        """Why what is called is not a graph function; None if it may be one."""
        self.operand(callee)
        if isinstance(callee, GlobalVar):
            function = None if self.module is None else self.module.functions.get(callee)
            if self.is_pure and isinstance(function, PrimFunc):
                return (
                    f"{callee.name_hint} is a tensor program, which writes into its arguments: "
                    "R.call_tir calls it"
                )
            return None
        if isinstance(callee.struct_info, FuncStructInfo | ObjectStructInfo | None):
            return None
        return f"what is called is not a function, it is {callee.struct_info!r}"

    def _infer_again(self, call: Call) -> None:
        try:
            inferred = infer_call(call, self.analyzer, self.signature_of)
        except StructInfoError as error:
            self.fail(str(error), call.span)
        assert call.struct_info is not None
        if self.contradicts(call.struct_info, inferred):
            self.fail(
                f"the call is said to give {call.struct_info!r}, but it gives {inferred!r}",
                call.span,
            )

    def field(self, expr: TupleGetItem) -> None:
        """Check the field of a tuple."""
        self.operand(expr.tuple_value)
        info = self.info_of(expr.tuple_value)
        if isinstance(info, TupleStructInfo):
            if not 0 <= expr.index < len(info.fields):
                count = len(info.fields)
                self.fail(f"the tuple has {count} fields, there is no {expr.index}", expr.span)
            said, found = expr.struct_info, info.fields[expr.index]
            if said is not None and self.contradicts(said, found):
                self.fail(f"the field is said to be {said!r}, but it is {found!r}", expr.span)
        elif not isinstance(info, ObjectStructInfo | None):
            self.fail(f"only tuples have fields, this is {info!r}", expr.span)

    def branches(self, expr: If) -> None:
        """Check a choice."""
        if self.in_dataflow:
            self.fail("a dataflow block cannot have branches", expr.span)
        self.operand(expr.cond)
        problem = condition_problem(self.info_of(expr.cond))
        if problem is not None:
            self.fail(problem, expr.span)
        for branch in (expr.true_branch, expr.false_branch):
            with self.scope():
                self.body(branch)
            said, found = expr.struct_info, branch.struct_info
            if said is not None and self.contradicts(said, found):  # type: ignore[arg-type]
                self.fail(
                    f"the choice is said to give {said!r}, but a branch gives {found!r}", expr.span
                )

    def info_of(self, value: Any) -> StructInfo | None:
        """What is known of a value, which may be the name of a function."""
        if isinstance(value, GlobalVar):
            return self.signature_of(value)
        return value.struct_info


_VALUES: Final[dict[type, Callable[[Operations, Any], None]]] = {
    Call: Operations.call,
    TupleGetItem: Operations.field,
    If: Operations.branches,
}
