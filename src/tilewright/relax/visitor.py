"""`PyExprVisitor`: walking through a graph function, with one method for each kind of node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tilewright.error import ArgumentError
from tilewright.ir.module import BaseFunc, GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)

METHODS: Final[dict[type, str]] = {
    Var: "visit_var_",
    DataflowVar: "visit_dataflow_var_",
    Constant: "visit_constant_",
    Tuple: "visit_tuple_",
    TupleGetItem: "visit_tuple_getitem_",
    ShapeExpr: "visit_shape_expr_",
    PrimValue: "visit_prim_value_",
    StringImm: "visit_string_imm_",
    DataTypeImm: "visit_data_type_imm_",
    ExternFunc: "visit_extern_func_",
    GlobalVar: "visit_global_var_",
    Op: "visit_op_",
    Call: "visit_call_",
    If: "visit_if_",
    SeqExpr: "visit_seq_expr_",
    Function: "visit_function_",
}
"""The method of visitors and mutators for each kind of expression."""


def method_of(visitor: object, expr: object) -> Callable[[Any], Any]:
    """The method of a visitor or mutator that is for `expr`."""
    name = METHODS.get(expr.__class__)
    if name is None and isinstance(expr, BaseFunc):
        name = "visit_prim_func_"
    if name is None:
        raise ArgumentError(f"expected an expression of a graph, got {expr!r}")
    return getattr(visitor, name)


class GraphMethods:
    """What visitors and mutators share: methods of leaves, which stay as they are, and dispatch."""

    def visit_var_(self, var: Var) -> Any:
        """A use of a variable."""
        return var

    def visit_dataflow_var_(self, var: DataflowVar) -> Any:
        """A use of a variable of a dataflow block."""
        return self.visit_var_(var)

    def visit_constant_(self, constant: Constant) -> Any:
        """A constant array."""
        return constant

    def visit_shape_expr_(self, shape: ShapeExpr) -> Any:
        """A shape."""
        return shape

    def visit_prim_value_(self, value: PrimValue) -> Any:
        """A scalar."""
        return value

    def visit_string_imm_(self, text: StringImm) -> Any:
        """A text."""
        return text

    def visit_data_type_imm_(self, dtype: DataTypeImm) -> Any:
        """A dtype."""
        return dtype

    def visit_extern_func_(self, function: ExternFunc) -> Any:
        """The name of a registered function."""
        return function

    def visit_global_var_(self, name: GlobalVar) -> Any:
        """The name of a function of the module."""
        return name

    def visit_op_(self, op: Op) -> Any:
        """An operator."""
        return op

    def visit_prim_func_(self, function: BaseFunc) -> Any:
        """A tensor program."""
        return function

    def visit_binding_block(self, block: BindingBlock) -> Any:
        """Visit a block, by the method for its kind; what a mutator has made of it, or None."""
        if isinstance(block, DataflowBlock):
            return self.visit_dataflow_block_(block)
        return self.visit_binding_block_(block)

    def visit_binding_block_(self, block: BindingBlock) -> Any:
        """An ordinary block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: DataflowBlock) -> Any:
        """A block in which nothing has an effect."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_binding(self, binding: Binding) -> None:
        """Visit a binding, by the method for its kind."""
        if isinstance(binding, MatchCast):
            self.visit_match_cast_(binding)
        else:
            assert isinstance(binding, VarBinding)
            self.visit_var_binding_(binding)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """``var = value``."""

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """``var = match_cast(value, struct_info)``."""

    def visit_var_def(self, var: Var) -> Any:
        """Visit the variable of a binding, or a parameter, by the method for its kind."""
        if isinstance(var, DataflowVar):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)

    def visit_var_def_(self, var: Var) -> Any:
        """A variable that is bound here."""
        return var

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Any:
        """A variable of a dataflow block that is bound here."""
        return self.visit_var_def_(var)


class PyExprVisitor(GraphMethods):
    """Visits everything in a graph function, in the order in which it is computed.

    Subclasses override the methods for what interests them, and call ``super()`` to go deeper::

        class CountCalls(PyExprVisitor):
            count = 0
            def visit_call_(self, call):
                self.count += 1
                super().visit_call_(call)
    """

    def visit_expr(self, expr: Any) -> None:
        """Visit an expression, by the method for its kind."""
        method_of(self, expr)(expr)

    # --- operations -------------------------------------------------------------------------

    def visit_tuple_(self, expr: Tuple) -> None:
        """Several values."""
        for field in expr.fields:
            self.visit_expr(field)

    def visit_tuple_getitem_(self, expr: TupleGetItem) -> None:
        """A field of a tuple."""
        self.visit_expr(expr.tuple_value)

    def visit_call_(self, call: Call) -> None:
        """A call."""
        self.visit_expr(call.op)
        for argument in call.args:
            self.visit_expr(argument)

    def visit_if_(self, expr: If) -> None:
        """A choice."""
        self.visit_expr(expr.cond)
        self.visit_expr(expr.true_branch)
        self.visit_expr(expr.false_branch)

    def visit_seq_expr_(self, expr: SeqExpr) -> None:
        """Blocks and a result."""
        for block in expr.blocks:
            self.visit_binding_block(block)
        self.visit_expr(expr.body)

    def visit_function_(self, function: Function) -> None:
        """A function."""
        for param in function.params:
            self.visit_var_def(param)
        self.visit_expr(function.body)

    # --- bindings ---------------------------------------------------------------------------

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """``var = value``."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """``var = match_cast(value, struct_info)``."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_dataflow_var_def_(self, var: DataflowVar) -> None:
        """A variable of a dataflow block that is bound here."""


class _PostOrder(PyExprVisitor):
    """Calls a function with each expression after those that it is made of, each once."""

    def __init__(self, visit: Callable[[Any], Any]) -> None:
        self._visit = visit
        self._seen: set[int] = set()

    def visit_expr(self, expr: Any) -> None:
        if id(expr) not in self._seen:
            self._seen.add(id(expr))
            PyExprVisitor.visit_expr(self, expr)
            self._visit(expr)

    def visit_var_def(self, var: Var) -> None:
        self.visit_expr(var)


def post_order_visit(expr: Any, fvisit: Callable[[Any], Any]) -> None:
    """Call `fvisit` with each expression of a graph, operands before operations, each once."""
    _PostOrder(fvisit).visit_expr(expr)


def bindings_of(root: Any) -> list[Binding]:
    """All bindings below an expression, in the order in which they are computed."""
    found: list[Binding] = []
    waiting: list[Any] = [root]
    seen: set[int] = set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Computed):
            found.append(item.binding)
        elif isinstance(item, Binding):
            waiting += (_Computed(item), item.value)
        elif isinstance(item, (SeqExpr, BindingBlock)):
            waiting += item.children()[::-1]
        elif isinstance(item, Function):
            waiting.append(item.body)
        elif isinstance(item, (Call, If, Tuple, TupleGetItem)) and id(item) not in seen:
            seen.add(id(item))  # an operand of several operations is one expression
            waiting += item.children()[::-1]
    return found


class _Computed(NamedTuple):
    """A binding whose value has been visited."""

    binding: Binding
