"""Whether graph functions are well-formed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.error import ArgumentError, StructInfoError, VerifyError
from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.relax.analysis.kernel_call import check_kernel_call
from tilewright.relax.analysis.purity import FORCE_PURE, is_impure_call, signatures_of
from tilewright.relax.analysis.visibility import Visibility
from tilewright.relax.call_inference import infer_call
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tilewright.relax.normalize import is_leaf
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.struct_info import StructInfo
from tilewright.relax.struct_info_relation import BaseCheckResult


def well_formed(obj: Function | IRModule, check_struct_info: bool = True) -> bool:
    """Whether a graph function, or each of a module, obeys the rules of `check_well_formed`."""
    try:
        check_well_formed(obj, check_struct_info)
    except VerifyError:
        return False
    return True


def check_well_formed(obj: Function | IRModule, check_struct_info: bool = True) -> None:
    """Check the rules that every graph function obeys.

    * A variable is bound once in the module, before it is used, and a variable of a dataflow block
      is used in that block only.
    * Symbolic sizes are defined, by a parameter or a `match_cast`, before they are used.
    * Everything has struct info, which fits what is computed.
    * The function is in normal form: operands are leaves, bodies are `SeqExpr`.
    * Nothing in a dataflow block, and in a function that promises to be pure, has an effect; a
      dataflow block has no branches.
    * Calls name functions of the module that exist, tensor programs with as many arguments as they
      take.

    Args:
        obj: a function, or a module whose graph functions are checked.
        check_struct_info: whether the struct info of calls is inferred again and compared.

    Raises:
        VerifyError: with the rule and the place; `span` is where that was written, if it is known.
    """
    if isinstance(obj, Function):
        _Checker(None, check_struct_info).function(obj, obj.global_symbol or "the function")
    elif isinstance(obj, IRModule):
        checker = _Checker(obj, check_struct_info)
        for name, function in obj.functions.items():
            if isinstance(function, Function):
                checker.function(function, name.name_hint)
    else:
        raise ArgumentError(f"expected a graph function or an IRModule, got {obj!r}")


class _Checker(Visibility):
    """Walks graph functions with the variables and sizes in scope."""

    def __init__(self, module: IRModule | None, check_struct_info: bool) -> None:
        super().__init__(module)
        self.check_struct_info = check_struct_info
        self.signature_of: Callable[[GlobalVar], StructInfo | None] = signatures_of(
            module or IRModule()
        )
        self.is_pure = False
        self.in_dataflow = False

    # --- functions --------------------------------------------------------------------------

    def function(self, function: Function, name: str) -> None:
        """Check a function of the module."""
        self.begin(name, function.span)
        self.in_dataflow = False
        self.function_value(function)

    def function_value(self, function: Function) -> None:
        """Check a function in the current scope."""
        before = self.is_pure, self.in_dataflow
        self.is_pure = function.is_pure and FORCE_PURE not in function.attrs
        self.in_dataflow = False
        with self.scope():
            for param in function.params:
                if isinstance(param, DataflowVar):
                    self.fail(f"parameter {param.name_hint} is a variable of a dataflow block")
                if param.struct_info is None:
                    self.fail(f"parameter {param.name_hint} has no struct info", param.span)
                self.define_sizes(param.struct_info)
            for param in function.params:
                with self.at(f" at parameter {param.name_hint}", param.span):
                    self.bind(param)
            if function.ret_struct_info is None:
                self.fail("the function has no struct info for its result")
            with self.scope():  # sizes that the body defines mean nothing outside of it
                self.body(function.body)
            with self.at(" at the struct info of its result", None):
                self.struct_info(function.ret_struct_info)
            info = function.body.struct_info
            assert info is not None
            if self.contradicts(function.ret_struct_info, info):
                self.fail(
                    f"the function is said to return {function.ret_struct_info!r}, but it returns "
                    f"{info!r}"
                )
        self.is_pure, self.in_dataflow = before

    def body(self, body: Any) -> None:
        """Check the body of a function or a branch."""
        if not isinstance(body, SeqExpr):
            self.fail("the body of a function or a branch must be a SeqExpr: normalize it")
        for block in body.blocks:
            self.block(block)
        with self.at(" at the result", body.span):
            self.operand(body.body)
            if body.struct_info is None:
                self.fail("the body has no struct info")

    def block(self, block: BindingBlock) -> None:
        """Check a block."""
        self.in_dataflow = isinstance(block, DataflowBlock)
        for binding in block.bindings:
            with self.at(f" at {binding.var.name_hint}", binding.span):
                self.binding(binding)
        self.in_dataflow = False
        self.visible -= {b.var for b in block.bindings if isinstance(b.var, DataflowVar)}

    def binding(self, binding: Binding) -> None:
        """Check a binding."""
        var, value = binding.var, binding.value
        if isinstance(var, DataflowVar) and not self.in_dataflow:
            self.fail("a variable of a dataflow block is bound outside of one")
        if isinstance(value, Function):
            # A function that is bound to a variable may call itself.
            self.bind(var)
            self.function_value(value)
            return
        if isinstance(binding, MatchCast):
            self.operand(value)
            self.define_sizes(binding.struct_info)
            self.struct_info(binding.struct_info)
        else:
            self.value(value)
        self.bind(var)
        info = binding.struct_info if isinstance(binding, MatchCast) else self._info_of(value)
        assert var.struct_info is not None
        if info is None:
            return
        checked = self.compare(var.struct_info, info)
        if checked is BaseCheckResult.FAIL_L0:
            self.fail(f"it is said to be {var.struct_info!r}, but its value is {info!r}")
        if checked is BaseCheckResult.FAIL_L1:
            self.fail(
                f"it is said to be {var.struct_info!r}, but of its value only {info!r} is known: "
                "use R.match_cast, which checks it when the program runs"
            )

    # --- values -----------------------------------------------------------------------------

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
        elif isinstance(expr, Constant) and expr.struct_info is None:
            self.fail("a constant has no struct info")

    def call(self, call: Call) -> None:
        """Check a call."""
        if isinstance(call.op, Op):
            if call.op not in OPERATORS:
                self.fail(f"{call.op.name} is no operator of graphs", call.span)
        else:
            self.operand(call.op)
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

    def branches(self, expr: If) -> None:
        """Check a choice."""
        if self.in_dataflow:
            self.fail("a dataflow block cannot have branches", expr.span)
        self.operand(expr.cond)
        for branch in (expr.true_branch, expr.false_branch):
            with self.scope():
                self.body(branch)

    def _info_of(self, value: Any) -> StructInfo | None:
        return None if isinstance(value, GlobalVar) else value.struct_info


_VALUES: Final[dict[type, Callable[[_Checker, Any], None]]] = {
    Call: _Checker.call,
    TupleGetItem: _Checker.field,
    If: _Checker.branches,
}
