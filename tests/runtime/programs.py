"""Small compiled functions that the tests of the runtime share."""

import functools

import tilewright as tvm
from tilewright import te, tir


@functools.cache
def add_one(n=4, dtype="float32", name="main"):
    """B = A + 1 for n elements."""
    a = te.placeholder((n,), dtype, name="A")
    b = te.compute((n,), lambda i: a[i] + tir.const(1, dtype), name="B")
    return tvm.build(te.create_schedule(b.op), [a, b], "llvm", name=name)


@functools.cache
def transposed_sum():
    """C[i, j] = A[i, j] + B[j, i], for any n rows and 7 columns."""
    n = te.size_var("n")
    a = te.placeholder((n, 7), name="A")
    b = te.placeholder((7, n), name="B")
    c = te.compute((n, 7), lambda i, j: a[i, j] + b[j, i], name="C")
    return tvm.build(te.create_schedule(c.op), [a, b, c], "llvm", name="main")


@functools.cache
def scaled(dtype):
    """B = A * k, with a scalar k of any dtype."""
    a = te.placeholder((2,), "float64", name="A")
    k = te.var("k", dtype)
    b = te.compute((2,), lambda i: a[i] * k.astype("float64"), name="B")
    return tvm.build(te.create_schedule(b.op), [a, k, b], "llvm", name="main")


def prim_func(params, body, name="main", **options):
    """A function of buffers and variables, in that order of `params`."""
    handles, buffers = [], {}
    for param in params:
        if isinstance(param, tir.Buffer):
            handle = te.var(f"{param.name}_handle", "handle")
            buffers[handle] = param
            param = handle
        handles.append(param)
    attrs = {"global_symbol": name, "tir.noalias": tir.const(True)}
    return tir.PrimFunc(tuple(handles), body, buffer_map=buffers, attrs=attrs, **options)


def copy_between(source, target, extent):
    """A function that copies `extent` elements from one 1-D buffer to another."""
    size = tir.const(0) + extent
    i = te.var("i", size.dtype)
    body = tir.For(
        i, tir.const(0, size.dtype), size, tir.ForKind.SERIAL,
        target.vstore((i,), source[i]),
    )  # fmt: skip
    return prim_func([source, target], body)
