"""The number of arithmetic operations of a program."""

from __future__ import annotations

import pytest

from tilewright import te
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.module import IRModule
from tilewright.script import from_source
from tilewright.te import create_prim_func
from tilewright.tir.analysis import estimate_tir_flops


def function(body):
    text = "\n".join("    " + line for line in body.split("\n"))
    return from_source(f"""
@T.prim_func
def f(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"), n: T.int32):
{text}
""")


def matmul_exp_matmul(m, n, k, l):
    a, b, e = (te.placeholder(s, name=x) for s, x in (((m, k), "A"), ((k, l), "B"), ((l, n), "E")))
    rk, rl = te.reduce_axis((0, k)), te.reduce_axis((0, l))
    c = te.compute((m, l), lambda i, j: te.sum(a[i, rk] * b[rk, j], rk))
    d = te.compute((m, l), lambda i, j: te.exp(c[i, j]))
    f = te.compute((m, n), lambda i, j: te.sum(d[i, rl] * e[rl, j], rl))
    return create_prim_func([a, b, e, f])


def test_a_multiply_add_counts_two_and_exp_nothing():
    func = matmul_exp_matmul(1024, 3072, 2048, 1024)
    assert estimate_tir_flops(func) == 10737418240
    assert estimate_tir_flops(IRModule.from_expr(func)) == 10737418240


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("for i in range(8):\n    C[i + 1] = A[i * 2] + A[i]", 8),
        ("for i, j in T.grid(4, 3):\n    C[i] = T.max(C[i] - A[j], 0.0) / 3.0", 36),
        ("for i in range(8):\n    C[i] = T.Select(i + 1 < 4, A[i] * 2.0, 0.0)", 8),
        ("for i in range(8):\n    C[i] = T.if_then_else(i + 1 < 4, A[i] * A[i] + 1.0, A[0])", 16),
        (
            "for i in range(8):\n    if i < 4:\n        C[i] = A[i] + 1.0\n"
            "    else:\n        C[i] = A[i] * 2.0 + 1.0",
            16,
        ),
        ("for i in range(8):\n    for j in range(i + 1):\n        C[i] = C[i] + A[j]", 64),
        ("for i in range(T.min(n, 8)):\n    C[i] = A[i] + 1.0", 8),
        ("C[T.ramp(0, 1, 4)] = A[T.ramp(0, 1, 4)] * A[T.ramp(4, 1, 4)]", 4),
    ],
)
def test_what_counts(body, count):
    assert estimate_tir_flops(function(body)) == count


def test_an_attribute_overrides_the_count():
    func = function("for i in range(n):\n    C[i] = A[i] + 1.0")
    assert estimate_tir_flops(func.with_attr("estimated_flops", 12)) == 12


def test_what_cannot_be_counted():
    with pytest.raises(ArgumentValueError, match="extent n of loop i is not bounded"):
        estimate_tir_flops(function("for i in range(n):\n    C[i] = A[i] + 1.0"))
    with pytest.raises(ArgumentValueError, match="iterations of `while`"):
        estimate_tir_flops(function("while A[0] < 1.0:\n    C[0] = A[0] + 1.0"))
    with pytest.raises(ArgumentError, match="expected a module"):
        estimate_tir_flops(3)


def test_a_deep_expression_is_counted():
    from tilewright import te

    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: sum((A[i] for _ in range(1500)), A[i]))
    assert estimate_tir_flops(te.create_prim_func([A, B])) == 4 * 1500
