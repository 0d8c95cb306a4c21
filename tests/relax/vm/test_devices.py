"""Graphs on a device: where arrays are, what is copied, and what the host does."""

# ruff: noqa: F821

import gc

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax
from tilewright.error import (
    ArgumentValueError,
    DeviceError,
    ExportError,
    LoweringError,
    ProgramAssertionError,
)
from tilewright.relax.frontend import nn
from tilewright.relax.interpreter import evaluate
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T

DEVICE = [tvm.opencl(number) for number in range(9) if tvm.opencl(number).exist][-1]
"""The last one: a simulator, where there is one, needs no time to compile kernels well."""


@tvm.register_func("test.devices.doubled", override=True)
def doubled(values):
    assert values.device == DEVICE
    return tvm.nd.array(values.numpy() * 2)  # on the host


@tvm.register_func("test.devices.next", override=True)
def next_into(values, result):
    assert values.device == result.device == DEVICE
    result.copyfrom(values.numpy() + 1)


@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("opencl")]})

    @T.prim_func(private=True)
    def tenfold(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"target": T.target("llvm")})
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(10)

    @T.prim_func(private=True)
    def increment(A: T.Buffer((4,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("A"):
                v = T.axis.spatial(4, i)
                A[v] = A[v] + T.float32(1)

    @T.prim_func(private=True)
    def add_to(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("A"):
                v = T.axis.spatial(4, i)
                A[v] = A[v] + B[3 - v]

    @T.prim_func(private=True)
    def scan(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.opaque(4, i)
                T.reads(A[v], B[0:v])
                T.writes(B[v])
                B[v] = A[v] + T.if_then_else(v > 0, B[v - 1], T.float32(0))

    @T.prim_func(private=True)
    def unbound(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @T.prim_func(private=True)
    def extern(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = T.call_extern("float32", "fabsf", A[v])

    @R.function
    def programs(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.call_tir(cls.scan, (x,), R.Tensor((4,), "float32"))
            b = R.call_tir(cls.unbound, (a,), R.Tensor((4,), "float32"))
            c = R.call_tir(cls.extern, (b,), R.Tensor((4,), "float32"))
            R.output(c)
        return c

    @R.function
    def network(
        x: R.Tensor((2, 3, 8, 8), "float32"),
        w: R.Tensor((4, 3, 3, 3), "float32"),
        v: R.Tensor((64, 8), "float32"),
    ):
        with R.dataflow():
            c = R.nn.relu(R.nn.conv2d(x, w, padding=1))
            p = R.nn.max_pool2d(c, pool_size=(2, 2), strides=(2, 2))
            d = R.matmul(R.reshape(p, (2, 64)), v)
            n = R.nn.layer_norm(d, R.ones((8,), "float32"), R.zeros((8,), "float32"), axes=[-1])
            R.output(n)
        return n

    @R.function
    def branch(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        if c:  # noqa: SIM108
            y = R.add(x, x)
        else:
            y = R.multiply(x, R.const(3.0))
        return y

    @R.function
    def tuples(x: R.Tensor(("n", 4), "float32"), t: R.Tuple(R.Tensor((4,), "float32"))):
        with R.dataflow():
            a = R.add(x, t[0])
            b = R.nn.softmax(a, axis=-1)
            o = (a, (b, R.sum(b, axis=[0])), x)
            R.output(o)
        return o

    @R.function
    def linear(x: R.Tensor(("n", 32), "float32"), w: R.Tensor((5, 32), "float32")):
        with R.dataflow():
            y = R.matmul(x, R.permute_dims(w)) + R.ones((5,), "float32")
            R.output(y)
        return y

    @R.function
    def packed(x: R.Tensor((4,), "float32")):
        y = R.call_pure_packed("test.devices.doubled", x, sinfo_args=R.Tensor((4,), "float32"))
        return R.call_dps_packed("test.devices.next", (y,), out_sinfo=R.Tensor((4,), "float32"))

    @R.function
    def moves(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            h = R.to_vdevice(R.add(x, x), "llvm")
            k = R.multiply(h, h)
            e = R.call_tir(cls.tenfold, (R.to_vdevice(k, "opencl"),), R.Tensor((4,), "float32"))
            R.output(e, k)
        return (e, k)

    @R.function
    def hosted(x: R.Tensor((4,), "float32", "llvm")) -> R.Tensor((4,), "float32"):
        y = R.add(x, x)
        z = R.hint_on_device(y, "opencl")
        return R.add(z, z)

    @R.function(pure=False)
    def inplace(x: R.Tensor((4,), "float32")):
        return R.call_tir_inplace(cls.increment, (x,), [0], R.Tensor((4,), "float32"))

    @R.function(pure=False)
    def added(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        return R.call_tir_inplace(cls.add_to, (x, y), [0], R.Tensor((4,), "float32"))

    @R.function(pure=False)
    def prints(x: R.Tensor((4,), "float32")):
        R.print(x, format="x = {}")
        s = R.sum(x)
        R.assert_op(R.greater(s, R.const(0.0)), s, format="the sum is {}")
        return s

    @R.function
    def shapes(x: R.Tensor((2,), "int64"), y: R.Tensor((6,), "float32")):
        m, n = T.int64(), T.int64()
        _ = R.match_cast(R.tensor_to_shape(x), R.Shape([m, n]))
        z = R.reshape(y, (m, n))
        return (R.add(z, z), R.shape_to_tensor(R.shape_of(z)))

    @R.function
    def calls(x: R.Tensor((4,), "float32")):
        y = cls.moves(x)
        return R.add(y[0], x)

    @R.function
    def constant():
        return R.const([1.0, 2.0], "float32")


@R.function
def evaluated(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    @R.function
    def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.add(y, x)

    return inner(x)


X = np.arange(1, 5, dtype="float32")


@pytest.fixture(scope="module")
def executable():
    return relax.build(Module, "opencl")


@pytest.fixture(scope="module")
def machine(executable):
    return relax.VirtualMachine(executable, DEVICE)


def same(result, expected):
    assert result.device == DEVICE
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_a_network(machine):
    rng = np.random.default_rng(0)
    shapes = (2, 3, 8, 8), (4, 3, 3, 3), (64, 8)
    inputs = [rng.normal(size=shape).astype("float32") for shape in shapes]
    same(machine["network"](*inputs), evaluate(Module, *inputs, name="network"))


def test_a_condition_is_read_from_the_device(machine):
    same(machine["branch"](X, np.array(True)), 2 * X)
    same(machine["branch"](X, np.array(False)), 3 * X)


def test_tuples_of_arrays_of_symbolic_size(machine):
    for rows in (1, 3, 0):
        x = np.random.default_rng(rows).normal(size=(rows, 4)).astype("float32")
        a, (b, s), given = machine["tuples"](x, (X,))
        e = np.exp(x + X - (x + X).max(axis=1, keepdims=True, initial=-9))
        same(a, x + X)
        same(b, e / e.sum(axis=1, keepdims=True))
        same(s, (e / e.sum(axis=1, keepdims=True)).sum(axis=0))
        same(given, x)


def test_a_product_of_symbolic_size(executable, machine):
    w = np.random.default_rng(0).normal(size=(5, 32)).astype("float32")
    for rows in (1, 3):
        x = np.random.default_rng(rows).normal(size=(rows, 32)).astype("float32")
        same(machine["linear"](x, w), x @ w.T + 1)
    on_host = [kernel.name_hint for kernel in executable.compiled.graphs.kernels]
    assert not any("matmul" in name for name in on_host)


def test_python_gets_arrays_where_they_are(machine):
    same(machine["packed"](X), 2 * X + 1)


def test_some_of_it_on_the_host(machine):
    result, squares = machine["moves"](X)
    same(result, 40 * X * X)
    assert squares.device == tvm.cpu()
    np.testing.assert_array_equal(squares.numpy(), 4 * X * X)
    same(machine["calls"](X), 40 * X * X + X)
    same(machine["hosted"](X), 4 * X)


def test_programs_that_no_rule_puts_on_threads(executable, machine):
    same(machine["programs"](X - 3), abs(2 * np.cumsum(X - 3)))
    on_host = {kernel.name_hint for kernel in executable.compiled.graphs.kernels}
    assert {"unbound_on_host", "extern_on_host"} <= on_host
    assert "scan_on_host" not in on_host


def test_a_graph_that_is_evaluated():
    executable = relax.build(evaluated, "opencl")
    assert list(executable.reasons) == ["evaluated"]
    machine = relax.VirtualMachine(executable, DEVICE)
    same(machine["evaluated"](tvm.nd.array(X, DEVICE)), 2 * X)


def test_arrays_that_are_written_over(machine):
    array = tvm.nd.array(X, DEVICE)
    same(machine["inplace"](array), X + 1)
    same(array, X + 1)
    other = tvm.nd.array(X, DEVICE)
    same(machine["added"](array, other), X + 1 + X[::-1])
    with pytest.raises(ArgumentValueError, match=r"inplace: .*1 \(x\): the function writes over"):
        machine["inplace"](X)
    with pytest.raises(ArgumentValueError, match="add_to: an array that is written shares memory"):
        machine["added"](array, array)


def test_text_and_assertions(machine, capfd):
    assert machine["prints"](X).numpy() == 10
    assert "x = [1. 2. 3. 4.]" in capfd.readouterr().out
    with pytest.raises(ProgramAssertionError, match=r"the sum is -10\.0"):
        machine["prints"](-X)


def test_sizes_that_are_elements(machine):
    result, shape = machine["shapes"](np.array([2, 3]), np.arange(6, dtype="float32"))
    same(result, 2 * np.arange(6).reshape(2, 3))
    same(shape, [2, 3])


def test_constants_stay_on_the_device_as_long_as_a_module_needs_them():
    gc.collect()
    before = DEVICE.memory_in_use
    machine = relax.VirtualMachine(relax.build(Module["constant"], "opencl"), DEVICE)
    held = []
    for _ in range(3):
        same(machine["constant"](), [1, 2])
        gc.collect()
        held.append(DEVICE.memory_in_use - before)
    assert held[0] > 0
    assert held == held[:1] * 3
    del machine
    gc.collect()
    assert DEVICE.memory_in_use == before


def test_memory_is_given_back(executable):
    machine = relax.VirtualMachine(executable, DEVICE)
    machine["moves"](X)
    gc.collect()
    before = DEVICE.memory_in_use
    machine["moves"](X)
    with pytest.raises(ProgramAssertionError):
        machine["prints"](-X)
    gc.collect()
    assert DEVICE.memory_in_use == before


def test_a_library(executable, tmp_path):
    executable.export_library(tmp_path / "graphs.so")
    machine = relax.VirtualMachine(tvm.runtime.load_module(tmp_path / "graphs.so"), DEVICE)
    same(machine["calls"](X), 40 * X * X + X)
    same(machine["constant"](), [1, 2])
    given = X.copy()
    machine.set_input("branch", given, c=np.array(True))
    given[:] = 0  # it was copied
    machine.invoke_stateful("branch")
    same(machine.get_outputs("branch"), 2 * X)


def test_plain_c_has_no_arrays_of_devices(executable, tmp_path):
    with pytest.raises(ExportError, match="functions for opencl take arrays of the device"):
        executable.export_header(tmp_path / "graphs.h")


def test_a_model_that_is_a_class():
    class Doubled(nn.Module):
        def forward(self, x):
            return x + x

    spec = {"forward": {"x": nn.spec.Tensor((4,), "float32")}}
    run = Doubled().jit(spec, device=DEVICE, out_format="numpy")
    np.testing.assert_array_equal(run(X), 2 * X)


def test_looking_at_it():
    module = tvm.IRModule({name: Module[name] for name in ("moves", "tenfold")})
    machine = relax.VirtualMachine(relax.build(module, "opencl"), [DEVICE, tvm.cpu()])
    assert {kernel.name for kernel in machine.profile("moves", X).kernels} >= {"add", "tenfold"}
    assert machine.time_evaluator("moves", DEVICE, number=2)(X).mean > 0
    with pytest.raises(DeviceError, match=r"runs on opencl\(\d\), not on cpu\(0\)"):
        machine.time_evaluator("moves", tvm.cpu())
    seen = []
    machine.set_instrument(lambda f, name, before, value, *a: seen.extend(v.device for v in a))
    machine["moves"](X)
    assert set(seen) == {DEVICE, tvm.cpu()}


def test_arguments_on_other_devices(executable, machine):
    array = tvm.nd.array(X, DEVICE)
    with pytest.raises(ArgumentValueError, match=r"hosted: argument 1 \(x\): .* pass x\.numpy"):
        machine["hosted"](array)
    with pytest.raises(ArgumentValueError, match=r"is on opencl\(\d\), .* runs on cpu; copy"):
        executable["hosted"](array)
    with pytest.raises(ArgumentValueError, match=r"argument 1 \(x\): .*runs on opencl; copy"):
        executable["branch"](X, array)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (tvm.cpu(), r"compiled for opencl: pass tvm\.opencl\(0\), not cpu\(0\)"),
        (tvm.cuda(), r"one device of type opencl, got cuda\(0\)"),
        (tvm.opencl(99), r"there is no device opencl\(99\)"),
        ([tvm.opencl(0), tvm.opencl(1)], r"got opencl\(0\), opencl\(1\)"),
    ],
)
def test_other_devices(executable, place, message):
    with pytest.raises(DeviceError, match=message):
        relax.VirtualMachine(executable, place)


def test_a_module_of_the_host():
    with pytest.raises(DeviceError, match=r"was compiled for the host, .* run on opencl\(\d\)"):
        relax.VirtualMachine(relax.build(Module["constant"]), DEVICE)


def test_without_a_default_schedule():
    context = tvm.transform.PassContext(config={"tir.default_schedule": False})
    with context, pytest.raises(LoweringError, match="bind a loop around it"):
        relax.build(Module, "opencl")
