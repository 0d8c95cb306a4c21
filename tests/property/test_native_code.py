"""Random programs mean the same as native code: printed, parsed, compiled, run and compared.

Programs whose floats are small whole numbers must agree to the last bit on every target. Those
with any floats must too where no fused multiply-add is at hand, since no step of compilation may
change the order of a sum. Where it is, a product that is not rounded makes a difference, which
the last test bounds.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts import count_program
from tests.property.compiled import (
    check_compiled,
    needs_c_compiler,
    processors,
    share,
)
from tests.property.kernels import kernels
from tests.property.nests import nests
from tests.property.programs import Features, programs
from tests.tir.transform.programs import matmul

import tilewright as tvm
from tilewright.tir import ForKind

pytestmark = pytest.mark.budget(4)

ALL = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
       "float16", "bfloat16", "float32", "float64")  # fmt: skip
SMALL_NUMBERS = Features(dtypes=ALL, largest=17, stages=4)
ANY_FLOAT = SMALL_NUMBERS._replace(exact=False)
PROCESSORS = st.sampled_from(processors())


@share(40)
@given(programs(SMALL_NUMBERS))
def test_programs(program):
    check_compiled(program, "llvm")


@share(40)
@given(programs(ANY_FLOAT), PROCESSORS)
def test_programs_with_any_floats(program, target):
    check_compiled(program, target)


@needs_c_compiler
@share(12)
@given(programs(ANY_FLOAT))
def test_programs_in_c(program):
    check_compiled(program, "c")


@share(40)
@given(kernels(), PROCESSORS)
def test_expressions(program, target):
    check_compiled(program, target, printed=False)


@needs_c_compiler
@share(12)
@given(kernels())
def test_expressions_in_c(program):
    check_compiled(program, "c", printed=False)


@share(80)
@given(nests(), PROCESSORS)
def test_loops_with_any_dependences(program, target):
    check_compiled(program, target, printed=False)


@needs_c_compiler
@share(12)
@given(nests())
def test_loops_with_any_dependences_in_c(program):
    check_compiled(program, "c", printed=False)


@st.composite
def tiled_products(draw):
    """Matrix products of any shape, with any tiles, order and kinds of loops."""
    shape = draw(st.tuples(*[st.sampled_from([1, 3, 7, 8, 16, 17, 20, 33])] * 3))
    tiles = draw(st.tuples(*[st.sampled_from([1, 2, 3, 4, 6, 8, 16])] * 3))
    order = draw(st.permutations(["m0", "n0", "k0", "m1", "n1", "k1"]))
    serial = (ForKind.SERIAL, ForKind.UNROLLED)
    kinds = {
        "m1": draw(st.sampled_from(serial)),
        "k1": draw(st.sampled_from(serial)),
        "n1": draw(st.sampled_from([*serial, ForKind.VECTORIZED])),
    }
    if not order[0].startswith("k"):
        kinds.setdefault(order[0], draw(st.sampled_from([ForKind.SERIAL, ForKind.PARALLEL])))
    return shape, matmul(*shape, tiles, order, kinds).with_attr("global_symbol", "main")


@share(40)
@given(tiled_products(), st.integers(0, 100))
def test_products_are_as_exact_as_sums_in_order(case, seed):
    (m, n, k), func = case
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(s).astype("float32") for s in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, "float32")
    tvm.build(func, target="llvm")["main"](a, b, c)
    exact = a.astype("float64") @ b
    # N. Higham, Accuracy and Stability of Numerical Algorithms, 3.1: a sum of k products in any
    # order, each rounded at most once.
    bound = (k + 1) * np.finfo("float32").eps / 2 * (abs(a).astype("float64") @ abs(b))
    assert (abs(c - exact) <= bound).all()
    count_program("matrix products")
