"""Arrays."""

import gc
import pickle

import ml_dtypes
import numpy as np
import pytest
import tvm_ffi

import tilewright as tvm
from tilewright.error import (
    AllocationError,
    ArgumentError,
    ArgumentValueError,
    DeviceError,
    DTypeError,
    ShapeError,
)
from tilewright.runtime.ndarray import alias

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "e4m3_float8", "e5m2_float8",
]  # fmt: skip


def numpy_dtype(name):
    return tvm.ir.DType(name).numpy


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 0, 3), (2, 3, 4)])
def test_round_trip_of_every_dtype(dtype, shape):
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(numpy_dtype(dtype))
    array = tvm.nd.array(values)
    assert array.dtype == dtype
    assert array.shape == shape
    assert array.device == tvm.cpu()
    assert not values.size or array.data_ptr() % 64 == 0
    assert array.numpy().dtype == values.dtype
    np.testing.assert_array_equal(array.numpy(), values)
    copy = pickle.loads(pickle.dumps(array))
    assert copy.dtype == dtype
    np.testing.assert_array_equal(copy.numpy(), values)


def test_array_copies_and_numpy_copies():
    values = np.zeros(3, np.float32)
    array = tvm.nd.array(values)
    values[:] = 1
    array.numpy()[:] = 2
    array.asnumpy()[:] = 2
    assert array.numpy().tolist() == [0, 0, 0]


def test_python_numbers():
    assert tvm.nd.array([1.5, 2]).dtype == "float32"
    assert tvm.nd.array([1, 2]).dtype == "int64"
    assert tvm.nd.array(True).dtype == "bool"
    assert tvm.nd.array(np.float64(2)).dtype == "float64"


def test_other_layouts_become_compact():
    values = np.arange(12, dtype="f4").reshape(3, 4)
    for view in (values.T, values[::2, ::-1], values.astype(">f4"), np.asfortranarray(values)):
        array = tvm.nd.array(view)
        assert array.is_contiguous()
        np.testing.assert_array_equal(array.numpy(), view)
    np.testing.assert_array_equal(tvm.nd.array(tvm.nd.array(values)).numpy(), values)


def test_vector_elements():
    array = tvm.nd.empty((2,), "float32x4")
    array[:] = 3
    assert array.numpy().shape == (2, 4)
    assert array.numpy().sum() == 24


def test_dlpack_shares_memory_both_ways():
    array = tvm.nd.array(np.arange(4, dtype="i4"))
    view = np.from_dlpack(array)
    array[1] = 9
    assert view.tolist() == [0, 9, 2, 3]
    source = np.arange(6.0).reshape(2, 3)
    shared = tvm.nd.from_dlpack(source)
    assert isinstance(shared, tvm.nd.NDArray)
    source[:] = 5
    assert shared.numpy().sum() == 30
    assert tvm.nd.from_dlpack(shared) is shared
    assert tvm.nd.from_dlpack(tvm_ffi.from_dlpack(source)).data_ptr() == shared.data_ptr()
    assert tvm.nd.from_dlpack(shared.to_dlpack()).data_ptr() == shared.data_ptr()
    assert shared.__dlpack_device__() == (1, 0)


def test_other_tensors_of_the_process_keep_their_class():
    tvm.nd.array([1.0])
    assert type(tvm_ffi.from_dlpack(np.zeros(2))) is tvm_ffi.Tensor


def test_strided_memory_is_understood():
    values = np.arange(24, dtype="i8").reshape(4, 6)
    shared = tvm.nd.from_dlpack(values[1::2, ::3])
    np.testing.assert_array_equal(shared.numpy(), values[1::2, ::3])
    shared[:] = -1
    assert (values[1::2, ::3] == -1).all()
    assert values.sum() == np.arange(24).sum() - (6 + 9 + 18 + 21) - 4


def test_a_view_keeps_the_memory_alive():
    view = tvm.nd.array(np.full(1 << 16, 7, np.int32))._create_view((4, 4), relative_byte_offset=64)
    scratch = [np.zeros(1 << 16, np.int32) for _ in range(8)]
    gc.collect()
    assert (view.numpy() == 7).all()
    assert len(scratch) == 8


def test_a_view_with_another_dtype():
    array = tvm.nd.array(np.array([1, 2], np.float32))
    bits = array._create_view((4,), "uint16", 0)
    np.testing.assert_array_equal(bits.numpy(), np.array([1, 2], np.float32).view(np.uint16))
    with pytest.raises(ArgumentValueError, match="8 bytes from byte 4 do not lie inside"):
        array._create_view((2,), relative_byte_offset=4)
    with pytest.raises(ArgumentValueError, match="compact"):
        tvm.nd.from_dlpack(np.zeros((4, 4))[:, ::2])._create_view((2,))


def test_copies_between_arrays():
    source = tvm.nd.array(np.arange(3, dtype="f4"))
    target = tvm.nd.empty((3,), "int32")
    assert source.copyto(target) is target
    assert target.numpy().tolist() == [0, 1, 2]
    assert source.copyto(tvm.cpu()).numpy().tolist() == [0, 1, 2]
    assert target.copyfrom([4, 5, 6]).numpy().tolist() == [4, 5, 6]
    assert source.same_as(source)
    assert not source.same_as(source.copyto(tvm.cpu()))


def test_indexing_copies_out_and_writes_in():
    array = tvm.nd.array(np.arange(6, dtype="i4").reshape(2, 3))
    row = array[1]
    row[:] = 0
    assert array[1, 2] == 5
    array[:, 1] = [7, 8]
    array[0] = tvm.nd.array([1, 2, 3])
    assert array.numpy().tolist() == [[1, 2, 3], [3, 8, 5]]
    assert len(array) == 2
    with pytest.raises(ArgumentError, match="no length"):
        len(tvm.nd.empty(()))


def test_numpy_functions_take_arrays():
    array = tvm.nd.array(np.arange(4, dtype=ml_dtypes.bfloat16))
    assert np.asarray(array, dtype="f4").sum() == 6
    tvm.testing.assert_allclose(array, np.arange(4))
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose(array, np.arange(4) + 1)
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose(tvm.nd.array([1.0, 1.0]), 1.0)


def test_printing():
    text = repr(tvm.nd.array(np.array([1, 2], np.int16)))
    assert text.startswith("<tilewright.nd.NDArray shape=(2,) dtype=int16 cpu(0)>\narray([1, 2]")
    assert str(tvm.nd.array([1, 2])) == "[1 2]"


def test_alias_of_memory_that_numpy_does_not_export():
    values = np.arange(6, dtype=ml_dtypes.bfloat16).reshape(2, 3).T
    array = alias(values)
    assert array.dtype == "bfloat16"
    values[0, 1] = 9
    np.testing.assert_array_equal(array.numpy(), values)
    frozen = np.arange(3)
    frozen.flags.writeable = False
    assert alias(frozen).data_ptr() == frozen.ctypes.data


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tvm.nd.empty((2**50,)), AllocationError, "4503599627370496 bytes"),
        (lambda: tvm.nd.empty((2**62, 2**62)), AllocationError, "no memory for an array"),
        (lambda: tvm.nd.empty((2**80, 0, 2**80), "int8"), AllocationError, "no memory"),
        (lambda: tvm.nd.empty((3, -1)), ShapeError, r"at least 0, got \(3, -1\)"),
        (lambda: tvm.nd.empty((1,) * 65), ShapeError, "at most 64 dimensions"),
        (lambda: tvm.nd.empty((2.5,)), ArgumentError, "tuple of integers"),
        (lambda: tvm.nd.empty("ab"), ArgumentError, "tuple of integers"),
        (lambda: tvm.nd.empty((2,), "complex64"), DTypeError, "unknown dtype 'complex64'"),
        (lambda: tvm.nd.empty((2,), "handle"), DTypeError, "elements of dtype handle"),
        (lambda: tvm.nd.empty((2,), "int4"), DTypeError, "elements of dtype int4"),
        (lambda: tvm.nd.empty((2,), device=tvm.metal()), DeviceError, "no such device"),
        (lambda: tvm.nd.empty((2,), device=tvm.cpu(3)), ArgumentValueError, "one CPU device"),
        (lambda: tvm.nd.empty((2,), device=7), ArgumentError, "expected a device"),
        (lambda: tvm.nd.empty((2,), mem_scope="texture"), ArgumentValueError, "memory scope"),
        (lambda: tvm.nd.array("text"), ArgumentError, "array of numbers, got 'text'"),
        (lambda: tvm.nd.array([[1], [1, 2]]), ArgumentError, "array of numbers"),
        (lambda: tvm.nd.array([object()]), ArgumentError, "array of numbers"),
        (lambda: tvm.nd.array([2**70]), ArgumentError, "array of numbers"),
        (lambda: tvm.nd.array(np.zeros(2, "c8")), DTypeError, "complex64"),
        (lambda: tvm.nd.array(np.zeros(2, "M8[s]")), ArgumentError, "array of numbers"),
        (lambda: tvm.nd.from_dlpack(3), ArgumentError, "from_dlpack"),
        (lambda: tvm.nd.array([1]).copyfrom([1, 2, 3]), ShapeError, r"\(3,\), this array"),
        (lambda: tvm.nd.array([1, 2]).copyto("there"), ArgumentError, "array or a device"),
    ],
)  # fmt: skip
def test_mistakes(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_read_only_numpy_array_is_not_shared():
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(ArgumentValueError, match="readonly"):
        tvm.nd.from_dlpack(frozen)


def test_uint16_are_the_bits_of_bfloat16():
    bits = np.array([0x3F80, 0x4000, 0xC040], "uint16")
    expected = [1, 2, -3]
    for source in (bits, tvm.nd.array(bits)):
        target = tvm.nd.empty((3,), "bfloat16").copyfrom(source)
        np.testing.assert_array_equal(target.numpy().astype("float32"), expected)
        assert tvm.nd.array(bits).copyto(tvm.nd.empty((3,), "bfloat16")).tobytes() == bits.tobytes()
    target[1:] = bits[:2]
    np.testing.assert_array_equal(target.numpy().astype("float32"), [1, 1, 2])
    target[0] = bits[2]
    np.testing.assert_array_equal(target.numpy().astype("float32"), [-3, 1, 2])
    transposed = tvm.nd.empty((3, 2), "bfloat16").copyfrom(np.stack([bits, bits]).T)
    np.testing.assert_array_equal(transposed.numpy()[:, 1].astype("float32"), expected)


def test_other_numbers_become_bfloat16():
    for values in (np.array([1, 2], "float32"), np.array([1, 2], "int32"), [1, 2]):
        target = tvm.nd.empty((2,), "bfloat16").copyfrom(values)
        np.testing.assert_array_equal(target.numpy().astype("float32"), [1, 2])
