"""Whether graph functions are well-formed."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, VerifyError
from tilewright.ir.module import IRModule
from tilewright.relax.analysis.functions import is_forced_pure
from tilewright.relax.analysis.operations import Operations
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    SeqExpr,
)
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
    * Calls name functions of the module that exist, operators and tensor programs with as many
      arguments as they take.
    * Fields of tuples exist, and the condition of an `If` is one bool.
    * No two functions of the module are exported under the same name.

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
        checker.exported_names(obj)
        for name, function in obj.functions.items():
            if isinstance(function, Function):
                checker.function(function, name.name_hint)
    else:
        raise ArgumentError(f"expected a graph function or an IRModule, got {obj!r}")


class _Checker(Operations):
    """Walks graph functions with the variables and sizes in scope."""

    def exported_names(self, module: IRModule) -> None:
        """Check that graph functions are exported under different names."""
        owners: dict[str, str] = {}
        for var, function in module.functions.items():
            symbol = function.global_symbol
            if symbol is None or not isinstance(function, Function):
                continue
            self.begin(var.name_hint, function.span)
            if symbol in owners:
                self.fail(f"it is exported as {symbol!r}, and so is {owners[symbol]}")
            owners[symbol] = var.name_hint

    def function(self, function: Function, name: str) -> None:
        """Check a function of the module."""
        self.begin(name, function.span)
        self.in_dataflow = False
        self.function_value(function)

    def function_value(self, function: Function) -> None:
        """Check a function in the current scope."""
        before = self.is_pure, self.in_dataflow
        self.is_pure = function.is_pure and not is_forced_pure(function)
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
            found = self.info_of(body.body)
            if found is not None and self.contradicts(body.struct_info, found):
                self.fail(f"the body is said to give {body.struct_info!r}, but it gives {found!r}")

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
        info = binding.struct_info if isinstance(binding, MatchCast) else self.info_of(value)
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
