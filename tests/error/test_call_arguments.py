"""Wrong arguments of compiled functions: each is refused, by name, and nothing crashes."""

import ml_dtypes
import numpy as np
import pytest
from tests.runtime.programs import add_one, copy_between, prim_func, scaled, transposed_sum

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import (
    AllocationError,
    ArgumentError,
    ArgumentValueError,
    ProgramAssertionError,
    TVMError,
)

A, B, C = np.zeros((5, 7), "f4"), np.zeros((7, 5), "f4"), np.zeros((5, 7), "f4")


AS_WRITTEN = tvm.transform.PassContext(config={"tir.default_schedule": False})
"""With the workspaces that the programs have."""


def misaligned():
    return np.zeros(5 * 7 * 4 + 1, np.uint8)[1:].view("f4").reshape(5, 7)


def frozen():
    values = C.copy()
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), ArgumentError, r"main: expected 3 arguments \(A, B, C\), got 0"),
        ((A, B), ArgumentError, r"main: expected 3 arguments \(A, B, C\), got 2"),
        ((A, B, C, C), ArgumentError, "got 4"),
        ((A, B, None), ArgumentError, r"argument 3 \(C\): expected an array, got None"),
        ((A, 3, C), ArgumentError, r"argument 2 \(B\): expected an array, got an int"),
        ((A, 2.5, C), ArgumentError, "expected an array, got a float"),
        ((A, True, C), ArgumentError, "expected an array, got a bool"),
        ((A, "B", C), ArgumentError, "expected an array, got a string"),
        ((A, b"bytes that are long", C), ArgumentError, "expected an array, got bytes"),
        (([1.0], B, C), ArgumentError, r"argument 1 \(A\): expected an array, got a list"),
        (({}, B, C), ArgumentError, "expected an array, got a dict"),
        ((object(), B, C), ArgumentError, "expected an array, got a Python object"),
        ((len, B, C), ArgumentError, "expected an array, got a function"),
        ((2**70, B, C), ArgumentError, "got an int of more than 64 bits"),
        ((tvm.cpu(), B, C), ArgumentError, "expected an array, got a device"),
        ((A, B.astype("f8"), C), ArgumentError, r"\(B\): .* dtype float32, got float64"),
        ((A, B.astype("i4"), C), ArgumentError, "dtype float32, got int32"),
        ((A, B.astype("u2"), C), ArgumentError, "dtype float32, got uint16"),
        ((A, B.astype(bool), C), ArgumentError, "dtype float32, got bool"),
        ((A, B.astype("c8"), C), ArgumentError, "dtype float32, got complex64"),
        ((A, B.astype(ml_dtypes.bfloat16), C), ArgumentError, "dtype float32, got bfloat16"),
        ((A, tvm.nd.empty((7, 5), "float32x4"), C), ArgumentError, "got float32x4"),
        ((A, B.astype(">f4"), C), ArgumentError, r"argument 2 \(B\): .*byte order"),
        ((A, B.astype("M8[s]"), C), ArgumentError, r"argument 2 \(B\): .*datetime64"),
        ((A, B.astype(object), C), ArgumentError, r"argument 2 \(B\): .*object"),
        ((A, B[0], C), ArgumentValueError, r"\(B\): expected 2 dimensions, got 1"),
        ((A, B[None], C), ArgumentValueError, r"\(B\): expected 2 dimensions, got 3"),
        ((A, np.float32(1), C), ArgumentError, r"\(B\): expected an array"),
        ((A, B[:6], C), ArgumentValueError, r"\(B\): shape\[0\] is 6, expected 7$"),
        (
            (A, np.zeros((7, 4), "f4"), C), ArgumentValueError,
            r"main: argument 2 \(B\): shape\[1\] is 4, expected 5 \(n, from argument 1\)",
        ),
        ((A[:0], B, C), ArgumentValueError, r"\(B\): shape\[1\] is 5, expected 0"),
        ((A, np.zeros((5, 7), "f4").T, C), ArgumentValueError, r"\(B\): .* not contiguous"),
        ((A, np.zeros((14, 5), "f4")[::2], C), ArgumentValueError, "numpy.ascontiguousarray"),
        ((A, B[::-1], C), ArgumentValueError, "not contiguous"),
        ((A, np.broadcast_to(np.float32(0), (7, 5)).view(), C), ArgumentValueError, "contiguous"),
        ((A, B, frozen()), ArgumentValueError, r"argument 3 \(C\): .* read-only, and it is writt"),
        ((misaligned(), B, C), ArgumentValueError, r"argument 1 \(A\): .* not a multiple of 4"),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        transposed_sum()(*arguments)
    assert isinstance(caught.value, TVMError)
    assert isinstance(caught.value, (ValueError, TypeError))


def test_an_array_on_another_device():
    array = tvm.nd.empty((5, 7))
    elsewhere = moved(array, 2)
    with pytest.raises(
        ArgumentValueError, match=r"argument 1 \(A\): .* is on cuda\(0\), and .* runs on cpu"
    ):
        transposed_sum()(elsewhere, B, C)


def moved(array, device_type):
    """`array`, with a descriptor that places it on a device of another type."""
    import ctypes

    from tilewright.runtime import dlpack

    header = array.__chandle__() + 24
    dlpack.DLTensor.from_address(header).device.device_type = device_type
    assert ctypes.sizeof(dlpack.DLTensor) == 48
    return array


@pytest.mark.parametrize(
    ("dtype", "value", "error", "message"),
    [
        (
            "int32",
            2**31,
            ArgumentValueError,
            r"argument 2 \(k\): 2147483648 is not a value of dtype",
        ),
        ("int32", -(2**31) - 1, ArgumentValueError, "not a value of dtype int32"),
        ("int8", 128, ArgumentValueError, "128 is not a value of dtype int8"),
        ("uint8", -1, ArgumentValueError, "-1 is not a value of dtype uint8"),
        ("uint64", -1, ArgumentValueError, "-1 is not a value of dtype uint64"),
        ("bool", 2, ArgumentValueError, "2 is not a value of dtype bool"),
        ("int64", 2**63, ArgumentError, "expected an int, got an int of more than 64 bits"),
        ("int32", 2.0, ArgumentError, r"main: argument 2 \(k\): expected an int, got a float"),
        ("int32", None, ArgumentError, "expected an int, got None"),
        ("bool", 0.0, ArgumentError, "expected a bool, got a float"),
        ("float32", "1.0", ArgumentError, "expected a float, got a string"),
        ("float32", A, ArgumentError, "expected a float, got an array"),
    ],
)
def test_wrong_scalars(dtype, value, error, message):
    with pytest.raises(error, match=message):
        scaled(dtype)(np.zeros(2), value, np.zeros(2))


def test_the_order_of_arguments_does_not_matter_for_sizes():
    n = te.var("n")
    source, target = tir.decl_buffer((n * 2,), "int32", "A"), tir.decl_buffer((n,), "int32", "B")
    module = tvm.build(copy_between(source, target, n), target="llvm")
    values, copied = np.arange(6, dtype="i4"), np.zeros(3, "i4")
    module(values, copied)
    assert copied.tolist() == [0, 1, 2]
    message = r"argument 1 \(A\): shape\[0\] is 5, expected 6 \(n \* 2, from argument 2\)"
    with pytest.raises(ArgumentValueError, match=message):
        module(values[:5], copied)


def test_a_size_may_be_an_argument():
    n = te.var("n")
    source, target = tir.decl_buffer((n,), "int32", "A"), tir.decl_buffer((n,), "int32", "B")
    function = copy_between(source, target, n)
    handles = list(function.params)
    module = tvm.build(function.replace(params=(*handles, n)), target="llvm")
    copied = np.zeros(3, "i4")
    module(np.arange(3, dtype="i4"), copied, 3)
    assert copied.tolist() == [0, 1, 2]
    with pytest.raises(ArgumentValueError, match=r"expected 4 \(n, from argument 3\)"):
        module(np.arange(3, dtype="i4"), copied, 4)


def strided_copy(**options):
    n, stride = te.var("n"), te.var("stride")
    source = tir.decl_buffer((n,), "int32", "A", strides=(stride,), **options)
    target = tir.decl_buffer((n,), "int32", "B")
    return tvm.build(copy_between(source, target, n), target="llvm")


def test_declared_strides_are_followed():
    values, copied = np.arange(10, dtype="i4"), np.zeros(3, "i4")
    for view in (values[1:9:3], values[8:2:-2], values[:3], np.broadcast_to(values[4:5], 3)):
        strided_copy()(view, copied)
        assert copied.tolist() == view.tolist()


def test_a_declared_stride_is_checked():
    source = tir.decl_buffer((4,), "int32", "A", strides=(2,))
    target = tir.decl_buffer((4,), "int32", "B")
    module = tvm.build(copy_between(source, target, 4), target="llvm")
    values, copied = np.arange(8, dtype="i4"), np.zeros(4, "i4")
    module(values[::2], copied)
    assert copied.tolist() == [0, 2, 4, 6]
    with pytest.raises(ArgumentValueError, match=r"\(A\): strides\[0\] is 1, expected 2"):
        module(values[:4], copied)


def test_the_stride_of_a_dimension_of_one_element_does_not_matter():
    n = te.var("n")
    source = tir.decl_buffer((n,), "int32", "A", strides=(3,))
    target = tir.decl_buffer((n,), "int32", "B", strides=(5,))
    module = tvm.build(copy_between(source, target, n), target="llvm")
    values, copied = np.arange(2, dtype="i4"), np.zeros(2, "i4")
    module(values[1:], copied[1:])
    assert copied.tolist() == [0, 1]
    module(values[:0], copied[:0])
    with pytest.raises(ArgumentValueError, match=r"\(A\): strides\[0\] is 1, expected 3"):
        module(values, copied)


def test_a_promised_alignment_is_checked():
    source = tir.decl_buffer((4,), "int32", "A", data_alignment=64)
    target = tir.decl_buffer((4,), "int32", "B")
    module = tvm.build(copy_between(source, target, 4), target="llvm")
    array = tvm.nd.array(np.arange(8, dtype="i4"))
    module(array._create_view((4,)), np.zeros(4, "i4"))
    with pytest.raises(ArgumentValueError, match="not a multiple of 64 bytes"):
        module(array._create_view((4,), relative_byte_offset=16), np.zeros(4, "i4"))


def test_a_size_that_int32_cannot_hold():
    huge = np.broadcast_to(np.int32(0), (2**31,))
    writable = np.lib.stride_tricks.as_strided(np.zeros(1, "i4"), (2**31,), (0,))
    with pytest.raises(ArgumentValueError, match=r"shape\[0\] is 2147483648, no value of n"):
        strided_copy()(huge, np.zeros(3, "i4"))
    with pytest.raises(ArgumentValueError, match=r"shape\[0\] is 2147483648, no value of n"):
        strided_copy()(writable, np.zeros(3, "i4"))


def test_more_elements_than_int32_can_count():
    m, n = te.var("m"), te.var("n")
    source = tir.decl_buffer((m, n), "int8", "A")
    body = source.vstore((0, 0), tir.const(1, "int8"))
    module = tvm.build(prim_func([source], body), target="llvm")
    try:
        values = np.zeros((2**16, 2**15), np.int8)
    except MemoryError:
        pytest.skip("not enough memory for the array")
    with pytest.raises(ArgumentValueError, match="2147483648 elements, more than int32 sizes"):
        module(values)


def test_elements_further_apart_than_int32_can_count():
    m, n, step = te.var("m"), te.var("n"), te.var("step")
    source = tir.decl_buffer((m, n), "int8", "A", strides=(step, 1))
    body = source.vstore((0, 0), tir.const(1, "int8"))
    module = tvm.build(prim_func([source], body), target="llvm")
    memory = np.zeros(4, np.int8)
    view = np.lib.stride_tricks.as_strided
    module(view(memory, (1, 4), (2**30, 1)))
    module(view(memory, (3, 0), (2**30, 1)))
    with pytest.raises(ArgumentValueError, match="is 2147483649 elements after the first"):
        module(view(memory, (3, 2), (2**30, 1)))


def test_empty_arrays_are_fine_wherever_they_are():
    transposed_sum()(np.zeros((0, 7), "f4"), np.zeros((7, 0), "f4"), np.zeros((0, 7), "f4"))
    with pytest.raises(ArgumentValueError, match=r"shape\[0\] is 0, expected 4"):
        add_one()(np.zeros(0, "f4"), np.zeros(4, "f4"))


def test_an_assertion_of_the_program():
    n = te.var("n")
    body = tir.AssertStmt(n > 3, tir.StringImm("n is too small"), tir.Evaluate(tir.const(0)))
    module = tvm.build(prim_func([n], body), target="llvm")
    module(4)
    with pytest.raises(ProgramAssertionError, match="n is too small"):
        module(3)
    with pytest.raises(AssertionError):
        module(3)


def test_an_error_that_the_program_raises():
    n = te.var("n")
    body = tir.IfThenElse(
        n > 3, tir.Evaluate(tir.raise_error("ValueError", "n is %lld", n.astype("int64")))
    )
    module = tvm.build(prim_func([n], body), target="llvm")
    module(3)
    with pytest.raises(ArgumentValueError, match="n is 4"):
        module(4)


def test_a_workspace_that_cannot_be_had():
    n = te.var("n", "int64")
    a = te.placeholder((1,), name="A")
    big = te.compute((n,), lambda i: a[0] + i.astype("float32"), name="big")
    total = te.compute((1,), lambda i: te.max(big[n - 1], big[0]), name="B")
    with AS_WRITTEN:
        module = tvm.build(te.create_schedule(total.op), [a, n, total], "llvm", name="main")
    result = np.zeros(1, "f4")
    module(np.ones(1, "f4"), 3, result)
    assert result[0] == 3
    with pytest.raises(AllocationError, match="main"):
        module(np.ones(1, "f4"), 2**50, result)
    with pytest.raises(MemoryError):
        module(np.ones(1, "f4"), 2**60, result)


def test_sizes_whose_product_overflows():
    n, m = te.var("n"), te.var("m")
    big = te.compute((n, m), lambda i, j: (i + j).astype("float32"), name="big")
    corner = te.compute((1,), lambda i: te.max(big[n - 1, m - 1], big[0, 0]), name="corner")
    with AS_WRITTEN:
        module = tvm.build(te.create_schedule(corner.op), [n, m, corner], "llvm", name="main")
    result = np.zeros(1, "f4")
    module(3, 4, result)
    assert result[0] == 5
    for sizes in ((2**31 - 1, 2**31 - 1), (2**16, 2**15), (2**16, 2**16)):
        with pytest.raises(AllocationError, match=r"workspace big of .* int32 sizes can count"):
            module(*sizes, result)
    assert result[0] == 5
