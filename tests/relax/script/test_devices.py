"""Devices of arrays, and gradients of tensor programs: what a script says, and what runs."""

# ruff: noqa: F821

import pickle

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax
from tilewright.error import DeviceError, ScriptError
from tilewright.ir import assert_structural_equal, load_json, save_json
from tilewright.relax.interpreter import evaluate
from tilewright.script import from_source
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T


@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1), I.vdevice("cuda")]})

    @T.prim_func(private=True)
    def increment(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.block("B"):
                vi = T.axis.spatial(2, i)
                B[vi] = A[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm"), y: R.Tensor((2,), "float32", "llvm:1")):
        with R.dataflow():
            a: R.Tensor((2,), "float32", "llvm") = R.to_vdevice(y, "llvm")
            b = R.hint_on_device(R.add(a, x), "llvm:1")
            c = R.to_vdevice(b, I.vdevice("llvm", 7))
            d = R.call_tir_with_grad(
                cls.increment, (c,), R.Tensor((2,), "float32"), "grad", {"scale": 1.5, "axes": [0]}
            )
            R.output(d)
        return d


def test_round_trips():
    text = Module.script()
    assert 'R.to_vdevice(y, dst_vdevice="llvm:0")' in text
    assert 'te_grad_name="grad", te_grad_kwargs={"axes": [0], "scale": T.float32(1.5)}' in text
    again = from_source(text)
    assert_structural_equal(again, Module)
    assert again.script() == text
    assert_structural_equal(load_json(save_json(Module)), Module)
    assert_structural_equal(pickle.loads(pickle.dumps(Module)), Module)


def test_on_one_processor_moving_does_nothing():
    x, y = np.array([1, 2], "float32"), np.array([3, 4], "float32")
    np.testing.assert_array_equal(evaluate(Module, x, y), x + y + 1)
    np.testing.assert_array_equal(evaluate(relax.transform.LegalizeOps()(Module), x, y), x + y + 1)
    machine = relax.VirtualMachine(relax.build(Module), tvm.cpu())
    np.testing.assert_array_equal(machine["main"](x, y).numpy(), x + y + 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('vdevice="llvm:1"', 'vdevice="cuda"'),
        ('R.hint_on_device(lv, dst_vdevice="llvm:1")', 'R.hint_on_device(lv, "cuda")'),
    ],
)
def test_other_devices_are_refused(old, new):
    text = Module.script()
    assert old in text
    message = r'I\.vdevice\("cuda", 0, "global"\) is asked for .*, and the module is compiled for '
    for target in ("llvm", "opencl"):
        with pytest.raises(DeviceError, match=message + target):
            relax.build(from_source(text.replace(old, new)), target)


@pytest.mark.parametrize(
    ("device", "message"),
    [("3", "a device is one of I.vdevice"), ('"metal"', "no metal device"), ('"llvm:x"', "cuda:0")],
)
def test_devices_that_are_none(device, message):
    text = Module.script().replace('dst_vdevice="llvm:0"', f"dst_vdevice={device}")
    with pytest.raises(ScriptError, match=message):
        from_source(text)


def test_a_device_in_python_is_an_object():
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    with pytest.raises(TypeError, match=r"one of I\.vdevice, got 'llvm'"):
        relax.op.to_vdevice(x, "llvm")


def test_a_call_with_a_gradient_calls_the_tensor_program():
    called = relax.analysis.called_global_vars(Module["main"])
    assert [name.name_hint for name in called] == ["increment"]
