"""Convolutions with fewer multiplications, where that is faster."""

import numpy as np
import pytest
from tests.relax.transform.fusion_programs import array, bindings_of, is_call

import tilewright as tvm
from tilewright import nd, relax, topi
from tilewright.ir.dtype import DType
from tilewright.relax import op, transform
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import winograd
from tilewright.relax.transform.winograd import ConvolutionShape, best_tile
from tilewright.target import Target

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1"
MACHINE = Target(TARGET).machine


def real(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def graph(make, *shapes, dtype="float32"):
    """The module whose function applies `make` to arrays of these shapes."""
    params = [relax.Var(f"x{n}", array(*shape, dtype=dtype)) for n, shape in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(make(builder, *params))
        builder.emit_func_output(result)
    return builder.get()


def convolution(builder, x, weights, padding=1, **options):
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"} | options
    weights = relax.const(weights) if isinstance(weights, np.ndarray) else weights
    return builder.emit(op.nn.conv2d(x, weights, padding=padding, **layouts))


def kernels(mod, target=TARGET):
    """The names of what `main` calls after the pass."""
    after = transform.WinogradConv2D(target)(mod)
    calls = [b.value for b in bindings_of(after["main"]) if is_call(b)]
    return [
        (call.args[0].name_hint if "call_tir" in call.op.name else call.op.name) for call in calls
    ]


@pytest.mark.parametrize(
    ("size", "channels", "filters", "expected"),
    [
        (56, 64, 64, 4),
        (28, 128, 128, 4),
        (7, 512, 512, 2),  # the weights of larger tiles take longer to arrive
        (56, 3, 64, None),  # transforming the results takes longer than is saved
        (56, 64, 3, None),
        (1, 256, 256, None),  # a tile has one result that is wanted
    ],
)
def test_the_estimate_decides(size, channels, filters, expected):
    shape = ConvolutionShape(1, size, size, channels, filters, 3, DType("float32"))
    assert best_tile(shape, MACHINE) == expected


@pytest.mark.parametrize("kernel", [1, 7])
def test_other_kernels_are_multiplied(kernel):
    assert best_tile(ConvolutionShape(1, 56, 56, 64, 64, kernel, DType("float32")), MACHINE) is None


@pytest.mark.parametrize(("results", "size", "channels"), [(2, 6, 6), (4, 9, 8)])
def test_results_are_those_of_the_convolution(monkeypatch, results, size, channels):
    monkeypatch.setattr(winograd, "best_tile", lambda shape, machine: results)
    w, bias = real(3, 3, channels, 16), relax.const(real(16, seed=1))

    def network(builder, x, residual):
        y = convolution(builder, x, w, (0, 1, 2, 1))
        y = builder.emit(op.add(builder.emit(op.add(y, bias)), residual))
        return op.nn.relu(y)

    shapes = (2, size, size, channels), (2, size, size, 16)
    mod = graph(network, *shapes)
    assert kernels(mod)[0] == "winograd_conv2d"
    arrays = [nd.array(real(*shape, seed=n)) for n, shape in enumerate(shapes, 2)]
    found = []
    for disabled in ([], ["WinogradConv2D"]):
        with tvm.transform.PassContext(disabled_pass=disabled):
            vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
        found.append(vm["main"](*arrays).numpy())
    assert not np.array_equal(*found)  # they were computed in two ways
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-4)


def test_weights_are_transformed_once():
    w = relax.const(real(3, 3, 64, 64))
    mod = graph(lambda b, x: convolution(b, convolution(b, x, w), w), (1, 24, 24, 64))
    after = transform.WinogradConv2D(TARGET)(mod)
    operands = [b.value.args[1].fields[1] for b in bindings_of(after["main"]) if is_call(b)]
    assert len(operands) == 2
    assert operands[0] is operands[1]


@pytest.mark.parametrize(
    "mod",
    [
        graph(lambda b, x: convolution(b, x, real(3, 3, 64, 64), strides=2), (1, 56, 56, 64)),
        graph(lambda b, x: convolution(b, x, real(3, 3, 64, 64), dilation=2), (1, 56, 56, 64)),
        graph(lambda b, x: convolution(b, x, real(3, 3, 1, 64), groups=64), (1, 56, 56, 64)),
        graph(lambda b, x: convolution(b, x, real(3, 5, 64, 64)), (1, 56, 56, 64)),
        graph(convolution, (1, 56, 56, 64), (3, 3, 64, 64)),  # weights are transformed each time
        graph(lambda b, x: convolution(b, x, real(64, 64, 3, 3), data_layout="NCHW",
                                       kernel_layout="OIHW"), (1, 64, 56, 56)),
        graph(lambda b, x: convolution(b, x, real(3, 3, 64, 64, dtype="float16")),
              (1, 56, 56, 64), dtype="float16"),
        graph(lambda b, x: convolution(b, x, real(3, 3, 64, 64, dtype="int8"), out_dtype="int32"),
              (1, 56, 56, 64), dtype="int8"),
    ],
)  # fmt: skip
def test_others_stay(mod):
    assert transform.WinogradConv2D(TARGET)(mod) is mod


def test_programs_for_devices_stay():
    mod = graph(lambda b, x: convolution(b, x, real(3, 3, 64, 64)), (1, 56, 56, 64))
    assert kernels(mod) == ["winograd_conv2d"]
    assert kernels(mod, "cuda -arch=sm_90") == ["relax.nn.conv2d"]


def test_any_number_of_images():
    batch = tvm.tir.Var("batch", "int64")
    w = real(3, 3, 32, 32)
    mod = graph(lambda b, x: convolution(b, x, w), (batch, 24, 24, 32))
    assert kernels(mod) == ["winograd_conv2d"]
    vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    with tvm.transform.PassContext(disabled_pass=["WinogradConv2D"]):
        direct = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    for count in (1, 3):
        x = nd.array(real(count, 24, 24, 32))
        found, expected = (each["main"](x).numpy() for each in (vm, direct))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_layers_that_repeat_share_the_work(monkeypatch):
    made, original = [], topi.nn.winograd_conv2d_nhwc

    def counted(image, weights, results, padding):
        made.append((results, padding))
        return original(image, weights, results, padding)

    # Six points are four results of a kernel of 3, and two of a kernel of 5.
    monkeypatch.setattr(winograd, "best_tile", lambda shape, machine: 7 - shape.kernel)
    monkeypatch.setattr(topi.nn, "winograd_conv2d_nhwc", counted)

    def layers(builder, x):
        parts = [
            convolution(builder, x, real(size, size, 8, 8, seed=seed), padding)
            for seed, (size, padding) in enumerate([(3, 1), (5, 1), (3, 1), (5, 2), (5, 1)])
        ]
        return relax.Tuple(parts)

    before = graph(layers, (1, 8, 8, 8))
    after = transform.WinogradConv2D(TARGET)(before)
    assert len(made) == 3
    x = real(1, 8, 8, 8, seed=9)
    for one, other in zip(evaluate(after, x), evaluate(before, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
