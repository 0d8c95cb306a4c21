"""Making and rewriting nodes."""

from __future__ import annotations

from benchmarks.compiler.measure import Figure, scaled, seconds
from tilewright.ir import Add, IntImm, Mul, Rewriter, Var, structural_equal, walk
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Expr

NUMBER = 20_000


class RenameNothing(Rewriter):
    """Visits everything and changes nothing."""

    def Var(self, var: Var) -> Expr:
        return var


class ReplaceVariables(Rewriter):
    """Rebuilds every path to a variable."""

    def __init__(self, value: Expr) -> None:
        self._value = value

    def Var(self, var: Var) -> Expr:
        return self._value


def measure(repeat: int) -> list[Figure]:
    x, y = Var("x", INT32), Var("y", INT32)
    tree = balanced(x, 10)
    other = balanced(x, 10)
    nodes = sum(1 for _ in walk(tree))
    nothing, variables = RenameNothing(), ReplaceVariables(y)

    def per_node(function: object) -> list[float]:
        return scaled(seconds(function, repeat, 20), 1e6 / nodes)  # type: ignore[arg-type]

    return [
        Figure("new node: Add(x, y)", scaled(seconds(lambda: Add(x, y), repeat, NUMBER), 1e6),
               "us", 0.3),
        Figure("operator with promotion: x + y",
               scaled(seconds(lambda: x + y, repeat, NUMBER), 1e6), "us"),
        Figure("rewrite, nothing changes", per_node(lambda: nothing(tree)), "us/node", 0.2,
               f"{nodes} nodes"),
        Figure("rewrite, all changes", per_node(lambda: variables(tree)), "us/node"),
        Figure("walk", per_node(lambda: sum(1 for _ in walk(tree))), "us/node"),
        Figure("structural_equal", per_node(lambda: structural_equal(tree, other)), "us/node"),
    ]  # fmt: skip


def balanced(leaf: Expr, depth: int) -> Expr:
    """A tree of sums and products over a variable and constants."""
    if depth == 0:
        return Mul(leaf, IntImm(INT32, 3))
    return Add(balanced(leaf, depth - 1), balanced(leaf, depth - 1))
