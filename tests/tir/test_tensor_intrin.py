"""Registering tensor intrinsics."""

import pytest

from tilewright import tir
from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError
from tilewright.script import from_source
from tilewright.script import tir as T
from tilewright.tir import TensorIntrin


@T.prim_func
def double_desc(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        for i in range(4):
            with T.block("double"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)


@T.prim_func
def double_impl(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        B[0:4] = A[0:4] + A[0:4]


@T.prim_func
def wrong_impl(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        B[0:4] = A[0:4] + T.Broadcast(T.float32(2), 4)


@pytest.fixture(autouse=True)
def _unregister():
    yield
    TensorIntrin._registered.pop("test.double", None)


def variant(text):
    return from_source(f"from tilewright.script import tir as T\n@T.prim_func\n{text}")


def test_an_intrinsic_is_registered_and_found():
    intrinsic = TensorIntrin.register("test.double", double_desc, double_impl, verify=True)
    assert TensorIntrin.get("test.double") is intrinsic
    assert tir.TensorIntrin is TensorIntrin
    assert intrinsic.desc is double_desc
    assert intrinsic.impl is double_impl


def test_a_name_is_taken_once():
    TensorIntrin.register("test.double", double_desc, double_impl)
    with pytest.raises(ArgumentValueError, match=r"there is an intrinsic 'test.double' already"):
        TensorIntrin.register("test.double", double_desc, double_impl)
    other = TensorIntrin.register("test.double", double_desc, double_desc, override=True)
    assert TensorIntrin.get("test.double") is other


def test_an_unknown_name():
    assert TensorIntrin.get("test.double", allow_missing=True) is None
    with pytest.raises(UnknownNameError, match=r"there is no tensor intrinsic 'test.double'"):
        TensorIntrin.get("test.double")


def test_an_implementation_that_computes_something_else_is_found_out():
    with pytest.raises(ArgumentValueError, match=r"differs from the description: B\[0\] is"):
        TensorIntrin.register("test.double", double_desc, wrong_impl, verify=True)
    assert TensorIntrin.get("test.double", allow_missing=True) is None
    TensorIntrin.register("test.double", double_desc, wrong_impl)


def test_what_is_no_intrinsic_is_refused():
    with pytest.raises(ArgumentError, match="the name is a string"):
        TensorIntrin.register(3, double_desc, double_impl)
    with pytest.raises(ArgumentError, match="the description is a PrimFunc"):
        TensorIntrin.register("test.double", None, double_impl)


PAIR = 'def func(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
BODY = "  with T.block('root'):\n    B[0] = A[0]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def func(A: T.Buffer((4,), 'float32')):\n"
            "  with T.block('root'):\n    A[0] = T.float32(0)",
            "has 2 buffers, the implementation 1",
        ),
        (
            "def func(A: T.Buffer((4,), 'float32'), n: T.int32):\n"
            "  with T.block('root'):\n    A[0] = T.float32(0)",
            "parameter n of the implementation is not a buffer of constant shape",
        ),
        (
            "def func(a: T.handle, b: T.handle):\n  n = T.int32()\n"
            "  A = T.match_buffer(a, (n,))\n  B = T.match_buffer(b, (n,))\n"
            "  with T.block('root'):\n    B[0] = A[0]",
            "parameter a of the implementation is not a buffer of constant shape",
        ),
        (
            PAIR.replace("4,", "5,") + BODY,
            r"A of the description is float32 of shape \(4",
        ),
        (PAIR.replace("float32", "float16") + BODY, "implementation is float16"),
        (
            PAIR + "  with T.block('root'):\n    A[0] = B[0]",
            r"the implementation writes A\[0\], which is more",
        ),
        (
            PAIR + "  with T.block('root'):\n    T.reads(A[0:4])\n    T.evaluate(0)",
            "does not write all that the description writes",
        ),
        (
            PAIR + "  with T.block('root'):\n    T.reads(A[0:5])\n    T.writes(B[0:4])\n"
            "    T.evaluate(0)",
            r"the implementation reads A\[0:5\], which is more",
        ),
    ],
)
def test_an_implementation_of_another_form_is_refused(text, message):
    with pytest.raises(ArgumentValueError, match=message):
        TensorIntrin.register("test.double", double_desc, variant(text))


def test_a_lowered_function_is_refused():
    import tilewright as tvm

    lowered = tvm.lower(double_impl)["main"]
    with pytest.raises(ArgumentValueError, match="the body of the implementation is not a block"):
        TensorIntrin.register("test.double", double_desc, lowered)
