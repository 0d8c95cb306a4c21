"""The arguments of templates as data."""

import json

import pytest

from tilewright import autotvm, te, tir
from tilewright.error import ArgumentError, ArgumentValueError


def test_round_trip():
    A = te.placeholder((4, 8), name="A", dtype="int8")
    assert autotvm.task.serialize_args([A.dtype]) == ("int8",)
    data = autotvm.task.serialize_args([A, 3, 2.5, "NCHW", None, True, [1, (2, A)]])
    tensor = ("TENSOR", (4, 8), "int8")
    assert data == (tensor, 3, 2.5, "NCHW", None, True, (1, (2, tensor)))
    assert autotvm.task.serialize_args(data) == data
    assert autotvm.task.serialize_args(json.loads(json.dumps(data))) == data
    again = autotvm.task.deserialize_args(data)
    assert again[1:6] == list(data[1:6])
    for own in (again[0], again[6][1][1]):
        assert (tuple(map(int, own.shape)), own.dtype) == ((4, 8), "int8")
    assert autotvm.task.serialize_args(again) == data


def test_constants_become_numbers():
    args = [tir.IntImm("int32", 3), tir.StringImm("x")]
    assert autotvm.task.args_to_workload(args, "name") == ("name", 3, "x")
    assert autotvm.task.args_to_workload([3]) == (3,)


@pytest.mark.parametrize("arg", [object(), {"a": 1}, te.var("n"), len])
def test_what_is_no_data(arg):
    with pytest.raises(ArgumentError, match="an argument of a template is a number"):
        autotvm.task.serialize_args([arg])


def test_tensors_of_unknown_size():
    with pytest.raises(ArgumentError, match=r"the shape .* of A is not constant"):
        autotvm.task.serialize_args([te.placeholder((te.var("n"),), name="A")])
    with pytest.raises(ArgumentValueError, match="a tensor as data is"):
        autotvm.task.deserialize_args([("TENSOR", (3,))])
    with pytest.raises(ArgumentError, match="are a list, such as"):
        autotvm.task.serialize_args("matmul")
