"""Running compiled graphs."""

import threading

import numpy as np
import pytest
from tests.relax.builders import array, module_of, negative, twice
from tests.relax.vm.programs import Layers, perceptron, perceptron_inputs

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentError, ArgumentValueError, ExportError, UnknownNameError
from tilewright.ir.expr import Var as Size
from tilewright.relax import op
from tilewright.relax.interpreter import evaluate
from tilewright.relax.op.base import call_dps_packed
from tilewright.runtime.ndarray import NDArray

TARGETS = pytest.mark.parametrize("target", ["llvm", "c"])


def machine(module, target="llvm", **options):
    return relax.VirtualMachine(relax.build(module, target, **options), tvm.cpu())


def assert_same(got, expected):
    """Arrays, and tuples of them, are equal."""
    if isinstance(expected, tuple):
        assert isinstance(got, tuple)
        for a, b in zip(got, expected, strict=True):
            assert_same(a, b)
    else:
        assert isinstance(got, NDArray)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-5)


def check(module, *inputs, target="llvm", **options):
    """What the compiled module returns is what the evaluator says."""
    expected = evaluate(module, *inputs)
    vm = machine(module, target, **options)
    assert_same(vm["main"](*inputs), expected)
    return vm


# --- kernels and registered functions --------------------------------------------------------


@TARGETS
def test_intermediate_arrays_that_are_all_empty(target):
    x = relax.Var("x", array(2, 0))
    module = module_of([x], lambda builder: op.cumsum(negative(x), 1))
    check(module, np.zeros((2, 0), "float32"), target=target)


@TARGETS
@pytest.mark.parametrize("pipeline", [None, "default_build"])
def test_kernels_that_are_called_by_name(target, pipeline):
    inputs, expected = perceptron_inputs()
    main = machine(perceptron(), target, pipeline=pipeline)["main"]
    assert_same(main(*inputs), expected)
    assert_same(main(*map(tvm.nd.array, inputs)), expected)
    inputs, expected = perceptron_inputs(2, 3, 1)
    assert_same(main(*inputs), expected)


@TARGETS
def test_a_registered_function_gets_arrays_of_the_program(target):
    seen = []

    @tvm.register_func("test.vm.relu", override=True)
    def relu(x, y):
        seen.append((type(x), x.shape, y.data_ptr() % 16))
        np.maximum(np.from_dlpack(x), 0, out=np.from_dlpack(y))

    inputs, expected = perceptron_inputs()
    assert_same(machine(perceptron("test.vm.relu"), target)["main"](*inputs), expected)
    assert seen == [(NDArray, (1, 7), 0)]


def test_a_function_that_is_registered_nowhere_is_named_by_the_call():
    inputs, _ = perceptron_inputs()
    main = machine(perceptron("test.vm.absent"))["main"]
    with pytest.raises(UnknownNameError, match=r"no registered function named 'test\.vm\.absent'"):
        main(*inputs)


def test_a_name_that_is_nearly_that_of_a_kernel_is_refused_at_once():
    with pytest.raises(UnknownNameError, match="'rellu'; did you mean 'relu'"):
        relax.build(perceptron("rellu"))


def test_an_exception_of_a_registered_function_arrives():
    @tvm.register_func("test.vm.fails", override=True)
    def fails(*arrays):
        raise ZeroDivisionError("by hand")

    inputs, _ = perceptron_inputs()
    with pytest.raises(ZeroDivisionError, match="by hand"):
        machine(perceptron("test.vm.fails"))["main"](*inputs)


def test_shapes_that_contradict_each_other_are_named():
    inputs, _ = perceptron_inputs()
    main = machine(perceptron())["main"]
    with pytest.raises(ArgumentValueError, match=r"argument 5 \(b1\): shape\[0\] is 7, expected 3"):
        main(*inputs[:4], inputs[2])
    with pytest.raises(ArgumentError, match="expected 5 arguments"):
        main(*inputs[:4])


# --- values ------------------------------------------------------------------------------------


@TARGETS
def test_tuples_go_in_and_out(target):
    n = Size("n", "int64")
    pair = relax.Var("pair", relax.TupleStructInfo([array(n), relax.TupleStructInfo([array(n)])]))
    x = relax.Var("x", array(2, n))

    def body(builder):
        first = builder.emit(relax.TupleGetItem(pair, 0))
        second = builder.emit(relax.TupleGetItem(relax.TupleGetItem(pair, 1), 0))
        both = builder.emit(op.add(twice(first), negative(second)))
        return relax.Tuple([both, relax.Tuple([twice(x), both])])

    module = module_of([pair, x], body)
    a, b, c = np.arange(3.0), np.ones(3), np.full((2, 3), 2.0)
    a, b, c = (v.astype("float32") for v in (a, b, c))
    vm = check(module, (a, (b,)), c, target=target)
    with pytest.raises(ArgumentError, match="argument pair is a tuple of 2, got 1 items"):
        vm["main"]((a,), c)
    with pytest.raises(ArgumentError, match=r"expected 2 arguments \(pair, x\), got 1"):
        vm["main"]((a, (b,)))
    timer = vm.time_evaluator("main", tvm.cpu(), number=2)
    assert timer((a, (b,)), c).mean > 0


@TARGETS
def test_parameters_and_constants_can_be_results(target):
    x = relax.Var("x", array(2, 2))
    value = relax.const(np.arange(6.0, dtype="float32").reshape(2, 3))
    flag = relax.const(np.array([True, False]))

    def body(builder):
        doubled = builder.emit(twice(x))
        return relax.Tuple([x, value, doubled, doubled, flag])

    check(module_of([x], body), np.ones((2, 2), "float32"), target=target)


@TARGETS
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", "float64"])
def test_what_is_copied_is_read_afterwards(target, dtype):
    x = relax.Var("x", relax.TensorStructInfo((), dtype))
    builder = relax.BlockBuilder()
    with builder.function("same", [x], private=True):
        builder.emit_func_output(relax.Tuple([x]))
    y = relax.Var("y", relax.TensorStructInfo((), dtype))
    with builder.function("main", [y]):
        call = relax.Call(builder.get().get_global_var("same"), [y])
        copied = builder.emit(relax.TupleGetItem(builder.emit(call), 0))
        builder.emit_func_output(builder.emit(op.equal(copied, y)))
    check(builder.get(), np.array(1, dtype), target=target)


def test_results_must_be_writable():
    main_into = machine(perceptron()).module["main_into"]
    inputs, expected = perceptron_inputs()
    out = np.zeros((1, 3), "float32")
    main_into(*inputs, out)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    for array_ in (*inputs, out):
        array_.flags.writeable = False
    with pytest.raises(ArgumentValueError, match=r"argument 6 \(result_0\).*is read-only"):
        main_into(*inputs, out)


def test_no_results_at_all():
    x = relax.Var("x", array(2))
    check(module_of([x], lambda builder: relax.Tuple([])), np.ones(2, "float32"))


def test_a_result_is_a_new_array_for_each_call():
    main = machine(module_of([x := relax.Var("x", array(2))], lambda b: b.emit(twice(x))))["main"]
    first, second = main(np.ones(2, "float32")), main(np.zeros(2, "float32"))
    assert first.numpy().tolist() == [2, 2]
    assert second.numpy().tolist() == [0, 0]


def test_shapes_and_scalars_as_parameters():
    n, m = Size("n", "int64"), Size("m", "int64")
    shape = relax.Var("shape", relax.ShapeStructInfo([n, m]))
    x = relax.Var("x", array(n, 1))

    def body(builder):
        return builder.emit(op.broadcast_to(x, relax.ShapeExpr([n, m])))

    vm = check(module_of([shape, x], body), (2, 3), np.ones((2, 1), "float32"))
    with pytest.raises(ArgumentValueError, match=r"shape\[0\] is 5, expected 2 \(n"):
        vm["main"]((2, 3), np.ones((5, 1), "float32"))


# --- control flow ------------------------------------------------------------------------------


def choice(make_true, make_false, condition, params):
    def body(builder):
        builder.begin_scope()
        chosen = builder.emit(make_true(builder))
        yes = relax.SeqExpr(builder.end_scope(), chosen, chosen.struct_info)
        builder.begin_scope()
        other = builder.emit(make_false(builder))
        no = relax.SeqExpr(builder.end_scope(), other, other.struct_info)
        result = builder.emit(relax.If(condition, yes, no))
        return builder.emit(negative(result))

    return module_of(params, body)


@TARGETS
@pytest.mark.parametrize("flag", [True, False])
def test_one_branch_of_an_if_runs(target, flag):
    n = Size("n", "int64")
    condition = relax.Var("c", relax.TensorStructInfo((), "bool"))
    x = relax.Var("x", array(n))
    module = choice(lambda b: twice(x), lambda b: b.emit(x), condition, [condition, x])
    check(module, np.array(flag), np.arange(4, dtype="float32"), target=target)


def test_graph_functions_call_each_other_and_themselves():
    n = Size("n", "int64")
    builder = relax.BlockBuilder()
    flags = relax.Var("flags", relax.TensorStructInfo((3,), "bool"))
    x = relax.Var("x", array(n))
    name = builder.declare_func(
        "until", relax.FuncStructInfo([flags.struct_info, array(n)], array(n))
    )
    with builder.function("until", [flags, x], private=True):
        first = builder.emit(op.reshape(op.strided_slice(flags, [0], [0], [1]), ()))
        builder.begin_scope()
        rest = builder.emit(op.concat([
            op.strided_slice(flags, [0], [1], [3]), relax.const(np.array([False]))
        ]))  # fmt: skip
        more = builder.emit(relax.Call(name, [rest, builder.emit(twice(x))]))
        yes = relax.SeqExpr(builder.end_scope(), more, more.struct_info)
        builder.begin_scope()
        same = builder.emit(negative(x))
        no = relax.SeqExpr(builder.end_scope(), same, same.struct_info)
        builder.emit_func_output(builder.emit(relax.If(first, yes, no)))
    f, y = relax.Var("f", relax.TensorStructInfo((3,), "bool")), relax.Var("y", array(2, 2))
    with builder.function("main", [f, y]):
        flat = builder.emit(op.reshape(y, (4,)))
        result = builder.emit(relax.Call(name, [f, flat]))
        builder.emit_func_output(result)
    module = builder.get()
    ones = np.ones((2, 2), "float32")
    vm = machine(module)
    for count in range(4):
        result = vm["main"](np.arange(3) < count, ones)
        assert result.numpy().tolist() == [-(2.0**count)] * 4
    assert "until" not in vm.module.function_names()


def test_several_functions_share_kernels():
    builder = relax.BlockBuilder()
    for name in ("first", "second"):
        x = relax.Var("x", array(3))
        with builder.function(name, [x]):
            builder.emit_func_output(builder.emit(twice(x)))
    ex = relax.build(builder.get())
    assert "kernels: 1\n" in ex.stats()
    vm = relax.VirtualMachine(ex)
    assert vm["first"](np.ones(3, "float32")).numpy().tolist() == [2, 2, 2]
    assert vm["second"](np.ones(3, "float32")).numpy().tolist() == [2, 2, 2]
    with pytest.raises(UnknownNameError, match="no function 'third'"):
        vm["third"]


# --- shapes that are known only at run time ----------------------------------------------------


def test_match_cast_defines_and_checks_sizes():
    n, m = Size("n", "int64"), Size("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo(dtype="float32", ndim=2))
    y = relax.Var("y", relax.TensorStructInfo(dtype="float32", ndim=2))

    def body(builder):
        a = builder.match_cast(x, array(n, m))
        b = builder.match_cast(y, array(m, 4))
        return relax.Tuple([builder.emit(twice(a)), builder.emit(twice(b))])

    module = module_of([x, y], body)
    vm = check(module, np.ones((2, 3), "float32"), np.ones((3, 4), "float32"))
    with pytest.raises(ArgumentValueError, match=r"match_cast: shape\[0\] is 5, expected 3"):
        vm["main"](np.ones((2, 3), "float32"), np.ones((5, 4), "float32"))
    with pytest.raises(ArgumentValueError, match=r"match_cast: shape\[1\] is 7, expected 4"):
        vm["main"](np.ones((2, 3), "float32"), np.ones((3, 7), "float32"))
    with pytest.raises(ArgumentValueError, match="expected 2 dimensions, got 1"):
        vm["main"](np.ones(2, "float32"), np.ones((3, 4), "float32"))
    with pytest.raises(ArgumentError, match="dtype float32, got float64"):
        vm["main"](np.ones((2, 3)), np.ones((3, 4), "float32"))


def test_a_kernel_for_constant_sizes_is_guarded():
    n = Size("n", "int64")
    size = Layers["relu"].buffer_map[Layers["relu"].params[0]].shape[1]
    kernel = Layers["relu"].specialize({size: 3})
    x = relax.Var("x", array(1, n))
    builder = relax.BlockBuilder(tvm.IRModule({"relu": kernel}))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(call_dps_packed("relu", (x,), array(1, n))))
    main = machine(builder.get())["main"]
    assert main(-np.ones((1, 3), "float32")).numpy().tolist() == [[0, 0, 0]]
    with pytest.raises(ArgumentValueError, match=r"relu: argument X: shape\[1\] is 4, expected 3"):
        main(-np.ones((1, 4), "float32"))


# --- what is not native ------------------------------------------------------------------------


def test_a_function_of_functions_is_evaluated():
    x = relax.Var("x", array(4))
    builder = relax.BlockBuilder()
    y, z = relax.Var("y", array(4)), relax.Var("z", array(4))
    with builder.function("shift", [y, z], private=True):
        builder.emit_func_output(builder.emit(op.add(y, z)))
    shift = builder.get().get_global_var("shift")
    with builder.function("main", [x]):
        closure = builder.emit(op.make_closure(shift, [x]))
        result = op.invoke_pure_closure(closure, [x], sinfo_args=array(4))
        builder.emit_func_output(builder.emit(result))
    ex = relax.build(builder.get())
    assert ex.reasons["main"] == "it has a call of relax.make_closure"
    vm = relax.VirtualMachine(ex)
    assert vm["main"](np.arange(4, dtype="float32")).numpy().tolist() == [0, 2, 4, 6]
    with pytest.raises(ExportError, match="main is evaluated by Python, because it has a call of"):
        ex.export_library("main.so")


# --- the machine -------------------------------------------------------------------------------


def test_stateful_calls_and_saved_functions():
    inputs, expected = perceptron_inputs()
    vm = machine(perceptron())
    with pytest.raises(ArgumentError, match="call set_input"):
        vm.invoke_stateful("main")
    vm.set_input("main", *inputs[:3], w1=inputs[3], b1=inputs[4])
    with pytest.raises(ArgumentError, match="call invoke_stateful"):
        vm.get_outputs("main")
    vm.invoke_stateful("main")
    assert_same(vm.get_outputs("main"), expected)
    vm.set_input("main", *inputs[:4])
    with pytest.raises(ArgumentError, match="expected 5 arguments"):
        vm.invoke_stateful("main")
    with pytest.raises(ArgumentError, match="call invoke_stateful"):
        vm.get_outputs("main")
    with pytest.raises(ArgumentError, match="main has no parameter 'w2'"):
        vm.set_input("main", *inputs[:4], w2=1)
    with pytest.raises(ArgumentError, match="main needs 'b1'"):
        vm.set_input("main", *inputs[:3], w1=inputs[3])
    vm.save_function("main", "saved", *inputs)
    assert_same(vm["saved"](), expected)
    vm.save_function("main", "silent", *inputs, include_return=False)
    assert vm["silent"]() is None


def test_timing_gives_results_back():
    inputs, _ = perceptron_inputs()
    vm = machine(perceptron())
    for timer in (vm.time_evaluator, vm.module.time_evaluator):
        assert timer("main", tvm.cpu(), number=3, repeat=2)(*inputs).mean > 0


def test_threads_run_at_the_same_time():
    vm, results = machine(perceptron()), {}
    cases = [perceptron_inputs(3 + k, 40 * k + 1, 2) for k in range(4)]

    def work(k):
        inputs, _ = cases[k]
        results[k] = [vm["main"](*inputs).numpy() for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, (_, expected) in enumerate(cases):
        for result in results[k]:
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_arguments_of_build_and_of_the_machine():
    with pytest.raises(ArgumentError, match="expected an IRModule"):
        relax.build(3)
    with pytest.raises(ArgumentError, match="exec_mode"):
        relax.build(perceptron(), exec_mode="interpreted")
    with pytest.raises(ArgumentError, match="system library"):
        relax.build(perceptron(), system_lib=True)
    with pytest.raises(ArgumentError, match="pipeline is a name or a pass"):
        relax.build(perceptron(), pipeline=3)
    with pytest.raises(ArgumentError, match="expected what relax"):
        relax.VirtualMachine(3)
    assert relax.vm.build is relax.build


def test_parameters_that_are_bound_become_constants():
    (x, w0, b0, w1, b1), expected = perceptron_inputs()
    ex = relax.build(perceptron(), params={"w0": w0, "b0": b0, "w1": tvm.nd.array(w1), "b1": b1})
    assert "constants: 4," in ex.stats()
    assert_same(relax.VirtualMachine(ex)["main"](x), expected)
    assert "main: 3 calls, 0 by name" in ex.stats()
    assert "lookup_param" in ex.as_text()


def test_parameters_are_bound_in_all_functions_that_have_them():
    builder = relax.BlockBuilder()
    for name, make in (("sum", op.add), ("product", op.multiply)):
        x, w = relax.Var("x", array(2)), relax.Var("w", array(2))
        with builder.function(name, [x, w]):
            builder.emit_func_output(builder.emit(make(x, w)))
    with pytest.raises(UnknownNameError, match="no function has a parameter 'ww'; did you mean"):
        relax.build(builder.get(), params={"ww": np.ones(2, "float32")})
    ex = relax.build(builder.get(), params={"w": np.array([2, 3], "float32")})
    assert "constants: 1," in ex.stats()
    vm = relax.VirtualMachine(ex, "cpu")
    x = np.array([4, 5], "float32")
    assert (vm["sum"](x).numpy().tolist(), vm["product"](x).numpy().tolist()) == ([6, 8], [8, 15])


def test_parameters_are_copied_from_arrays_of_other_packages():
    class Foreign:
        def __init__(self, data):
            self.__dlpack__, self.__dlpack_device__ = data.__dlpack__, data.__dlpack_device__

    (x, w0, b0, w1, b1), expected = perceptron_inputs()
    params = {"w0": Foreign(w0), "b0": b0, "w1": w1, "b1": b1}
    vm = relax.VirtualMachine(relax.build(perceptron(), params=params))
    w0[:] = 0
    assert_same(vm["main"](x), expected)
    for wrong in ({"w0": 3}, {"w0": [[1]]}, [w0]):
        with pytest.raises(ArgumentError, match=r"relax.build: params.*array"):
            relax.build(perceptron(), params=wrong)


def test_a_view_of_symbolic_sizes():
    n, m = Size("n", "int64"), Size("m", "int64")
    x = relax.Var("x", array(n, m))
    mod = module_of([x], lambda builder: builder.emit(op.reshape(op.exp(x), (m, n))))
    vm = relax.VirtualMachine(relax.build(mod, "llvm"))
    for shape in ((2, 3), (0, 4)):
        data = np.ones(shape, "float32")
        np.testing.assert_allclose(vm["main"](data).numpy(), np.exp(data).reshape(shape[::-1]))


def test_scalars_may_be_negative():
    """What a size of an array cannot be is not taken for granted of other numbers."""
    n, x = Size("n", "int64"), relax.Var("x", array(8))
    s = relax.Var("s", relax.PrimStructInfo("int64", n))
    mod = module_of([x, s], lambda b: b.emit(op.strided_slice(x, [0], [n], [8])))
    vm = relax.VirtualMachine(relax.build(mod))
    data = np.arange(8, dtype="float32")
    for start in (3, 0, -2, -8, 9):
        assert_same(vm["main"](data, start), data[start:])
        np.testing.assert_array_equal(evaluate(mod, data, start), data[start:])


def test_shapes_that_are_given_have_no_negative_extents():
    n = Size("n", "int64")
    shape = relax.Var("shape", relax.ShapeStructInfo([n, 2]))
    mod = module_of([shape], lambda b: b.emit(op.full((1,), relax.PrimValue(n), "float32")))
    vm = relax.VirtualMachine(relax.build(mod))
    assert vm["main"]((3, 2)).numpy().tolist() == [3]
    with pytest.raises(ValueError, match="argument shape: an extent is -1, which is negative"):
        vm["main"]((-1, 2))


def test_compile_takes_graphs_and_tensor_programs():
    x = np.arange(3, dtype="float32")
    var = relax.Var("x", array(3))
    graph = module_of([var], lambda builder: builder.emit(op.exp(var)))
    for given in (graph, graph["main"]):
        executable = tvm.compile(given, target="llvm")
        assert isinstance(executable, relax.Executable)
        assert_same(relax.VirtualMachine(executable)["main"](x), np.exp(x))
    (kernel,) = (f for f in Layers.functions.values() if f.global_symbol == "relu")
    for given in (kernel, tvm.IRModule({"relu": kernel})):
        result = np.empty((1, 3), "float32")
        tvm.compile(given)["relu"](x[None] - 1, result)
        np.testing.assert_array_equal(result, np.maximum(x[None] - 1, 0))
