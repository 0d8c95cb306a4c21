"""Values of registered functions in native code: arrays of unknown size, tuples, objects."""

import gc
import threading
import weakref

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentError, ArgumentValueError, ExportError, UnknownNameError
from tilewright.relax.interpreter import evaluate
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T

DATA = np.array([0, 1, 2, 0, 3], "float32")
TARGETS = pytest.mark.parametrize("target", ["llvm", "c"])


@TARGETS
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_conditions_are_arrays_with_one_element(shape, target):
    flag, x = relax.Var("flag", R.Tensor(shape, "bool")), relax.Var("x", R.Tensor((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [flag, x]):
        choice = relax.If(flag, relax.SeqExpr([], x), relax.SeqExpr([], relax.const(DATA[:2])))
        builder.emit_func_output(builder.emit(choice))
    module = builder.get()
    vm = relax.VirtualMachine(relax.build(module, target), tvm.cpu())
    for value, expected in ((True, [5, 6]), (False, DATA[:2])):
        arguments = np.full(shape, value), np.array([5, 6], "float32")
        np.testing.assert_array_equal(vm["main"](*arguments).numpy(), expected)
        np.testing.assert_array_equal(evaluate(module, *arguments), expected)


@pytest.fixture(autouse=True)
def registered():
    functions = {
        "values.same": lambda *args: args[0],
        "values.nonzero": lambda x: np.nonzero(x.numpy())[0],
        "values.halves": lambda x: (x.numpy()[::2], x.numpy()[1::2]),
        "values.nested": lambda *args: (args[0], [3, "text", None, 2.5], args[1:]),
        "values.none": lambda *args: None,
        "values.length": lambda x: len(x),
        "values.shape": lambda x: tuple(extent + 1 for extent in x.shape),
        "values.positive": lambda x: bool((x.numpy() > 0).all()),
    }
    for name, function in functions.items():
        tvm.register_func(name, function, override=True)
    yield
    for name in functions:
        tvm.runtime.registry.remove_global_func(name)


def machine(module, target="llvm", **options):
    ex = relax.build(module, target, **options)
    assert not ex.reasons
    return relax.VirtualMachine(ex)


def same(result, expected):
    if isinstance(expected, tuple):
        assert isinstance(result, tuple)
        assert len(result) == len(expected)
        assert all(map(same, result, expected))
    elif isinstance(expected, np.ndarray):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.numpy(), expected)
    else:
        assert result == expected
    return True


@I.ir_module
class Dynamic:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")):
        i = R.call_packed("values.nonzero", x, sinfo_args=R.Tensor(ndim=1, dtype="int64"))
        m = T.int64()
        j = R.match_cast(i, R.Tensor((m,), "int64"))
        k = R.permute_dims(R.reshape(R.concat([j, j]), (2, m)))
        s = R.sum(k, axis=1)
        return (k, s, x)


@TARGETS
def test_sizes_that_depend_on_data(target):
    main = machine(Dynamic, target)["main"]
    for data in (DATA, DATA[:1], DATA[:0], np.arange(3000, dtype="float32")):
        same(main(data), evaluate(Dynamic, data))


@I.ir_module
class Kinds:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.add(x, x)
        t = R.call_packed("values.nested", y, R.shape([n, 3]), R.dtype("int8"), R.prim_value(n + 1))
        u = R.call_packed("values.nested", t, R.str("a"), (x, (y, y)))
        v = R.call_packed(
            "values.same", R.reshape(y, (n, 1)), sinfo_args=R.Tensor((n, 1), "float32")
        )
        w = R.call_packed("values.same", R.reshape(v, (1, n, 1)))
        nothing = R.call_packed("values.none", R.null_value(), sinfo_args=R.Tuple())
        return (t, u, v, w, nothing, R.shape([n + 2]), R.prim_value(n), R.str("b"))

    @R.function(pure=False)
    def known(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        t = R.call_packed(
            "values.halves",
            x,
            sinfo_args=R.Tuple(R.Tensor(ndim=1, dtype="float32"), R.Tensor(dtype="float32")),
        )
        m = T.int64()
        even = R.match_cast(t[0], R.Tensor((m,), "float32"))
        odd = R.match_cast(t[1], R.Tensor((n - m,), "float32"))
        s = R.call_packed("values.shape", x, sinfo_args=R.Shape(ndim=1))
        k = T.int64()
        wide = R.match_cast(s, R.Shape([k]))
        zeros = R.zeros(wide, "float32")
        return (R.add(even, even), R.negative(odd), zeros)

    @R.function(pure=False)
    def branch(x: R.Tensor(("n",), "float32"), flag: R.Tensor((), "bool")):
        if flag:  # noqa: SIM108, not an expression of Python
            y = R.call_packed("values.nonzero", x)
        else:
            y = R.str("none")
        return (y, x)

    @R.function(pure=False)
    def decide(x: R.Tensor(("n",), "float32")):
        positive = R.call_packed("values.positive", x, sinfo_args=R.Prim("bool"))
        if positive:  # noqa: SIM108
            y = R.add(x, x)
        else:
            y = R.negative(x)
        return y

    @R.function
    def given(x: R.Object, y: R.Tensor):
        return (x, (y, x))

    @R.function(pure=False)
    def again(x: R.Tensor(("n",), "float32")):
        a = Kinds.main(x)
        b = Kinds.given(a, x)
        c = Kinds.inner(x, b)
        return (a, c)

    @R.function(private=True)
    def inner(x: R.Tensor(("n",), "float32"), o: R.Object):
        return (o, R.add(x, x))

    @R.function(private=True, pure=False)
    def kept(x: R.Tensor(("n",), "float32")):
        R.call_packed("values.none", R.add(x, x), sinfo_args=R.Tuple())
        return R.add(x, x)

    @R.function(pure=False)
    def private(x: R.Tensor(("n",), "float32")):
        return R.negative(Kinds.kept(x))

    @R.function
    def shapes(x: R.Tensor((2,), "int64")):
        a, b = T.int64(), T.int64()
        s = R.match_cast(R.tensor_to_shape(x), R.Shape([a, b]))
        y = R.full(s, R.const(1.5, "float32"), "float32")
        return (y, R.shape_to_tensor(R.shape([b, a * b])))


@TARGETS
def test_values_of_all_kinds(target):
    vm = machine(Kinds, target)
    for name in ("main", "known", "decide", "again", "private"):
        same(vm[name](DATA), evaluate(Kinds, DATA, name=name))
    for flag in (True, False):
        data = np.array(flag)
        same(vm["branch"](DATA, data), evaluate(Kinds, DATA, data, name="branch"))
    shape = np.array([2, 3])
    same(vm["shapes"](shape), evaluate(Kinds, shape, name="shapes"))
    with pytest.raises(ArgumentValueError, match="extent -1 of a shape is negative"):
        vm["shapes"](np.array([-1, 2]))
    value = object()
    x, (y, again) = vm["given"](value, DATA)
    assert x is value
    assert again is value
    np.testing.assert_array_equal(y.numpy(), DATA)
    with pytest.raises(ArgumentError, match="argument y: expected an array, got an int"):
        vm["given"](value, 3)


def test_an_array_that_a_function_keeps_stays_as_it_is():
    kept = []
    tvm.register_func("values.keep", lambda x: kept.append(x) or x, override=True)

    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            y = R.add(x, x)
            z = R.call_packed("values.keep", y, sinfo_args=R.Tensor((4,), "float32"))
            return R.multiply(z, R.add(y, R.const(1.0, "float32")))

    main = machine(Module)["main"]
    for number in range(3):
        main(np.full(4, number, "float32"))
    assert [array.numpy()[0] for array in kept] == [0, 2, 4]


def test_constants_may_be_kept_too():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main():
            return R.call_packed("values.same", R.const(np.arange(3, dtype="float32")))

    result = machine(Module)["main"]()
    gc.collect()
    np.testing.assert_array_equal(result.numpy(), [0, 1, 2])


def returning(value, info):
    """A machine that returns what a function returned, which is declared to be `info`."""
    tvm.register_func("values.value", lambda: value, override=True)
    builder = relax.BlockBuilder()
    with builder.function("main", [], pure=False):
        call = relax.op.call_packed("values.value", sinfo_args=info)
        builder.emit_func_output(builder.emit(call, "y"))
    return machine(builder.get())["main"]


TENSOR = relax.TensorStructInfo


@pytest.mark.parametrize(
    ("value", "info", "message"),
    [
        (
            None,
            TENSOR((2,), "float32"),
            r"main: y \(what 'values.value' returned\): expected an arr",
        ),
        (np.ones(2), TENSOR((2,), "float32"), "expected an array of dtype float32, got float64"),
        (np.ones((2, 2), "float32"), TENSOR((2,), "float32"), "expected 1 dimension, got 2"),
        (np.ones(3, "float32"), TENSOR((2,), "float32"), r"shape\[0\] is 3, expected 2"),
        (3, TENSOR(dtype="float32"), "expected an array, got an int"),
        ((1,), relax.TupleStructInfo([relax.ObjectStructInfo()] * 2), "a tuple of 2, got one of 1"),
        (3, relax.TupleStructInfo([relax.ObjectStructInfo()]), "expected a tuple, got an int"),
        (3, relax.TupleStructInfo([]), "expected no value, got an int"),
        ((1, 2), relax.ShapeStructInfo(ndim=1), "expected a shape of ndim 1, got ndim 2"),
        ((1, -2), relax.ShapeStructInfo(ndim=2), "extent -2 of a shape is negative"),
        ((1, "a"), relax.ShapeStructInfo(ndim=2), "extent 1 is not an int"),
        ("a", relax.PrimStructInfo("int64"), "expected an int, got a string"),
        (300, relax.PrimStructInfo("int8"), "300 is not a value of dtype int8"),
    ],
)
def test_a_value_of_another_kind_is_refused(value, info, message):
    main = returning(value, info)
    with pytest.raises((ArgumentError, ArgumentValueError), match=message):
        main()


@pytest.mark.parametrize(
    "values",
    [
        np.arange(24, dtype="int16").reshape(4, 6)[1:, ::2],
        np.arange(24, dtype="int16").reshape(4, 6)[::-1],
        np.arange(24, dtype="int16").reshape(4, 6).T,
        np.broadcast_to(np.arange(3, dtype="int16"), (4, 3)).copy()[:, 1:],
        np.zeros((0, 3), "int16"),
        np.frombuffer(bytes(range(13)), "uint8")[1:].copy()[1:11].view("int16").reshape(1, 5),
    ],
)
def test_arrays_with_gaps_are_made_compact(values):
    main = returning(values, TENSOR(ndim=2, dtype="int16"))
    np.testing.assert_array_equal(main().numpy(), values)


def test_exceptions_arrive_with_their_traceback():
    def fail(x):
        raise ZeroDivisionError("inside")

    tvm.register_func("values.fail", fail, override=True)

    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")):
            y = R.call_packed("values.same", R.add(x, x))
            return R.call_packed("values.fail", y)

        @R.function(pure=False)
        def missing(x: R.Tensor((2,), "float32")):
            return R.call_packed("values.nowhere", x)

    vm = machine(Module)
    with pytest.raises(ZeroDivisionError, match="inside") as info:
        vm["main"](np.ones(2, "float32"))
    assert info.traceback[-1].name == "fail"
    expected = (
        "missing: there is no registered function named 'values.nowhere': define it in the module, "
        r"or register it with tilewright.register_func\('values.nowhere', f\)"
    )
    with pytest.raises(UnknownNameError, match=expected):
        vm["missing"](np.ones(2, "float32"))


class Value:
    """Something that can be looked at by a weak reference."""


@pytest.mark.parametrize("fails", [False, True])
def test_values_are_given_up(fails):
    alive = weakref.WeakSet()

    def make(x):
        alive.add(value := Value())
        return value, np.ones(1000, "float32")

    def check(x):
        if fails:
            raise ValueError("no")

    tvm.register_func("values.make", make, override=True)
    tvm.register_func("values.check", check, override=True)

    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")):
            made = R.call_packed(
                "values.make", x, sinfo_args=R.Tuple(R.Object, R.Tensor((1000,), "float32"))
            )
            R.call_packed("values.check", made, sinfo_args=R.Tuple())
            return made[0]

    main = machine(Module)["main"]
    for _ in range(20):
        if fails:
            with pytest.raises(ValueError, match="no"):
                main(np.ones(2, "float32"))
        else:
            assert main(np.ones(2, "float32")) in alive
    gc.collect()
    assert len(alive) == 0


def test_a_value_is_given_up_after_its_last_use():
    alive = weakref.WeakSet()
    counts = []

    def make(x):
        alive.add(value := Value())
        return value

    tvm.register_func("values.make", make, override=True)
    tvm.register_func("values.count", lambda *args: counts.append(len(alive)), override=True)

    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")):
            a = R.call_packed("values.make", x)
            R.call_packed("values.count", a)
            b = R.call_packed("values.make", x)
            R.call_packed("values.count", b)
            R.call_packed("values.count", x)
            return x

    machine(Module)["main"](np.ones(2, "float32"))
    assert counts == [1, 1, 0]


def test_threads_work_with_values_at_the_same_time():
    main, results = machine(Dynamic)["main"], {}

    def work(number):
        data = np.arange(number + 2, dtype="float32")
        results[number] = all(same(main(data), evaluate(Dynamic, data)) for _ in range(5))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


def test_a_library_finds_registered_functions_where_it_is_loaded(tmp_path):
    path = str(tmp_path / "values.so")
    ex = relax.build(Kinds)
    ex.export_library(path)
    vm = relax.VirtualMachine(path)
    for name in ("main", "known", "again"):
        same(vm[name](DATA), evaluate(Kinds, DATA, name=name))
    header = tmp_path / "values.h"
    ex.export_header(header)  # for those functions that a C program can call
    assert "values_decide" in header.read_text()
    with pytest.raises(ExportError, match="main takes or returns values that only a host"):
        relax.build(Dynamic).export_header(header)
