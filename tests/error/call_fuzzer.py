"""Calls compiled functions with random arguments; run as a program in a process of its own.

``call_fuzzer.py SECONDS SEED`` makes calls for so long, but at least 5000, and prints how many were
accepted and refused. A call must either compute what numpy computes, or raise an error of this
package and leave the output as it was.
"""

import random
import sys
import time

import numpy as np
from tests.runtime.programs import add_one, copy_between, scaled, transposed_sum

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import TVMError

DTYPES = ["f4", "f8", "f2", "i4", "i1", "u8", "?", "c8", ">f4", "U3", "M8[s]", "O", "V4"]


def other_objects(rng):
    """Something that is not an array."""
    return rng.choice(
        [
            None, True, 0, -1, 2**31, 2**63, 2**100, -(2**90), 1.5, float("nan"), float("inf"),
            "", "text", "x" * 100, "\0", b"", b"bytes" * 9, (), [], {}, set(), object(),
            print, int, tvm.cpu(), tvm.cuda(3), [1.0, 2.0], {"a": 1}, range(3), ..., 1j,
            np.int8(3), np.float64(2), np.bool_(True), np.complex64(1), tvm.ir.DType("int32"),
            np.dtype("f4"), memoryview(b"abcd"), bytearray(8), tvm.tir.const(1), type, sys,
        ]
    )  # fmt: skip


def array(rng, shape, dtype="f4"):
    """An array that is almost always the right one, or some relative of it."""
    shape = list(shape)
    if rng.random() < 0.2 and shape:
        axis = rng.randrange(len(shape))
        shape[axis] = rng.choice([0, 1, shape[axis] + 1, max(shape[axis] - 1, 0), 3, 64])
    if rng.random() < 0.05:
        shape = shape[:-1] if rng.random() < 0.5 else [*shape, 1]
    if rng.random() < 0.15:
        dtype = rng.choice(DTYPES)
    values = np.asarray(base_array(rng, tuple(shape), np.dtype(dtype)))
    if rng.random() < 0.15:
        values.flags.writeable = False
    choice = rng.random()
    if choice < 0.2 and values.dtype.kind in "fiub" and values.dtype.isnative:
        return tvm.nd.array(values)
    shareable = values.dtype.kind in "fiu" and values.dtype.isnative and values.flags.writeable
    if choice < 0.25 and shareable:
        return tvm.nd.from_dlpack(values)
    return values


def base_array(rng, shape, dtype):
    layout = rng.random()
    size = int(np.prod(shape, dtype=int))
    if dtype.kind in "OUMV":
        return np.zeros(shape, dtype)
    if layout < 0.08:  # not aligned
        memory = np.zeros(size * dtype.itemsize + 1, np.uint8)[1:]
        return memory.view(dtype).reshape(shape)
    if layout < 0.16:  # every other element
        twice = np.zeros([2 * extent for extent in shape], dtype)
        return twice[(slice(0, None, 2),) * len(shape)]
    if layout < 0.24:  # another order of the axes
        return np.zeros(shape[::-1], dtype).T
    if layout < 0.3:  # no memory of its own
        return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, (0,) * len(shape))
    if layout < 0.36 and shape:  # backwards
        return np.zeros(shape, dtype)[::-1]
    values = np.zeros(shape, dtype)
    if dtype.kind in "f" and size:
        values[...] = np.arange(size).reshape(shape) % 7
    return values


def maybe(rng, make):
    """Mostly what `make` gives, sometimes another object."""
    return other_objects(rng) if rng.random() < 0.04 else make()


def host(value):
    """A copy of the elements of an array, or None."""
    if isinstance(value, tvm.nd.NDArray):
        return value.numpy()
    return value.copy() if isinstance(value, np.ndarray) else None


def cases():
    """Pairs of a compiled function and a function that makes arguments and the expected result."""
    n = te.var("n")
    stride = te.var("s")
    strided = tvm.build(
        copy_between(
            tir.decl_buffer((n,), "float32", "A", strides=(stride,)),
            tir.decl_buffer((n,), "float32", "B"),
            n,
        ),
        target="llvm",
    )

    def sums(rng):
        rows = rng.choice([0, 1, 4, 5])
        return [(rows, 7), (7, rows), (rows, 7)], lambda a, b, _: a + b.T

    def ones(rng):
        return [(4,), (4,)], lambda a, _: a + 1

    def copies(rng):
        size = rng.choice([0, 1, 6])
        return [(size,), (size,)], lambda a, _: a

    def scales(rng):
        return [(2,), None, (2,)], lambda a, k, _: a * float(k)

    return [
        (transposed_sum(), sums, "f4"), (add_one(), ones, "f4"), (strided, copies, "f4"),
        (scaled("int32"), scales, "f8"), (scaled("float32"), scales, "f8"),
    ]  # fmt: skip


def arguments(rng, make, dtype):
    shapes, expected = make(rng)
    number = lambda: rng.choice([0, 1, -3, 2**31, 2**40, 1.5, True, np.int32(4)])  # noqa: E731
    args = [
        maybe(rng, number if shape is None else lambda s=shape: array(rng, s, dtype))
        for shape in shapes
    ]
    if rng.random() < 0.03:
        args = args[:-1]
    if rng.random() < 0.03:
        args.append(other_objects(rng))
    return args, expected


def one_call(rng, module, make, dtype):
    """Whether a random call was accepted; raises AssertionError if something is wrong."""
    args, expected = arguments(rng, make, dtype)
    before = [host(arg) for arg in args]
    try:
        module(*args)
    except TVMError as error:
        if not isinstance(error, (TypeError, ValueError, MemoryError)):
            raise
        for arg, copy in zip(args, before, strict=True):
            assert copy is None or host(arg).tobytes() == copy.tobytes(), "a refused call wrote"
        return False
    inputs = [arg if copy is None else copy for arg, copy in zip(args, before, strict=True)]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(host(args[-1]), expected(*inputs), rtol=1e-6)
    return True


def main(seconds, seed):
    rng = random.Random(seed)
    programs = cases()
    counts = {True: 0, False: 0}
    end = time.monotonic() + seconds
    while time.monotonic() < end or sum(counts.values()) < 5000:
        for module, make, dtype in programs:
            state = rng.getstate()
            try:
                counts[one_call(rng, module, make, dtype)] += 1
            except BaseException:
                rng.setstate(state)
                print("failed for", arguments(rng, make, dtype)[0], file=sys.stderr)
                raise
    print("accepted", counts[True], "refused", counts[False])


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
