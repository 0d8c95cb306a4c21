"""Small programs in the form that backends take, run natively and by the interpreter."""

import ctypes

import numpy as np

from tilewright import te, tir
from tilewright.ir import DType, IRModule, PrimType, const
from tilewright.target import Target
from tilewright.target.codegen.llvm import compile_module
from tilewright.tir.interpreter import interpret
from tilewright.tir.substitute import symbolic_sizes

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
HOST = Target("llvm")

C_TYPES = {
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64, "float32": ctypes.c_float,
    "float64": ctypes.c_double, "bool": ctypes.c_bool, "handle": ctypes.c_void_p,
}  # fmt: skip


def function(params, body, name="f", **attrs):
    """A function of buffers and variables, which stand in `params` as they are passed."""
    handles, buffers = [], {}
    for param in params:
        if isinstance(param, tir.Buffer):
            handle = te.var(f"{param.name}_handle", "handle")
            buffers[handle] = param
            param = handle
        handles.append(param)
    attrs = {"global_symbol": name, **attrs}
    return tir.PrimFunc(tuple(handles), body, buffer_map=buffers, attrs=attrs)


def over_pointers(func):
    """`func` with pointers and sizes as parameters, and a status as its result."""
    params = [func.buffer_map[p].data if p in func.buffer_map else p for p in func.params]
    return func.replace(
        params=(*params, *symbolic_sizes(func)),
        buffer_map={},
        ret_type=func.ret_type or PrimType(DType("int32")),
        attrs={**func.attrs, "tir.is_exported": const(True)},
    )


def compiled(func, target=HOST, **others):
    """The compiled module of `func`, under the name ``f``, and of other functions."""
    functions = {"f": func, **others}
    module = IRModule({name: over_pointers(other) for name, other in functions.items()})
    return compile_module(module, target)


def native(func, target=HOST):
    """A Python function that calls the compiled `func`; it returns the status."""
    code = compiled(func, target)
    types = [C_TYPES[str(p.dtype)] for p in over_pointers(func).params]
    pointer = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(code.function_address("f"))

    def call(*args):
        values = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]
        return pointer(*values)

    call.code = code
    return call


def check(func, *args, target=HOST, tolerance=0.0):
    """Run `func` natively and by the interpreter, and compare all arrays."""
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    actual = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(all="ignore"):
        interpret(func, *expected)
    assert native(func, target)(*actual) == 0
    for want, got in zip(expected, actual, strict=True):
        if isinstance(want, np.ndarray):
            assert_same(got, want, tolerance)


def assert_same(got, want, tolerance=0.0):
    """Arrays are equal, or relatively close; NaN equals NaN."""
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    with np.errstate(invalid="ignore"):  # signalling NaNs
        got, want = got.astype("float64"), want.astype("float64")
    if tolerance:
        np.testing.assert_allclose(got, want, rtol=tolerance)
    else:
        np.testing.assert_array_equal(got, want)


def loop(extent, body, kind=tir.ForKind.SERIAL, name="i"):
    """``for i in range(extent): body(i)``."""
    var = te.var(name)
    return tir.For(var, const(0, "int32"), as_int(extent), kind, body(var))


def as_int(value):
    """An int32 expression."""
    return const(value, "int32") if isinstance(value, int) else value


def elementwise(compute, count, *dtypes, result=None, lanes=1):
    """``C[i] = compute(A[i], B[i], ...)`` for `count` elements, `lanes` at a time.

    Args:
        compute: from expressions to an expression.
        count: how many elements, a multiple of `lanes`.
        dtypes: those of A, B, ...
        result: dtype of C; that of the last operand if not given.
        lanes: width of the vectors.
    """
    names = "ABDEF"
    sources = [tir.decl_buffer((count,), t, names[n]) for n, t in enumerate(dtypes)]
    target = tir.decl_buffer((count,), result or dtypes[-1], "C")

    def body(i):
        def at(buffer):
            index = i if lanes == 1 else tir.Ramp(i * lanes, const(1, "int32"), lanes)
            return buffer, (index,)

        loads = [tir.BufferLoad(*at(source)) for source in sources]
        buffer, index = at(target)
        return tir.BufferStore(buffer, compute(*loads), index)

    return function([*sources, target], loop(count // lanes, body))


def samples(dtype, count=64, seed=0):
    """Values of a dtype: the awkward ones first, then random ones."""
    rng = np.random.default_rng(seed)
    dtype = DType(dtype)
    if dtype.is_bool:
        return rng.integers(0, 2, count).astype(bool)
    if dtype.is_integral:
        info = np.iinfo(dtype.numpy)
        special = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1]
        special += [-1, -2, -7] if info.min else []
        values = rng.integers(info.min, info.max, count, dtype=dtype.numpy, endpoint=True)
        values[: len(special)] = np.array(special, dtype.numpy)
    else:
        special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-7, -65504.0, 3e38]
        values = rng.normal(size=count) * 10.0 ** rng.integers(-6, 5, count)
        values[: len(special)] = special
        with np.errstate(over="ignore"):
            values = values.astype(dtype.numpy)
    return rng.permutation(values)
