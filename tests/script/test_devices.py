"""Devices that a module names, and kernels called by name."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import ArgumentError, ArgumentValueError, DiagnosticError, ScriptError
from tilewright.ir import (
    IRModule,
    VDevice,
    assert_structural_equal,
    structural_equal,
    structural_hash,
)
from tilewright.script import from_source
from tilewright.script import ir as I
from tilewright.script import tir as T
from tilewright.target import Target

DEVICES = [
    VDevice(),
    VDevice("llvm"),
    VDevice({"kind": "cuda", "arch": "sm_80"}, 1, "local"),
    VDevice(Target("cuda -arch=sm_80", host="llvm -mcpu=skylake-avx512")),
    VDevice("nvidia/geforce-rtx-3070"),
    VDevice("llvm -mattr=+avx2,+fma -num-cores 4"),
]


@pytest.mark.parametrize("device", DEVICES, ids=repr)
def test_devices_print_and_parse(device):
    module = IRModule(None, None, {"vdevice": (device, VDevice("llvm", 5))})
    again = from_source(module.script())
    assert_structural_equal(module, again)
    assert structural_hash(module) == structural_hash(again)


def test_how_a_device_is_written():
    assert repr(VDevice("llvm")) == 'I.vdevice("llvm", 0, "global")'
    assert repr(VDevice(None, 2)) == 'I.vdevice(None, 2, "global")'


def test_all_parts_of_a_device_are_compared():
    for one in DEVICES:
        for other in DEVICES:
            assert structural_equal(one, other) is (one is other)
    assert not structural_equal(VDevice("llvm", 0), VDevice("llvm", 1))
    assert not structural_equal(VDevice("llvm", 0), VDevice("llvm", 0, "local"))


def test_targets_with_a_host_are_written_whole():
    function = from_source("@T.prim_func\ndef main():\n    T.evaluate(0)\n")
    function = function.with_attr("target", Target("cuda", host="llvm"))
    assert_structural_equal(function, from_source(function.script()))


@I.ir_module
class TwoKinds:
    I.module_global_infos(
        {"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]}
    )
    named = I.lookup_vdevice("llvm")

    @T.prim_func
    def main(A: T.Buffer((1,), "float32")):
        T.func_attr(
            {
                "named": named,  # noqa: F821
                "other": I.lookup_vdevice("cuda", 1),
                "third": I.lookup_vdevice("vdevice", 2),
            }
        )
        A[0] = 1.0


def test_devices_are_found_in_the_module():
    attrs = TwoKinds["main"].attrs
    host, _, second = TwoKinds.global_infos["vdevice"]
    assert attrs["named"] is host
    assert attrs["other"] is second
    assert attrs["third"] is second
    assert_structural_equal(TwoKinds, from_source(TwoKinds.script()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('I.lookup_vdevice("cuda")', "2 devices of the module could be meant by the cuda device"),
        ("I.lookup_vdevice()", "3 devices of the module could be meant by the any device"),
        ('I.lookup_vdevice("cuda", 2)', "the module has no cuda device 2; it has llvm, cuda, cuda"),
        ('I.lookup_vdevice("metal")', "the module has no metal device; it has llvm, cuda, cuda"),
        ("I.module_attrs({'x': 1})", "for the body of the class, outside of its functions"),
        ("I.module_global_infos({})", "for the body of the class, outside of its functions"),
        ('I.vdevice("llvn")', "llvn"),
    ],
)
def test_mistakes_in_scripts(call, message):
    text = TwoKinds.script().replace("A[0] = ", f"T.func_attr({{'d': {call}}})\n        A[0] = ")
    with pytest.raises(ScriptError, match=message):
        from_source(text)


def test_mistakes_in_python():
    with pytest.raises(DiagnosticError, match="inside of a class"):
        I.lookup_vdevice("llvm")
    with pytest.raises(ArgumentError, match="expected a target"):
        I.vdevice(3)
    with pytest.raises(ArgumentError, match="an integer"):
        I.vdevice("llvm", "0")
    with pytest.raises(ArgumentValueError, match="at least 0, got -1"):
        I.vdevice("llvm", -1)
    with pytest.raises(ArgumentError, match="scope is a string"):
        I.vdevice("llvm", 0, None)


# --- kernels --------------------------------------------------------------------------------

LAUNCHED = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), n: T.int32):
    T.call_kernel("test.scale", [[n, 2], 3], A, 2.5)
"""


def test_kernels_are_called_with_their_launch_arguments():
    function = from_source(LAUNCHED)
    assert 'T.call_packed("test.scale", ' in function.script()
    assert_structural_equal(function, from_source(function.script()))
    seen = []

    @tvm.register_func("test.scale", override=True)
    def scale(array, factor, *launch_args):
        seen.append(launch_args)
        array.copyfrom(array.numpy() * np.float32(factor))
        return 0

    try:
        values = np.arange(4, dtype="float32")
        tvm.build(function, target="llvm")(values, 7)
    finally:
        tvm.remove_global_func("test.scale")
    assert seen == [(7, 2, 3)]
    assert values.tolist() == [0, 2.5, 5, 7.5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('T.call_kernel("__global__ void f() {}", [1, 1])', "no backend compiles kernels"),
        ("T.call_kernel(len, [1, 1])", "not the name of a registered function"),
        ('T.call_kernel("", 1)', "not the name of a registered function"),
        ('T.call_kernel("f", 1, num_warps=4)', "no option 'num_warps'"),
    ],
)
def test_mistakes_in_calls_of_kernels(call, message):
    with pytest.raises(ScriptError, match=message):
        from_source(f"@T.prim_func\ndef main():\n    {call}\n")
