"""Dataflow blocks, branches and the end of a graph function."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.expr import Expr
from tilewright.relax.expr import If, RelaxExpr, SeqExpr, as_relax
from tilewright.relax.normalize import condition_problem, is_leaf, value_struct_info
from tilewright.relax.script import statements
from tilewright.relax.script.context import DataflowBlockUnderConstruction
from tilewright.relax.script.parser.bindings import annotation_of, augmented_value, bind_value
from tilewright.relax.script.parser.evaluator import GraphParser, parses_graph
from tilewright.relax.script.statements import BranchFrame, Cast, DataflowFrame, Emission, IfFrame
from tilewright.relax.struct_info import StructInfo
from tilewright.script.parser.operators import is_symbolic
from tilewright.script.parser.source import kind_of

# --- dataflow blocks -------------------------------------------------------------------------


@parses_graph(ast.With)
def _with(parser: GraphParser, node: ast.With) -> None:
    frame = _frame(parser, node)
    if isinstance(frame, DataflowFrame):
        _dataflow_block(parser, node)
    elif isinstance(frame, IfFrame):
        parser.scope.define(*_conditional_frame(parser, node, frame))
    else:
        place = node.items[0].context_expr
        if isinstance(frame, BranchFrame):
            raise parser.error(place, f"R.{frame.name} stands in `with R.If(condition):`")
        raise parser.error(place, "expected `with R.dataflow():`")


def _frame(parser: GraphParser, node: ast.With) -> Any:
    """What the header of a ``with`` opens."""
    item = node.items[0]
    if len(node.items) > 1:
        raise parser.error(node.items[1].context_expr, "one `with` opens one construct of a graph")
    if item.optional_vars is not None:
        raise parser.error(item.optional_vars, "a construct of a graph defines nothing to be named")
    return parser.evaluate(item.context_expr)


def _conditional_frame(
    parser: GraphParser, node: ast.With, frame: IfFrame
) -> tuple[str, RelaxExpr]:
    """What `_conditional` gives for an ``R.If``."""
    then, otherwise = _branches(parser, node)
    conditional = ast.If(node.items[0].context_expr, then, otherwise)
    return _conditional(parser, ast.copy_location(conditional, node), frame.condition)


def _branches(parser: GraphParser, node: ast.With) -> list[list[ast.stmt]]:
    """The statements of ``R.Then()`` and of ``R.Else()`` in an ``R.If``."""
    found = []
    for name, part in zip_longest(("Then", "Else"), node.body):
        frame = _frame(parser, part) if isinstance(part, ast.With) else None
        if (
            not isinstance(part, ast.With)
            or not isinstance(frame, BranchFrame)
            or frame.name != name
        ):
            raise parser.error(
                part or node.items[0].context_expr,
                "`with R.If(condition):` holds `with R.Then():` and `with R.Else():`, no more",
            )
        found.append(part.body)
    return found


def _dataflow_block(parser: GraphParser, node: ast.With) -> None:
    builder, place = parser.builder, node.items[0].context_expr
    function = builder.function
    if builder.blocks.in_dataflow:
        raise parser.error(place, "a dataflow block cannot have another one inside")
    dataflow = DataflowBlockUnderConstruction(_outputs(parser, node))
    function.dataflow = dataflow
    builder.blocks.begin_dataflow_block()
    parser.scope.push()
    for statement in node.body:
        if dataflow.results is not None:
            raise parser.error(statement, "nothing can follow R.output in a dataflow block")
        parser.statement(statement)
    builder.blocks.end_block()
    function.dataflow = None
    parser.scope.pop(node.end_lineno or node.lineno)
    for name, result in zip(dataflow.outputs, dataflow.results or (), strict=True):
        parser.scope.define(name, result)


def _outputs(parser: GraphParser, node: ast.With) -> dict[str, ast.stmt]:
    """The names that a dataflow block ends with, each with the statement that binds it last."""
    last = node.body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(call, ast.Call) or parser.evaluate(call.func) is not statements.output:
        raise parser.error(
            last, "a dataflow block ends with R.output(...): the variables that are used after it"
        )
    binders = {name: statement for statement in node.body for name in _bound_names(statement)}
    outputs: dict[str, ast.stmt] = {}
    for argument in (*call.args, *call.keywords):
        if not isinstance(argument, ast.Name):
            raise parser.error(argument, "R.output takes names of variables of the block")
        name = argument.id
        if name not in binders:
            raise parser.error(argument, f"`{name}` is not bound in this dataflow block")
        if name in outputs:
            raise parser.error(argument, f"`{name}` is an output already")
        outputs[name] = binders[name]
    return outputs


def _bound_names(statement: ast.stmt) -> list[str]:
    """The names that a statement binds."""
    if isinstance(statement, ast.FunctionDef):
        return [statement.name]
    if isinstance(statement, (ast.If, ast.With)):
        return [name for inner in statement.body for name in _bound_names(inner)]
    targets: Sequence[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    names = [node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return [name.id for name in names]


# --- branches --------------------------------------------------------------------------------


@parses_graph(ast.If)
def _if(parser: GraphParser, node: ast.If) -> None:
    condition = parser.evaluate(node.test)
    if not _is_unknown(condition):
        # Python knows the condition: only one branch is part of the program.
        for statement in node.body if condition else node.orelse:
            parser.statement(statement)
        parser.builder.function.has_left = parser.builder.function.result is not None
        return
    name, result = _conditional(parser, node, condition)
    parser.scope.define(name, result)


def _is_unknown(condition: Any) -> bool:
    return isinstance(condition, RelaxExpr) or is_symbolic(condition)


def _conditional(parser: GraphParser, node: ast.If, condition: Any) -> tuple[str, RelaxExpr]:
    """The name that both branches assign to last, and the variable that it is bound to."""
    builder = parser.builder
    if builder.blocks.in_dataflow:
        raise parser.error(node.test, "a dataflow block has no branches: close it before")
    if not node.orelse:
        raise parser.error(
            node.test, "an `if` of a graph gives a value: write an `else` that gives it, too"
        )
    # Before the branches, the condition is computed.
    operand = parser.guarded(node.test, builder.blocks.normalize_argument, as_relax(condition))
    _check_condition(parser, node.test, operand)
    name, true_branch = _branch(parser, node.body)
    other, false_branch = _branch(parser, node.orelse)
    if other != name:
        raise parser.error(
            node.orelse[-1],
            f"this branch ends with a value of `{other}`, the other one with one of `{name}`",
        )
    span = parser.source.span(node)
    value = If(operand, true_branch, false_branch, None, span)
    function = builder.function
    declaration = function.declared.pop((function.branches, name), None)
    declared = None if declaration is None else declaration.struct_info
    return name, parser.guarded(node.test, _bind, parser, name, value, node, declared)


def _check_condition(parser: GraphParser, place: ast.expr, condition: RelaxExpr) -> None:
    problem = condition_problem(condition.struct_info)
    if problem is not None:
        raise parser.error(place, problem)


def _bind(
    parser: GraphParser, name: str, value: Any, node: ast.AST, known: StructInfo | None
) -> RelaxExpr:
    return bind_value(parser.builder, name, value, parser.source.span(node), annotation=known)


def _branch(parser: GraphParser, body: Sequence[ast.stmt]) -> tuple[str, SeqExpr]:
    """A branch, and the name that it assigns to last."""
    blocks, function = parser.builder.blocks, parser.builder.function
    parser.scope.push()
    blocks.begin_scope()
    function.branches += 1
    for statement in body[:-1]:
        parser.statement(statement)
    name, result = _result(parser, body[-1])
    function.branches -= 1
    scope = blocks.function_scope.scope
    info = scope.outside(value_struct_info(blocks, result))
    inside = blocks.end_scope()
    parser.scope.pop(body[-1].end_lineno or body[-1].lineno)
    return name, SeqExpr(inside, result, info, parser.source.span(body[-1]))


def _result(parser: GraphParser, last: ast.stmt) -> tuple[str, RelaxExpr]:
    """The result of a branch, which its last statement assigns to a name."""
    if isinstance(last, ast.With):
        frame = _frame(parser, last)
        if isinstance(frame, IfFrame):
            return _conditional_frame(parser, last, frame)
    if isinstance(last, ast.If):
        condition = parser.evaluate(last.test)
        if _is_unknown(condition):
            return _conditional(parser, last, condition)
        body = last.body if condition else last.orelse
        for statement in body[:-1]:
            parser.statement(statement)
        return _result(parser, body[-1] if body else ast.copy_location(ast.Pass(), last))
    target: ast.expr | None = None
    known = value = None
    if isinstance(last, ast.Assign) and len(last.targets) == 1:
        target, value = last.targets[0], parser.evaluate.unbound(last.value)
    elif isinstance(last, ast.AnnAssign) and last.value is not None:
        target, known = last.target, annotation_of(parser, last)
        value = parser.evaluate.unbound(last.value)
    elif isinstance(last, ast.AugAssign):
        target, value = last.target, augmented_value(parser, last)
    if not isinstance(target, ast.Name):
        raise parser.error(
            last, "a branch ends with an assignment of its value to a name, as the other one does"
        )
    return target.id, parser.guarded(last, _result_value, parser, target.id, value, last, known)


def _result_value(
    parser: GraphParser, name: str, value: Any, node: ast.stmt, known: StructInfo | None
) -> RelaxExpr:
    if not isinstance(value, (Cast, Emission)):
        value = as_relax(value)
        if known is None and is_leaf(value):
            return parser.builder.blocks.normalize_argument(value)
    return _bind(parser, name, value, node, known)


# --- the end ---------------------------------------------------------------------------------


@parses_graph(ast.Return)
def _return(parser: GraphParser, node: ast.Return) -> None:
    value = None if node.value is None else parser.evaluate(node.value)
    end_function(parser, node, value, node.value)


def end_function(parser: GraphParser, node: ast.stmt, value: Any, place: ast.expr | None) -> None:
    """End the function by the statement `node` with the `value` that is written at `place`."""
    builder = parser.builder
    if builder.blocks.in_dataflow:
        raise parser.error(node, "`return` stands after the dataflow block, not inside of it")
    if builder.function.branches:
        raise parser.error(
            node, "`return` stands at the end of the function: let both branches assign to a name"
        )
    if place is None:
        raise parser.error(node, "a graph function returns a value: `return R.tuple()` for none")
    builder.function.result = parser.guarded(place, _returned, parser, value)
    builder.function.end = node


def _returned(parser: GraphParser, value: Any) -> RelaxExpr:
    if value is None or (isinstance(value, Expr) and not is_symbolic(value)):
        raise ArgumentError(f"a graph function returns a value of the graph, got {kind_of(value)}")
    return parser.builder.blocks.normalize_argument(as_relax(value))
