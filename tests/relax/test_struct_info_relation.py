"""How pieces of struct info relate."""

import pytest
from tests.relax.builders import array

from tilewright import relax
from tilewright.ir import Var as Size
from tilewright.ir import VDevice, structural_equal
from tilewright.relax import analysis
from tilewright.relax.analysis import BaseCheckResult as Result
from tilewright.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

N, M = Size("n", "int64"), Size("m", "int64")
ANY = ObjectStructInfo()
RANK_2 = TensorStructInfo(ndim=2, dtype="float32")


def on_device(target):
    return TensorStructInfo((2,), "float32", VDevice(target))


CHECKS = [
    (ANY, array(2), Result.PASS),
    (array(2), ANY, Result.FAIL_L1),
    (array(2), ShapeStructInfo([2]), Result.FAIL_L0),
    (array(N, 2), array(N, 2), Result.PASS),
    (array(N * 2), array(N + N), Result.PASS),
    (array(N), array(M), Result.FAIL_L2),
    (array(N), array(N + 1), Result.FAIL_L0),
    (array(2), array(3), Result.FAIL_L0),
    (array(2), array(2, 2), Result.FAIL_L0),
    (RANK_2, array(N, 2), Result.PASS),
    (array(N, 2), RANK_2, Result.FAIL_L1),
    (array(2), array(2, dtype="int32"), Result.FAIL_L0),
    (TensorStructInfo((2,)), array(2), Result.PASS),
    (array(2), TensorStructInfo((2,)), Result.FAIL_L1),
    (on_device("llvm"), on_device("llvm"), Result.PASS),
    (on_device("llvm"), on_device("c"), Result.FAIL_L0),
    (array(2), on_device("llvm"), Result.PASS),
    (on_device("llvm"), array(2), Result.FAIL_L1),
    (ShapeStructInfo(ndim=2), ShapeStructInfo([N, 2]), Result.PASS),
    (ShapeStructInfo([N, 2]), ShapeStructInfo([N, 3]), Result.FAIL_L0),
    (PrimStructInfo("int64"), PrimStructInfo("int64", N), Result.PASS),
    (PrimStructInfo("int64", 3), PrimStructInfo("int64", 4), Result.FAIL_L0),
    (PrimStructInfo("int64"), PrimStructInfo("float32"), Result.FAIL_L0),
    (TupleStructInfo([ANY, array(2)]), TupleStructInfo([array(1), array(2)]), Result.PASS),
    (TupleStructInfo([array(2)]), TupleStructInfo([array(2), array(2)]), Result.FAIL_L0),
    (FuncStructInfo([array(2)], ANY), FuncStructInfo([ANY], array(2)), Result.PASS),
    (FuncStructInfo([ANY], ANY), FuncStructInfo([array(2)], ANY), Result.FAIL_L1),
    (FuncStructInfo([], ANY), FuncStructInfo([], ANY, purity=False), Result.FAIL_L0),
    (FuncStructInfo([ANY], ANY), FuncStructInfo([ANY, ANY], ANY), Result.FAIL_L0),
]


@pytest.mark.parametrize(("base", "derived", "expected"), CHECKS)
def test_whether_one_may_be_used_as_the_other(base, derived, expected):
    assert analysis.struct_info_base_check(base, derived) is expected


COMMON = [
    (array(2), array(2), array(2)),
    (array(2), array(3), TensorStructInfo(ndim=1, dtype="float32")),
    (array(N, 2), array(N, 2, dtype="int8"), TensorStructInfo((N, 2))),
    (array(2), array(2, 2), TensorStructInfo(dtype="float32")),
    (array(2), ShapeStructInfo([2]), ANY),
    (ShapeStructInfo([N]), ShapeStructInfo([M]), ShapeStructInfo(ndim=1)),
    (PrimStructInfo("int64", 1), PrimStructInfo("int64", 2), PrimStructInfo("int64")),
    (
        TupleStructInfo([array(2), ANY]),
        TupleStructInfo([array(3), array(1)]),
        TupleStructInfo([TensorStructInfo(ndim=1, dtype="float32"), ANY]),
    ),
    (TupleStructInfo([ANY]), TupleStructInfo([ANY, ANY]), ANY),
    (
        FuncStructInfo([array(2)], array(2)),
        FuncStructInfo([array(2)], array(3), purity=False),
        FuncStructInfo([array(2)], TensorStructInfo(ndim=1, dtype="float32"), purity=False),
    ),
]


@pytest.mark.parametrize(("a", "b", "expected"), COMMON)
def test_what_two_have_in_common(a, b, expected):
    for one, other in ((a, b), (b, a)):
        common = analysis.struct_info_lca(one, other)
        assert structural_equal(common, expected)
        assert analysis.struct_info_base_check(common, one) is Result.PASS
        assert analysis.struct_info_base_check(common, other) is Result.PASS


def test_what_remains_outside_of_a_scope():
    shape = relax.Var("s", ShapeStructInfo(ndim=1))
    info = TupleStructInfo(
        [
            array(N, M),
            array(N),
            ShapeStructInfo([M]),
            PrimStructInfo("int64", M + 1),
            TensorStructInfo(shape, "float32"),
            FuncStructInfo([array(M)], array(M)),
        ]
    )
    expected = TupleStructInfo(
        [
            RANK_2,
            array(N),
            ShapeStructInfo(ndim=1),
            PrimStructInfo("int64"),
            TensorStructInfo(ndim=1, dtype="float32"),
            FuncStructInfo([array(M)], array(M)),
        ]
    )
    assert structural_equal(analysis.erase_to_well_defined(info, lambda size: size is N), expected)
    assert analysis.erase_to_well_defined(info, lambda _: True, lambda _: True) is info


def test_the_static_type_has_no_extents():
    info = TupleStructInfo([array(N, 2), PrimStructInfo("int64", N), ShapeStructInfo([N])])
    expected = TupleStructInfo([RANK_2, PrimStructInfo("int64"), ShapeStructInfo(ndim=1)])
    assert structural_equal(analysis.get_static_type(info), expected)


def signature(params, ret, **options):
    return FuncStructInfo(params, ret, **options)


K = Size("k", "int64")
SIGNATURES = [
    (signature([array(N)], array(N)), signature([array(M)], array(M)), Result.PASS),
    (signature([array(N)], array(N + 1)), signature([array(M)], array(M)), Result.FAIL_L0),
    (signature([array(4)], array(8)), signature([array(M)], array(M * 2)), Result.PASS),
    (signature([array(4)], array(8)), signature([array(M)], array(M)), Result.FAIL_L0),
    (signature([array(N)], array(N)), signature([array(4)], array(4)), Result.FAIL_L2),
    (signature([array(N, N)], ANY), signature([array(M, K)], ANY), Result.PASS),
    (signature([array(N, M)], ANY), signature([array(K, K)], ANY), Result.FAIL_L2),
    (signature([array(N + 1)], array(N)), signature([array(M + 1)], array(M)), Result.PASS),
    (signature([array(N)], array(N)), signature([array(N + 1)], array(N + 1)), Result.PASS),
    (signature([array(N)], array(N)), signature([array(N + 1)], array(N)), Result.FAIL_L0),
    (signature([array(N)], array(K)), signature([array(M)], array(K)), Result.PASS),
    (signature([array(N)], array(K)), signature([array(M)], array(M)), Result.FAIL_L2),
    (signature(None, array(K)), signature([array(K)], array(K)), Result.FAIL_L1),
    (signature(None, RANK_2), signature([array(K)], array(K, K)), Result.PASS),
    (signature(None, ANY, derive_func="f"), signature(None, ANY, derive_func="f"), Result.PASS),
    (signature(None, ANY, derive_func="f"), signature(None, ANY), Result.FAIL_L1),
    (signature(None, ANY), signature(None, ANY, derive_func="f"), Result.PASS),
]


@pytest.mark.parametrize(("base", "derived", "expected"), SIGNATURES)
def test_the_sizes_of_a_signature_are_its_own(base, derived, expected):
    assert analysis.struct_info_base_check(base, derived) is expected


def test_what_two_signatures_have_in_common():
    first = signature([array(N)], array(N, N))
    common = analysis.struct_info_lca(first, signature([array(M)], array(M, 3)))
    assert structural_equal(common, signature([array(N)], RANK_2))
    common = analysis.struct_info_lca(first, signature([array(M, M)], array(M, M)))
    assert structural_equal(common, signature(None, RANK_2))
