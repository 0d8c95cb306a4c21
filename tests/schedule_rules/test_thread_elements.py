"""The default schedule of elements for devices."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tvm
from tilewright import te, topi


def source_of(tensors):
    return tvm.build(te.create_prim_func(tensors), "cuda").imported_modules[0].get_source()


@settings(max_examples=4)
@given(st.permutations(range(3)), st.tuples(*[st.integers(1, 70)] * 3), st.booleans())
def test_random_transpositions(axes, shape, is_symbolic):
    extents = [te.var(f"n{n}") for n in range(3)] if is_symbolic else shape
    data = te.placeholder(extents, name="data")
    other = te.placeholder([extents[axis] for axis in axes], name="other")
    result = topi.add(topi.transpose(data, axes), other)
    module = tvm.build(te.create_prim_func([data, other, result]), "opencl")
    values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    expected = values.transpose(axes) + 1
    computed = tvm.nd.empty(expected.shape, "float32", tvm.opencl(0))
    arrays = values, np.ones(expected.shape, "float32")
    module(*(tvm.nd.array(array, tvm.opencl(0)) for array in arrays), computed)
    np.testing.assert_array_equal(computed.numpy(), expected)


def test_neighbouring_threads_read_and_write_neighbours_of_a_transposition():
    data = te.placeholder((100, 5, 70), name="data")
    source = source_of([data, topi.transpose(data, (2, 1, 0))])
    (thread,) = (line.split()[2] for line in source.splitlines() if "(int)threadIdx.x" in line)
    load, store = (line for line in source.splitlines() if " = " in line and "_shared[" in line)
    assert load.rstrip("; ").endswith(f"+ {thread}]")
    assert store.split(" = ")[0].endswith(f"+ {thread}]")
    assert f"data_shared[{thread} * 33 + " in store


def test_elements_of_large_tensors_are_accessed_by_vectors():
    data, shift = te.placeholder((256, 512), name="data"), te.placeholder((512,), name="shift")
    source = source_of([data, shift, topi.nn.relu(topi.add(data, shift))])
    assert source.count("*(float4*)&data[") == source.count("*(float4*)&shift[") == 1
    odd = te.placeholder((512, 333), name="odd"), te.placeholder((512, 1), name="column")
    assert "float4" not in source_of([*odd, topi.add(*odd)])
