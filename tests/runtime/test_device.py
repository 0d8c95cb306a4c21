"""Devices."""

import pickle

import pytest

import tilewright as tvm
from tilewright.error import ArgumentError, ArgumentValueError, DeviceError


def test_names_and_numbers():
    assert tvm.device("cuda:2") == tvm.cuda(2) == tvm.device("cuda", 2) == tvm.device(2, 2)
    assert tvm.device("llvm -mcpu=native") == tvm.cpu()
    assert tvm.opencl(1).device_type == 4
    assert tvm.opencl(1).device_id == 1
    assert repr(tvm.cpu()) == str(tvm.cpu(0)) == "cpu(0)"
    assert len({tvm.cpu(), tvm.cpu(0), tvm.cuda(), tvm.cuda(1)}) == 3
    assert pickle.loads(pickle.dumps(tvm.cuda(3))) == tvm.cuda(3)


def test_the_old_name_of_cuda_warns():
    with pytest.warns(FutureWarning, match="use tilewright.cuda"):
        assert tvm.gpu(1) == tvm.cuda(1)


def test_the_cpu_exists_and_has_nothing_to_wait_for():
    assert tvm.cpu().exist
    assert not tvm.cpu(1).exist
    tvm.cpu().sync()


@pytest.mark.parametrize("device", [tvm.metal(), tvm.cuda(99), tvm.ext_dev()])
def test_an_absent_device_says_so(device):
    assert not device.exist
    with pytest.raises(DeviceError, match=r"no such device|cannot be used"):
        device.sync()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("abacus",), ArgumentValueError, "unknown device 'abacus'; one of c, cl, cpu"),
        (("cpu:x",), ArgumentValueError, "'x' is not a device number"),
        (("cpu:1", 2), ArgumentValueError, "has a number already"),
        (("cpu", -1), ArgumentValueError, "at least 0, got -1"),
        (("cpu", 2**40), ArgumentValueError, "at least 0"),
        (("cpu", "0"), ArgumentError, "integer, got '0'"),
        ((99,), ArgumentValueError, "unknown device type 99"),
        ((None,), ArgumentError, "name of a device type"),
    ],
)
def test_mistakes(arguments, error, message):
    with pytest.raises(error, match=message):
        tvm.device(*arguments)
