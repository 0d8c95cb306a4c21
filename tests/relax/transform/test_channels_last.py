"""Images with their channels side by side between convolutions."""

import numpy as np
import pytest
from tests.relax.transform.fusion_programs import array, bindings_of

import tilewright as tvm
from tilewright import nd, relax
from tilewright.relax import op, transform
from tilewright.relax.transform import channels_last
from tilewright.script import relax as R
from tilewright.script import tir as T

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1"


@pytest.fixture
def pays(monkeypatch):
    """Small convolutions gain more than moving their images costs."""
    monkeypatch.setattr(channels_last, "MULTIPLICATIONS_PER_MOVE", 1)


def constant(*shape, seed=0):
    return relax.const(np.random.default_rng(seed).integers(-2, 3, shape).astype("float32"))


def graph(shape, make, *others, dtype="float32"):
    """The module whose function applies `make` to an image and other parameters."""
    params = [relax.Var(f"x{n}", array(*s, dtype=dtype)) for n, s in enumerate((shape, *others))]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(make(*params))
        builder.emit_func_output(result)
    return builder.get()


def convolution(x, before, after, window=5, seed=0, **options):
    return op.nn.conv2d(
        x, constant(after, before // options.get("groups", 1), window, window, seed=seed),
        padding=window // 2, **options,
    )  # fmt: skip


def converted(mod, target=TARGET):
    return transform.ChannelsLast(target)(mod)


def calls_of(mod):
    """The names of the operators, in order."""
    values = [binding.value for binding in bindings_of(mod["main"])]
    return [v.op.name.removeprefix("relax.") for v in values if isinstance(v, relax.Call)]


def assert_converted(before, moves):
    """Check that all convolutions have their channels last, and what that gives."""
    after = converted(before)
    assert calls_of(after).count("permute_dims") == moves
    for binding in bindings_of(after["main"]):
        call = binding.value
        if isinstance(call, relax.Call) and "conv2d" in call.op.name:
            assert call.attrs["data_layout"] == "NHWC"
    shapes = [[int(n.value) for n in p.struct_info.extents] for p in before["main"].params]
    values = np.random.default_rng(1)
    arrays = [nd.array(values.integers(-2, 3, shape).astype("float32")) for shape in shapes]
    results = [
        relax.VirtualMachine(relax.build(mod, "llvm", pipeline=each), tvm.cpu())["main"](*arrays)
        for mod, each in ((before, transform.LegalizeOps()), (after, "default_build"))
    ]
    np.testing.assert_allclose(results[1].numpy(), results[0].numpy(), rtol=1e-5, atol=1e-4)
    return after


@pytest.mark.usefixtures("pays")
def test_images_are_moved_once_for_all_convolutions():
    def network(x):
        y = op.nn.relu(op.add(convolution(x, 3, 16), constant(1, 16, 1, 1)))
        y = op.nn.max_pool2d(y, 3, 2, 1)
        y = convolution(y, 16, 16, groups=16)
        y = op.clip(op.multiply(y, constant(16, 1, 1)), 0, 6)
        z = op.nn.relu(convolution(y, 16, 16, 1))
        y = op.add(op.concat((y, z), axis=1), relax.const(2.0))
        return op.mean(convolution(y, 32, 24), (2, 3))

    assert_converted(graph((2, 3, 12, 12), network), 1)


@pytest.mark.usefixtures("pays")
@pytest.mark.parametrize(
    "make",
    [
        lambda x: op.nn.avg_pool2d(x, 2, 2),
        lambda x: op.nn.adaptive_avg_pool2d(x, (3, 3)),
        lambda x: op.image.resize2d(x, (12, 12), method="nearest_neighbor"),
        lambda x: op.nn.pad(x, (0, 0, 1, 2, 3, 4, 0, 1)),
        lambda x: op.max(x, 1, keepdims=True),
        lambda x: op.sum(x, -1, keepdims=True),
        lambda x: op.nn.silu(x),
        lambda x: op.concat((x, x), axis=-2),
        lambda x: op.add(x, constant(6)),
        lambda x: op.maximum(constant(1, 1, 6, 1), x),
        lambda x: op.nn.conv2d_transpose(x, constant(16, 8, 2, 2), strides=2),
    ],
)
def test_operators_between_convolutions(make):
    assert_converted(graph((1, 16, 6, 6), lambda x: make(convolution(x, 16, 16))), 2)


@pytest.mark.usefixtures("pays")
def test_quantised_images_between_convolutions():
    weight = np.random.default_rng(0).integers(-2, 3, (16, 16, 3, 3)).astype("int8")
    scale, zero = relax.const(0.5), relax.const(3, "int8")

    def network(x):
        y = op.quantize(x, scale, zero)
        y = op.nn.conv2d(y, relax.const(weight), padding=1, out_dtype="int32")
        y = op.multiply(op.astype(y, "float32"), constant(16, 1, 1))
        y = op.dequantize(op.quantize(y, scale, zero), scale, zero)
        return convolution(y, 16, 16, groups=16)

    assert_converted(graph((1, 16, 6, 6), network), 2)


@pytest.mark.usefixtures("pays")
def test_what_has_a_scale_for_each_channel_gets_the_channels_first():
    parameters = relax.const(np.ones(16, "float32")), relax.const(np.zeros(16, "int8"))

    def network(x):
        return op.dequantize(op.quantize(convolution(x, 16, 16), *parameters, 1), *parameters, 1)

    after = assert_converted(graph((1, 16, 6, 6), network), 2)
    assert calls_of(after)[-3:] == ["permute_dims", "quantize", "dequantize"]


@pytest.mark.usefixtures("pays")
def test_what_needs_the_channels_first_gets_them():
    def network(x):
        y = convolution(x, 8, 16)
        return op.add(op.sum(y, 1), op.sum(op.reshape(y, (4, 4, 6, 6)), (0, 1)))

    # The sum over channels reads them where they are, the reshape does not.
    after = assert_converted(graph((1, 8, 6, 6), network), 2)
    assert calls_of(after).index("permute_dims", 1) < calls_of(after).index("reshape")


@pytest.mark.usefixtures("pays")
def test_reductions_whose_result_would_be_transposed_stay():
    mod = graph((1, 8, 6, 6), lambda x: op.sum(convolution(x, 8, 16), 2))
    assert calls_of(assert_converted(mod, 2))[-1] == "sum"


@pytest.mark.usefixtures("pays")
@pytest.mark.parametrize(
    "mod",
    [
        graph((1, 8, 6, 6), lambda x: convolution(x, 8, 4)),  # filters fill no vector
        graph((1, 8, 6, 6), lambda x: convolution(x, 8, 16, groups=4)),  # nor do those of a group
        graph((1, 8, 6, 6), op.nn.conv2d, (16, 8, 3, 3)),  # weights would be moved each time
        graph((1, 6, 6, 8), lambda x: convolution(x, 8, 16, data_layout="NHWC",
                                                  kernel_layout="OIHW")),
        graph((1, 8, 6, 6), op.nn.relu),
        graph((1, 8, 6, 6), lambda x: op.nn.conv2d(
            x, relax.const(np.ones((16, 8, 3, 3), "float16"))), dtype="float16"),
    ],
)  # fmt: skip
def test_functions_that_stay(mod):
    assert converted(mod) is mod


def test_more_is_to_be_gained_than_moving_costs():
    small = graph((1, 8, 6, 6), lambda x: convolution(x, 8, 16))
    assert converted(small) is small
    large = graph((1, 48, 6, 6), lambda x: convolution(x, 48, 48))
    assert calls_of(converted(large)) == ["permute_dims", "nn.conv2d", "permute_dims"]


@pytest.mark.usefixtures("pays")
def test_devices_read_images_as_they_are():
    mod = graph((1, 8, 6, 6), lambda x: convolution(x, 8, 16))
    assert converted(mod, "cuda") is mod


@pytest.mark.usefixtures("pays")
def test_batches_of_any_size():
    batch = tvm.tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((batch, 8, 6, 6), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(convolution(x, 8, 16))
        builder.emit_func_output(result)
    assert calls_of(converted(builder.get())) == ["permute_dims", "nn.conv2d", "permute_dims"]


@pytest.mark.usefixtures("pays")
def test_an_image_that_two_convolutions_read_is_moved_once_in_a_block():
    def both(x):
        return op.concat((convolution(x, 8, 16), convolution(x, 8, 24)), 1)

    assert calls_of(converted(graph((1, 8, 6, 6), both))).count("permute_dims") == 2


@pytest.mark.usefixtures("pays")
def test_what_is_bound_in_a_block_is_not_used_outside_of_it():
    x = relax.Var("x", array(1, 8, 6, 6))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            first = builder.emit_output(convolution(x, 8, 16))
        with builder.dataflow():
            second = builder.emit_output(op.add(convolution(x, 8, 16, seed=1), first))
        builder.emit_func_output(second)
    after = converted(builder.get())
    assert relax.analysis.well_formed(after)
    assert calls_of(after).count("permute_dims") == 5


@pytest.mark.usefixtures("pays")
def test_an_array_that_is_written_over_is_moved_again():
    @tvm.script.ir_module
    class Module:
        @T.prim_func(private=True)
        def increment(A: T.Buffer((1, 8, 6, 6), "float32")):
            for n, c, h, w in T.grid(1, 8, 6, 6):
                with T.block("increment"):
                    vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                    A[vn, vc, vh, vw] = A[vn, vc, vh, vw] + T.float32(1)

        @R.function
        def main(x: R.Tensor((1, 8, 6, 6), "float32"), w: R.Tensor((16, 8, 5, 5), "float32")):
            cls = Module
            with R.dataflow():
                y = R.multiply(x, R.const(2.0))
                before = R.nn.conv2d(y, w, padding=2)
                after = R.call_tir_inplace(
                    cls.increment, (y,), [0], R.Tensor((1, 8, 6, 6), "float32")
                )
                again = R.nn.conv2d(y, w, padding=2)
                result = (before, after, again)
                R.output(result)
            return result

    mod = transform.BindParams("main", {"w": constant(16, 8, 5, 5).data})(Module)
    names = calls_of(converted(mod))
    assert names.count("permute_dims") == 4
    assert names.index("call_tir_inplace") < max(
        n for n, name in enumerate(names) if name == "permute_dims"
    )
