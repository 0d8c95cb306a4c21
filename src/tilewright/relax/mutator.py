"""`PyExprMutator`: rewriting a graph function, with one method for each kind of node.

What does not change stays the same object, and struct info is inferred anew only where something
changed. The result is in normal form whatever the methods return: an operation inside of another is
bound to a variable of its own.
"""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.ir.node import map_tuple
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.structural import structural_equal
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import (
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    If,
    MatchCast,
    RelaxExpr,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.normalize import emit_blocks, keep_identity, operand, value_struct_info
from tilewright.relax.struct_info import StructInfo
from tilewright.relax.struct_info_relation import is_base_of
from tilewright.relax.visitor import GraphMethods, bindings_of, method_of


class _Renaming(Rewriter):
    """Replaces the graph variables that struct info mentions as shapes."""

    def __init__(self, variables: dict[Var, Any]) -> None:
        self._variables = variables

    def RelaxVar(self, var: Var) -> Any:
        return self._variables.get(var, var)

    def DataflowVar(self, var: Var) -> Any:
        return self._variables.get(var, var)


class PyExprMutator(GraphMethods):
    """Rewrites graph functions.

    Subclasses override the methods for what they change::

        class Double(PyExprMutator):
            def visit_call_(self, call):
                call = super().visit_call_(call)
                return relax.op.add(call, call) if call.op is TWICE else call

        double = Double(mod)
        for name, function in mod.functions.items():
            if isinstance(function, relax.Function):
                double.builder_.update_func(name, double.visit_expr(function))
        mod = double.builder_.get()

    Args:
        mod: the module of the functions, for calls between them and for new functions.

    Attributes:
        builder_: where the bindings of the result go.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.builder_ = BlockBuilder(mod)
        self._variables: dict[Var, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name in ("builder_", "_variables"):
            raise ArgumentError(
                f"{type(self).__name__}.__init__ must begin with super().__init__(mod)"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def visit_expr(self, expr: Any) -> Any:
        """What stands for an expression, by the method for its kind."""
        method = method_of(self, expr)
        result = method(expr)
        if result is None:
            name = f"{type(self).__name__}.{getattr(method, '__name__', 'the method')}"
            raise ArgumentError(
                f"{name} gave None; return what stands for the expression: {expr!r}"
            )
        return result

    def visit_expr_post_order(self, expr: Any) -> Any:
        """`expr` with its parts rewritten, before the method of its own kind is called."""
        return method_of(_Base(self), expr)(expr)

    def visit_var_(self, var: Var) -> Any:
        """A use of a variable."""
        return self._variables.get(var, var)

    # --- operations -------------------------------------------------------------------------

    def visit_tuple_(self, expr: Tuple) -> Any:
        """Several values."""
        fields = map_tuple(self.visit_expr, expr.fields)
        return expr if fields is expr.fields else Tuple(fields, None, expr.span)

    def visit_tuple_getitem_(self, expr: TupleGetItem) -> Any:
        """A field of a tuple."""
        value = self.visit_expr(expr.tuple_value)
        return (
            expr if value is expr.tuple_value else TupleGetItem(value, expr.index, None, expr.span)
        )

    def visit_call_(self, call: Call) -> Any:
        """A call."""
        op = self.visit_expr(call.op)
        args = map_tuple(self.visit_expr, call.args)
        infos = map_tuple(self.visit_struct_info_, call.sinfo_args)
        if op is call.op and args is call.args and infos is call.sinfo_args:
            return call
        return Call(op, args, call.attrs, infos, None, call.span)

    def visit_if_(self, expr: If) -> Any:
        """A choice."""
        cond = self.visit_expr(expr.cond)
        then = self.visit_with_new_scope(expr.true_branch)
        otherwise = self.visit_with_new_scope(expr.false_branch)
        if cond is expr.cond and then is expr.true_branch and otherwise is expr.false_branch:
            return expr
        return If(cond, then, otherwise, None, expr.span)

    def visit_seq_expr_(self, expr: SeqExpr) -> Any:
        """Blocks and a result."""
        return self.visit_with_new_scope(expr)

    def visit_function_(self, function: Function) -> Any:
        """A function."""
        if self.builder_.is_in_body:
            return self._function(function)
        with self.builder_.body_of_function(function.params):
            for binding in bindings_of(function.body):
                self.builder_.function_scope.names.reserve(binding.var.name_hint)
            return self._function(function)

    def _function(self, function: Function) -> Function:
        params = map_tuple(self.visit_var_def, function.params)
        body = self.visit_with_new_scope(function.body, params)
        ret = function.ret_struct_info
        if ret is not None:
            ret = self.visit_struct_info_(ret)
        if params is function.params and body is function.body and ret is function.ret_struct_info:
            return function
        info = body.struct_info
        # A declared result stays, unless the result has changed.
        if ret is None or not (
            _same(info, function.body.struct_info) or is_base_of(ret, info, self.builder_.analyzer)
        ):
            ret = info
        return function.replace(params=params, body=body, ret_struct_info=ret)

    def visit_with_new_scope(self, expr: RelaxExpr, params: tuple[Var, ...] = ()) -> Any:
        """The body of a function or a branch, rewritten in a scope of its own."""
        self.builder_.begin_scope(params)
        scope = self.builder_.function_scope.scope
        if isinstance(expr, SeqExpr):
            for block in expr.blocks:
                self.visit_binding_block(block)
        result = self.visit_expr(expr.body if isinstance(expr, SeqExpr) else expr)
        result = self.builder_.normalize_argument(result)
        blocks = self.builder_.end_scope()
        if isinstance(expr, SeqExpr):
            blocks = keep_identity(blocks, expr.blocks)
            if blocks is expr.blocks and result is expr.body and expr.struct_info is not None:
                return expr
        info = scope.outside(value_struct_info(self.builder_, result))
        return SeqExpr(blocks, result, info, expr.span)

    # --- bindings ---------------------------------------------------------------------------

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock | None:
        """An ordinary block."""
        self.builder_.begin_binding_block()
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_.end_block()

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock | None:
        """A block in which nothing has an effect."""
        self.builder_.begin_dataflow_block()
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_.end_block()

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """``var = value``."""
        self.reemit_binding(binding, self.visit_expr(binding.value))

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """``var = match_cast(value, struct_info)``."""
        value = self.builder_.normalize_argument(self.visit_expr(binding.value))
        info = self.visit_struct_info_(binding.struct_info)
        var = self.visit_var_def(binding.var)
        if info is not binding.struct_info:
            var = self._retyped(binding.var, var, info)
        if value is not binding.value or var is not binding.var:
            binding = MatchCast(var, value, info, binding.span)
        self.builder_.emit_normalized(binding)

    def reemit_binding(self, binding: VarBinding, value: Any) -> None:
        """Bind the variable of `binding`, or another of the same name, to a new value."""
        value = self.builder_.normalize(value)
        if isinstance(value, SeqExpr):
            value = operand(self.builder_, emit_blocks(self.builder_, value))
        var = self.visit_var_def(binding.var)
        if value is not binding.value:
            var = self._retyped(binding.var, var, value_struct_info(self.builder_, value))
        if value is not binding.value or var is not binding.var:
            binding = VarBinding(var, value, binding.span)
        self.builder_.emit_normalized(binding)

    def _retyped(self, original: Var, var: Var, info: StructInfo) -> Var:
        if _same(var.struct_info, info):
            return var
        var = var.replace(struct_info=info)
        self.set_var_remap(original, var)
        return var

    def visit_var_def_(self, var: Var) -> Var:
        """A variable that is bound here."""
        info = None if var.struct_info is None else self.visit_struct_info_(var.struct_info)
        return var if info is None else self.with_struct_info(var, info)

    def visit_struct_info_(self, info: StructInfo) -> StructInfo:
        """Struct info that the program states: of parameters, casts and calls of kernels."""
        return _Renaming(self._variables)(info) if self._variables else info

    # --- for subclasses ---------------------------------------------------------------------

    def with_struct_info(self, var: Var, info: StructInfo) -> Var:
        """`var`, or a variable of the same name that stands for it and has the struct info."""
        if info is var.struct_info:
            return var
        changed = var.replace(struct_info=info)
        self.set_var_remap(var, changed)
        return changed

    def set_var_remap(self, vid: Var, var: Any) -> None:
        """Let `var` stand for the variable `vid` from here on."""
        self._variables[vid] = var

    def get_var_remap(self, vid: Var) -> Any:
        """What stands for the variable `vid`."""
        return self._variables.get(vid, vid)

    def lookup_binding(self, var: Var) -> RelaxExpr | None:
        """The value that a variable of the result is bound to; None for a parameter."""
        return self.builder_.lookup_binding(var)


class _Base:
    """The methods of `PyExprMutator` for an object of a class that overrides them."""

    def __init__(self, mutator: PyExprMutator) -> None:
        self._mutator = mutator

    def __getattr__(self, name: str) -> Any:
        return getattr(PyExprMutator, name).__get__(self._mutator)


def _same(a: StructInfo | None, b: StructInfo | None) -> bool:
    return a is b or (a is not None and b is not None and structural_equal(a, b))
