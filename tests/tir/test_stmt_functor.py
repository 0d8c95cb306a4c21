"""`tir.stmt_functor`: visiting and transforming statements."""

import functools

import pytest

from tilewright import tir
from tilewright.error import ArgumentError
from tilewright.script import tir as T
from tilewright.tir import stmt_functor
from tilewright.tir.substitute import variables_of


@T.prim_func
def scaled(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i] * T.float32(2)


def names(visit, chosen=lambda _: True):
    found = []
    visit(scaled.body, lambda node: found.append(type(node).__name__) or chosen(node))
    return found


def test_orders():
    assert names(stmt_functor.post_order_visit)[-1] == "For"
    assert names(stmt_functor.pre_order_visit)[0] == "For"
    both = names(stmt_functor.post_order_visit), names(stmt_functor.pre_order_visit)
    assert sorted(both[0]) == sorted(both[1])
    shallow = names(stmt_functor.pre_order_visit, lambda node: isinstance(node, tir.For))
    assert "BufferStore" in shallow
    assert "BufferLoad" not in shallow


def test_a_shared_node_is_visited_once():
    x = tir.Var("x", "int32")
    found = []
    stmt_functor.post_order_visit((x + 1) * (x + 1), found.append)
    assert sum(node is x for node in found) == 1


def test_transformation():
    def parallel(loop):
        return loop.replace(kind=tir.ForKind.PARALLEL)

    def drop(store):
        return tir.Evaluate(0)

    body = scaled.body
    changed = stmt_functor.ir_transform(body, None, parallel, ["tir.For"])
    assert changed.kind is tir.ForKind.PARALLEL
    assert changed.body is body.body
    assert "A[" not in stmt_functor.ir_transform(body, drop, None, ["tir.BufferStore"]).script()
    assert stmt_functor.ir_transform(body, lambda _: None, lambda _: None) is body
    with pytest.raises(ArgumentError, match="gives a node or None, got 3"):
        stmt_functor.ir_transform(body, None, lambda _: 3)


def test_substitution():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert stmt_functor.substitute(x + 1, {x: y}) == y + 1


def deep_sum():
    """A sum of 3,000 terms of one variable, and the variable."""
    n = tir.Var("n", "int32")
    return functools.reduce(lambda total, k: total + n * (k + 2), range(3000), n * 1), n


@pytest.mark.parametrize("visit", [stmt_functor.post_order_visit, stmt_functor.pre_order_visit])
def test_functions_of_users_see_nodes_of_deep_expressions_once(visit):
    expr, _ = deep_sum()
    seen = []
    visit(expr, lambda node: seen.append(node) or True)
    assert len(seen) == len(set(seen)) > 6000


def test_a_deep_expression_is_transformed_by_one_run():
    expr, n = deep_sum()
    calls = []

    def doubled(product):
        calls.append(product)
        return product.a * (product.b * 2)

    found = stmt_functor.ir_transform(expr, None, doubled, ["tir.Mul"])
    assert len(calls) == 3000
    assert variables_of(stmt_functor.substitute(found, {n: 1})) == []


def test_variables_of_deep_expressions():
    expr, n = deep_sum()
    assert variables_of(expr) == [n]
