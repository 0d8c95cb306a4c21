"""The normal form: every operation is bound to a variable, and everything has struct info.

::

    return R.add(R.exp(x), y)          lv = R.exp(x)
                                ->     lv1 = R.add(lv, y)
                                       return lv1

Operands are leaves: variables, constants, shapes, scalars, names of functions, and tuples of these.
What is in normal form is returned as it is. An expression that stands in several places is the
value of one variable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilewright.error import StructInfoError
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import is_const_int
from tilewright.ir.module import GlobalVar
from tilewright.ir.node import Span, map_tuple
from tilewright.relax.call_inference import infer_call
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
    RelaxExpr,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    ObjectStructInfo,
    PrimStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.struct_info_relation import (
    BaseCheckResult,
    struct_info_base_check,
    struct_info_lca,
)
from tilewright.relax.visitor import bindings_of

if TYPE_CHECKING:
    from tilewright.relax.block_builder import BlockBuilder

LEAVES = (
    Var, DataflowVar, Constant, ShapeExpr, PrimValue, StringImm, DataTypeImm, ExternFunc, GlobalVar,
)  # fmt: skip
"""The classes of expressions that are always operands."""


def is_leaf(expr: object) -> bool:
    """Whether `expr` may be an operand in normal form."""
    if isinstance(expr, Tuple):
        return all(map(is_leaf, expr.fields))
    return isinstance(expr, LEAVES)


def normalized(builder: BlockBuilder, expr: Any) -> Any:
    """`expr` in normal form, as the value of a binding; its operands are bound in `builder`."""
    rule = _RULES.get(expr.__class__)
    return expr if rule is None else rule(builder, expr)


def operand(builder: BlockBuilder, expr: Any) -> Any:
    """`expr` as an operand: a leaf, or the variable that it is bound to."""
    if expr.__class__ is not Tuple and is_leaf(expr):
        return normalized(builder, expr)
    known = builder.function_scope.known_value(expr)
    if known is not None:
        return known
    _bind_inner_operations(builder, expr)
    value = normalized(builder, expr)
    if is_leaf(value):
        return value
    var = builder.bind(value)
    builder.function_scope.remember(expr, var)
    return var


def _bind_inner_operations(builder: BlockBuilder, expr: Any) -> None:
    """Bind the operations inside of an operand, the innermost first.

    So those that nest deeply, such as a sum that a loop has built, need no deep recursion.
    """
    scope, waiting = builder.function_scope, [expr]
    while waiting:
        unbound = [part for part in _operations_in(waiting[-1]) if scope.known_value(part) is None]
        if unbound:
            waiting += reversed(unbound)
            continue
        inner = waiting.pop()
        if inner is not expr:
            operand(builder, inner)


def _operations_in(expr: Any) -> list[Any]:
    """The operations that are operands of an expression."""
    if isinstance(expr, Call):
        parts: tuple[Any, ...] = (expr.op, *expr.args)
    elif isinstance(expr, Tuple):
        parts = expr.fields
    elif isinstance(expr, TupleGetItem):
        parts = (expr.tuple_value,)
    else:
        return []
    found: list[Any] = []
    for part in parts:
        if isinstance(part, Tuple):
            found += _operations_in(part)
        elif isinstance(part, (Call, TupleGetItem)):
            found.append(part)
    return found


def _operands(builder: BlockBuilder, items: tuple[Any, ...]) -> tuple[Any, ...]:
    return map_tuple(lambda item: operand(builder, item), items)


# --- values ----------------------------------------------------------------------------------


def _variable(builder: BlockBuilder, var: Var) -> Var:
    found = builder.function_scope.renamed.get(var, var)
    builder.function_scope.require_visible(found)
    if found.struct_info is None:
        raise StructInfoError(
            f"nothing is known of variable {var.name_hint!r}: give it struct info, such as "
            "R.Tensor((2, 3), 'float32')",
            var.span,
        )
    return found


def _tuple(builder: BlockBuilder, expr: Tuple) -> Tuple:
    fields = _operands(builder, expr.fields)
    return expr if fields is expr.fields else Tuple(fields, None, expr.span)


def _field(builder: BlockBuilder, expr: TupleGetItem) -> TupleGetItem:
    value = operand(builder, expr.tuple_value)
    info = value.struct_info
    if isinstance(info, TupleStructInfo):
        if not 0 <= expr.index < len(info.fields):
            raise StructInfoError(
                f"the tuple has {len(info.fields)} fields, there is no {expr.index}", expr.span
            )
    elif not isinstance(info, ObjectStructInfo):
        raise StructInfoError(f"only tuples have fields, this is {info!r}", expr.span)
    if value is expr.tuple_value and expr.struct_info is not None:
        return expr
    found = TupleGetItem(value, expr.index, None, expr.span)
    return found if found.struct_info is not None else found.replace(struct_info=ObjectStructInfo())


def _call(builder: BlockBuilder, call: Call) -> Call:
    op = operand(builder, call.op) if isinstance(call.op, RelaxExpr) else call.op
    args = _operands(builder, call.args)
    if op is not call.op or args is not call.args:
        call = call.replace(op=op, args=args, struct_info=None)
    if call.struct_info is not None:
        return call
    scope = builder.function_scope
    return call.replace(struct_info=infer_call(call, scope.analyzer, builder.signature_of))


def _if(builder: BlockBuilder, expr: If) -> If:
    cond = operand(builder, expr.cond)
    problem = condition_problem(cond.struct_info)
    if problem is not None:
        raise StructInfoError(problem, getattr(expr.cond, "span", None) or expr.span)
    branches = [body_of(builder, branch) for branch in (expr.true_branch, expr.false_branch)]
    same = cond is expr.cond and [expr.true_branch, expr.false_branch] == branches
    if same and expr.struct_info is not None:
        return expr
    infos = [branch.struct_info for branch in branches]
    assert infos[0] is not None
    assert infos[1] is not None
    info = struct_info_lca(infos[0], infos[1], builder.function_scope.analyzer)
    return If(cond, branches[0], branches[1], info, expr.span)


def condition_problem(info: StructInfo | None) -> str | None:
    """Why a value with that struct info cannot be the condition of an `If`; None if it can."""
    fits = isinstance(info, ObjectStructInfo | None)
    if isinstance(info, TensorStructInfo):
        extents = info.extents
        is_one = extents is not None and all(is_const_int(extent, 1) for extent in extents)
        fits = (is_one or info.ndim in (UNKNOWN_NDIM, 0)) and info.dtype in (None, BOOL)
    elif isinstance(info, PrimStructInfo):
        fits = info.dtype is BOOL
    return None if fits else f"the condition of an `if` must be one bool, this is {info!r}"


def _function(builder: BlockBuilder, function: Function) -> Function:
    """A function of the module, or one inside of another, which knows what is around it."""
    if builder.is_in_body:
        return _inner_function(builder, function)
    with builder.body_of_function(function.params) as scope:
        for binding in bindings_of(function.body):
            scope.names.reserve(binding.var.name_hint)
        return _inner_function(builder, function)


def _inner_function(builder: BlockBuilder, function: Function) -> Function:
    scope = builder.function_scope
    scope.add_params(function.params)
    body = body_of(builder, function.body)
    ret = function.ret_struct_info
    if body is function.body and ret is not None:
        return function
    return function.replace(body=body, ret_struct_info=ret or body.struct_info)


# --- bodies ----------------------------------------------------------------------------------


def body_of(builder: BlockBuilder, expr: RelaxExpr) -> SeqExpr:
    """The body of a function or a branch: a `SeqExpr` in a scope of its own."""
    builder.begin_scope()
    result = operand(builder, emit_blocks(builder, expr) if isinstance(expr, SeqExpr) else expr)
    scope = builder.function_scope.scope
    blocks = builder.end_scope()
    info = result.struct_info if isinstance(result, RelaxExpr) else ObjectStructInfo()
    assert info is not None
    outside = scope.outside(info)
    if isinstance(expr, SeqExpr) and expr.struct_info is not None:
        blocks = keep_identity(blocks, expr.blocks)
        if blocks is expr.blocks and result is expr.body:
            return expr
    return SeqExpr(blocks, result, outside, expr.span)


def keep_identity(
    blocks: tuple[BindingBlock, ...], originals: tuple[BindingBlock, ...]
) -> tuple[BindingBlock, ...]:
    """`blocks`, with the original of each that did not change; `originals` if none did."""
    if len(blocks) != len(originals):
        return blocks
    kept = tuple(
        old if type(old) is type(new) and _same_items(old.bindings, new.bindings) else new
        for new, old in zip(blocks, originals, strict=True)
    )
    return originals if _same_items(kept, originals) else kept


def _same_items(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def emit_blocks(builder: BlockBuilder, seq: SeqExpr) -> RelaxExpr:
    """Emit the blocks of `seq`; its result, which may not be in normal form."""
    for block in seq.blocks:
        emit_block(builder, block)
    return seq.body


def emit_block(builder: BlockBuilder, block: BindingBlock) -> None:
    """Emit a block; inside of a dataflow block, its bindings become part of that."""
    inside = builder.in_dataflow
    if not inside:
        is_dataflow = isinstance(block, DataflowBlock)
        (builder.begin_dataflow_block if is_dataflow else builder.begin_binding_block)()
    for binding in block.bindings:
        emit_binding(builder, binding)
    if not inside:
        builder.end_block()


def emit_binding(builder: BlockBuilder, binding: Binding) -> Var:
    """Emit a binding with its own variable.

    A variable without struct info is replaced by one with that of the value, here and where it is
    used.
    """
    scope = builder.function_scope
    if isinstance(binding, MatchCast):
        return _emit_match_cast(builder, binding)
    value = normalized(builder, binding.value)
    if isinstance(value, SeqExpr):
        value = operand(builder, emit_blocks(builder, value))
    var, info = binding.var, value_struct_info(builder, value)
    if var.struct_info is None:
        var = scope.renamed[binding.var] = var.replace(struct_info=info)
    else:
        _check_annotation(builder, var, info, var.span or binding.span)
    if var is not binding.var or value is not binding.value:
        binding = VarBinding(var, value, binding.span)
    return scope.bind(binding)


def _emit_match_cast(builder: BlockBuilder, binding: MatchCast) -> Var:
    scope = builder.function_scope
    value, var = operand(builder, binding.value), binding.var
    scope.scope.sizes.update(scope.add_sizes_of(binding.struct_info))
    if var.struct_info is None:
        var = scope.renamed[binding.var] = var.replace(struct_info=binding.struct_info)
    given = value_struct_info(builder, value)
    checked = struct_info_base_check(binding.struct_info, given, scope.analyzer)
    if checked is BaseCheckResult.FAIL_L0:
        raise StructInfoError(
            f"match_cast to {binding.struct_info!r} can never hold: the value is {given!r}",
            binding.span,
        )
    if var is not binding.var or value is not binding.value:
        binding = MatchCast(var, value, binding.struct_info, binding.span)
    return scope.bind(binding)


def _check_annotation(builder: BlockBuilder, var: Var, info: StructInfo, span: Span | None) -> None:
    assert var.struct_info is not None
    analyzer = builder.function_scope.analyzer
    if struct_info_base_check(var.struct_info, info, analyzer) is BaseCheckResult.FAIL_L0:
        raise StructInfoError(
            f"{var.name_hint} is said to be {var.struct_info!r}, but its value is {info!r}",
            span,
        )


def value_struct_info(builder: BlockBuilder, value: Any) -> StructInfo:
    """The struct info of a value in normal form, which may be the name of a function."""
    if isinstance(value, GlobalVar):
        return builder.signature_of(value) or ObjectStructInfo()
    assert value.struct_info is not None
    return value.struct_info


_RULES: dict[type, Callable[[Any, Any], Any]] = {
    Var: _variable,
    DataflowVar: _variable,
    Tuple: _tuple,
    TupleGetItem: _field,
    Call: _call,
    If: _if,
    Function: _function,
    SeqExpr: body_of,
}
