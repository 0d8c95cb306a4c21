"""Walking and rewriting programs whose parts are shared."""

from collections import Counter

import pytest

from tilewright import te, tir
from tilewright.ir import const
from tilewright.ir.expr import Add, Mul, Var
from tilewright.ir.rewrite import Rewriter, SparseRewriter, nodes_of, rewrite, walk
from tilewright.ir.structural import assert_structural_equal


def shared_products():
    """Sums of two products, one of which all have, and the variable of the others."""
    x, y = te.var("x"), te.var("y")
    common = x * 3
    return [common + y * n for n in range(2, 6)] + [common - common], y


def program(values):
    A = tir.decl_buffer((8,), "int32", "A")
    return tir.seq(*(tir.BufferStore(A, value, (const(n),)) for n, value in enumerate(values)))


class Doubling:
    """Puts `2 * y` in the place of `y`, and counts what it looks at."""

    def __init__(self, y):
        self.y, self.seen = y, Counter()

    def __call__(self, node):
        self.seen[id(node)] += 1
        return super().__call__(node)

    def Var(self, var):
        return var * 2 if var is self.y else var


def test_what_a_sparse_rewriter_leaves_is_left_at_once_the_next_time():
    values, y = shared_products()
    body = program(values)

    class Plain(Doubling, Rewriter):
        pass

    class Sparse(SparseRewriter):
        looked = 0

        def Var(self, var):
            Sparse.looked += 1
            return var * 2 if var is y else var

    result = Sparse()(body)
    assert_structural_equal(result, Plain(y)(body), map_free_vars=False)
    assert Sparse.looked == 1 + 4  # x once, and y, which changes, in each sum
    assert Sparse()(program(values[-1:])).value is values[-1]


def test_rewriting_from_the_bottom_up_asks_about_a_shared_node_once():
    values, y = shared_products()
    asked = []

    def double(var):
        asked.append(var)
        return var * 2 if var is y else var

    result = rewrite(program(values), {Var: double})
    assert sum(var is y for var in asked) == 4
    assert len(asked) == 5
    assert [store.value.a for store in result.seq[:4]] == [values[0].a] * 4


@pytest.mark.parametrize("kind", [Add, Mul, Var, tir.BufferStore, tir.SeqStmt])
def test_nodes_of_a_class_are_found_once_each(kind):
    values, _ = shared_products()
    for body in (program(values), program(values[:2])):  # also after another program
        found = nodes_of(body, kind)
        assert len(set(map(id, found))) == len(found)
        assert set(map(id, found)) == {id(n) for n in walk(body) if type(n) is kind}
        assert nodes_of(body, kind) is found
